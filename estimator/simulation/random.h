// Random numbers that are the same for a seed wherever the project is built. The standard leaves its distributions to
// each library, and Abseil's generators differ from run to run by design. So the generator and the transforms are
// written out here. The transforms use log, cos and pow, whose last bit may differ between mathematical libraries.
//
// The generator is xoshiro256++ (Blackman, Vigna 2019), seeded by SplitMix64 as its authors advise.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_RANDOM_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_RANDOM_H_

#include <array>
#include <cstdint>

namespace foretoken {

// The generator alone.
class Xoshiro256 {
 public:
  using State = std::array<uint64_t, 4>;

  // REQUIRES: not all zero.
  explicit Xoshiro256(const State& state) : state_(state) {}

  uint64_t Next();

 private:
  State state_;
};

class Random {
 public:
  // What the numbers are for: streams of one seed are independent, so that another distribution of outputs leaves the
  // arrivals as they were.
  enum class Stream : uint64_t { kArrivals, kPrompts, kOutputs };

  Random(uint64_t seed, Stream stream);

  // From 0 up to, not including, 1: the upper 53 bits.
  double Uniform();
  // Mean 1.
  double Exponential();
  // Mean 0, deviation 1, by Box and Muller.
  double Normal();
  // Mean `shape`, deviation sqrt(shape), by Marsaglia and Tsang (2000). REQUIRES: shape > 0.
  double Gamma(double shape);

 private:
  Xoshiro256 generator_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_RANDOM_H_

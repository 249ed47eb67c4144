#include "estimator/simulation/random.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace foretoken {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the next number, from a state that it moves on.
uint64_t SplitMix(uint64_t& state) {
  uint64_t x = state += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Xoshiro256::State StateOf(uint64_t seed, Random::Stream stream) {
  uint64_t state = SplitMix(seed) + static_cast<uint64_t>(stream);
  Xoshiro256::State words;
  for (uint64_t& word : words) word = SplitMix(state);
  return words;
}

}  // namespace

uint64_t Xoshiro256::Next() {
  auto& [a, b, c, d] = state_;
  const uint64_t next = std::rotl(a + d, 23) + a;
  const uint64_t shifted = b << 17;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  d = std::rotl(d, 45);
  return next;
}

Random::Random(uint64_t seed, Stream stream) : generator_(StateOf(seed, stream)) {}

double Random::Uniform() { return static_cast<double>(generator_.Next() >> 11) * 0x1p-53; }

double Random::Exponential() { return -std::log(1 - Uniform()); }

double Random::Normal() {
  const double radius = std::sqrt(2 * Exponential());
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

double Random::Gamma(double shape) {
  if (shape < 1) return Gamma(shape + 1) * std::pow(1 - Uniform(), 1 / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal();
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    if (std::log(1 - Uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace foretoken

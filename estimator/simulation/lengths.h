// Draws prompt and output lengths.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_LENGTHS_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_LENGTHS_H_

#include "estimator/simulation/random.h"
#include "estimator/simulation/spec.h"

namespace foretoken {

class LengthSampler {
 public:
  // REQUIRES: lengths are stated and valid (FaultsOf).
  LengthSampler(Lengths lengths, uint64_t seed, Random::Stream stream);

  // Tokens, 1 to kMaxSimulatedTokens, rounded to the nearest whole number.
  int Next();

 private:
  Lengths lengths_;
  Random random_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_LENGTHS_H_

// How long the steps of the simulated engine take, by the product's step model.
//
// Prompts of several lengths run in one step, but the step model takes sequences of one shape. So it is asked for m
// sequences of n new tokens after p cached ones, such that three sums are those of the chunks:
//   m n                    tokens
//   m p                    cached tokens
//   m (n p + n (n+1)/2)    causal pairs
// Every cost that is linear in these sums is exact. Layers with a window take the window of the mean.
//
// Decoding sequences are taken at their mean context. That is exact for layers that see all tokens, and an upper bound
// for sliding windows.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_STEP_CLOCK_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_STEP_CLOCK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "estimator/phases/decode.h"
#include "estimator/step/step.h"

namespace foretoken {

// The chunks of prompts in one step, as sums over them.
struct PromptWork {
  double chunks = 0;
  double last = 0;    // of them, the last of their prompt: each makes a token
  double tokens = 0;  // n
  double prior = 0;   // p
  double pairs = 0;   // n p + n (n + 1) / 2

  void Add(double new_tokens, double cached, bool is_last);
};

class StepClock {
 public:
  // The model outlives the clock.
  explicit StepClock(const StepModel& model) : model_(model) {}

  // Seconds of a step of decoding sequences alone. REQUIRES: sequences >= 1.
  double Decode(int64_t sequences, double context);
  // Seconds of a step with prompts, and decoding sequences beside them. REQUIRES: prompts.tokens >= 1.
  double Mixed(const PromptWork& prompts, int64_t sequences, double context) const;

 private:
  const StepModel& model_;
  std::vector<std::unique_ptr<const DecodeCurve>> curves_;  // by sequences; null until first asked
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_STEP_CLOCK_H_

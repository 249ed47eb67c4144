// A prompt that is prefilled while other sequences decode: an engine with continuous batching puts its chunks into
// the steps of the decoding sequences, its riders. Weights, gaps and host are then paid once for both.
#ifndef FORETOKEN_ESTIMATOR_MIXED_PREFILL_H_
#define FORETOKEN_ESTIMATOR_MIXED_PREFILL_H_

#include "estimator/prefill.h"
#include "estimator/step.h"

namespace foretoken {

// Sequences that decode in the same steps.
struct Riders {
  double sequences = 0;
  double context = 0;  // mean tokens that each sees
};

struct MixedPrefill {
  Seconds steps;   // the steps that hold the prompt's chunks
  Seconds added;   // what the prompt adds to the riders' steps: its marginal time
  Seconds riding;  // what the riders add to the prompt's own steps
};

// Over all chunks of the shape: step(chunk + riders), less step(riders), less step(chunk).
// Without riders the prompt adds its own time. Nothing to prefill: nothing. [ours]
MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const Riders& riders);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_MIXED_PREFILL_H_

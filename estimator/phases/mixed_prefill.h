// A prompt that is prefilled while other sequences decode: an engine with continuous batching puts its chunks into
// the steps of the decoding sequences, its riders. Weights, gaps and host are then paid once for both.
#ifndef FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_
#define FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_

#include "estimator/phases/prefill.h"
#include "estimator/phases/speculation.h"
#include "estimator/step/step.h"

namespace foretoken {

// Sequences that decode in the same steps.
struct CoScheduledDecodes {
  double sequences = 0;
  double context = 0;  // mean tokens that each sees
  double tokens = 1;   // that each is fed
};

struct MixedPrefill {
  Seconds steps;         // MixedSteps
  Seconds added;         // what the prompt adds to the riders' steps: its marginal time
  Seconds from_decodes;  // what the riders add to the prompt's own steps
};

// The time of the steps that hold the prompt's chunks, beside the riders. Nothing to prefill: none.
Seconds MixedSteps(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes);

// Over all chunks of the shape: step(chunk + riders); that less step(riders); that less step(chunk).
// Without riders the prompt adds its own time. Nothing to prefill: nothing. [ours]
MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes);

// The same where the riders' steps are rounds of a speculator, which prefills the prompt too: `steps` are the rounds
// that hold its chunks. Null: MixPrefill.
MixedPrefill MixRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                       const CoScheduledDecodes& decodes);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_

// Mixed batches: under continuous batching an engine prefills a prompt in the same steps as the decodes of other
// sequences, its co-scheduled decodes. Weights, kernel gaps and host time are then spent once for both.
#ifndef FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_
#define FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_

#include "estimator/phases/prefill.h"
#include "estimator/phases/speculation.h"
#include "estimator/step/step.h"

namespace foretoken {

struct MixedPrefill {
  Seconds steps;         // MixedSteps
  Seconds added;         // time that the prompt adds to the steps of the decodes: its marginal time
  Seconds from_decodes;  // time that the decodes add to the steps of the prompt
};

// The time of the steps that hold the prompt's chunks and the decodes. Zero without tokens to prefill.
Seconds MixedSteps(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes);

// Sums over all chunks of the shape: steps = step(chunk + decodes), added = steps - step(decodes),
// from_decodes = steps - step(chunk). Without decodes the prompt adds its own time. All zero without tokens to prefill.
// [ours]
MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes);

// The same without from_decodes, which costs as much again.
MixedPrefill AddPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes);

// MixPrefill and AddPrefill where the decodes run speculative steps, and the draft model prefills the prompt too.
// `speculator` null: plain decode.
MixedPrefill MixRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                       const CoScheduledDecodes& decodes);
MixedPrefill AddToRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                         const CoScheduledDecodes& decodes);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_MIXED_PREFILL_H_

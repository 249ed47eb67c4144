#include "estimator/phases/mixed_prefill.h"

#include <algorithm>

namespace foretoken {
namespace {

// The step of the decodes alone.
Seconds DecodeStep(const StepModel& model, const CoScheduledDecodes& decodes) {
  return StepTime(model, {.decode_sequences = decodes.sequences,
                          .decode_context = decodes.context,
                          .decode_tokens = decodes.tokens,
                          .logits_rows = decodes.sequences * decodes.tokens})
      .Total();
}

using MixOneModel = MixedPrefill (*)(const StepModel&, const PrefillShape&, const CoScheduledDecodes&);

MixedPrefill OfRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                      const CoScheduledDecodes& decodes, MixOneModel mix) {
  if (speculator == nullptr) return mix(model, shape, decodes);
  CoScheduledDecodes verified = decodes;
  verified.tokens = speculator->draft_tokens + 1;
  const MixedPrefill verify = mix(model, shape, verified);
  const MixedPrefill draft = mix(speculator->draft, shape, decodes);
  const Seconds other_draft_steps = (speculator->draft_tokens - 1) * (draft.steps - draft.added);
  return {.steps = verify.steps + draft.steps + other_draft_steps,
          .added = verify.added + draft.added,
          .from_decodes = verify.from_decodes + draft.from_decodes};
}

}  // namespace

Seconds MixedSteps(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  if (shape.new_tokens <= 0) return Seconds(0);
  return SumOverChunks(model, shape, decodes).Total();
}

MixedPrefill AddPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  if (decodes.sequences <= 0) {
    const Seconds alone = MixedSteps(model, shape, {});
    return {.steps = alone, .added = alone};
  }
  const Seconds mixed = MixedSteps(model, shape, decodes);
  // A step with more work takes longer; the bound removes what rounding leaves below zero.
  return {.steps = mixed, .added = std::max(Seconds(0), mixed - PrefillChunks(shape) * DecodeStep(model, decodes))};
}

MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  MixedPrefill mixed = AddPrefill(model, shape, decodes);
  if (decodes.sequences <= 0) return mixed;
  mixed.from_decodes = std::max(Seconds(0), mixed.steps - MixedSteps(model, shape, {}));
  return mixed;
}

MixedPrefill MixRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                       const CoScheduledDecodes& decodes) {
  return OfRounds(model, speculator, shape, decodes, MixPrefill);
}

MixedPrefill AddToRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                         const CoScheduledDecodes& decodes) {
  return OfRounds(model, speculator, shape, decodes, AddPrefill);
}

}  // namespace foretoken

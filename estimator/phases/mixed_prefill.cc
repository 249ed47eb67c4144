#include "estimator/phases/mixed_prefill.h"

#include <algorithm>

namespace foretoken {
namespace {

StepShape WithDecodes(StepShape step, const CoScheduledDecodes& decodes) {
  step.decode_sequences = decodes.sequences;
  step.decode_context = decodes.context;
  step.decode_tokens = decodes.tokens;
  step.logits_rows += decodes.sequences * decodes.tokens;
  return step;
}

}  // namespace

Seconds MixedSteps(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  if (shape.new_tokens <= 0) return Seconds(0);
  const auto step = [&](double i) { return StepTime(model, WithDecodes(ChunkStep(shape, i), decodes)); };
  return SumOverChunks(model, shape, step).Total();
}

MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  const Seconds alone = MixedSteps(model, shape, {});
  if (decodes.sequences <= 0) return {.steps = alone, .added = alone};
  const Seconds mixed = MixedSteps(model, shape, decodes);
  const double chunks = PrefillChunks(shape);
  const Seconds decode = StepTime(model, WithDecodes({}, decodes)).Total();
  // A step with more work takes longer; the bound removes what rounding leaves below zero.
  return {.steps = mixed,
          .added = std::max(Seconds(0), mixed - chunks * decode),
          .from_decodes = std::max(Seconds(0), mixed - alone)};
}

MixedPrefill MixRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                       const CoScheduledDecodes& decodes) {
  if (speculator == nullptr) return MixPrefill(model, shape, decodes);
  CoScheduledDecodes verified = decodes;
  verified.tokens = speculator->draft_tokens + 1;
  const MixedPrefill verify = MixPrefill(model, shape, verified);
  const MixedPrefill draft = MixPrefill(speculator->draft, shape, decodes);
  const Seconds other_draft_steps = (speculator->draft_tokens - 1) * (draft.steps - draft.added);
  return {.steps = verify.steps + draft.steps + other_draft_steps,
          .added = verify.added + draft.added,
          .from_decodes = verify.from_decodes + draft.from_decodes};
}

}  // namespace foretoken

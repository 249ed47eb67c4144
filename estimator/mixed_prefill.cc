#include "estimator/mixed_prefill.h"

#include <algorithm>

namespace foretoken {
namespace {

StepShape WithRiders(StepShape step, const Riders& riders) {
  step.decode_sequences = riders.sequences;
  step.decode_context = riders.context;
  step.decode_tokens = riders.tokens;
  step.logits_rows += riders.sequences * riders.tokens;
  return step;
}

}  // namespace

Seconds MixedSteps(const StepModel& model, const PrefillShape& shape, const Riders& riders) {
  if (shape.new_tokens <= 0) return Seconds(0);
  const auto step = [&](double i) { return StepTime(model, WithRiders(ChunkStep(shape, i), riders)); };
  return SumOverChunks(model, shape, step).Total();
}

MixedPrefill MixPrefill(const StepModel& model, const PrefillShape& shape, const Riders& riders) {
  const Seconds alone = MixedSteps(model, shape, {});
  if (riders.sequences <= 0) return {.steps = alone, .added = alone};
  const Seconds mixed = MixedSteps(model, shape, riders);
  const double chunks = PrefillChunks(shape);
  const Seconds decode = StepTime(model, WithRiders({}, riders)).Total();
  // A step that does more takes longer; the bound keeps rounding out of the waits.
  return {.steps = mixed,
          .added = std::max(Seconds(0), mixed - chunks * decode),
          .riding = std::max(Seconds(0), mixed - alone)};
}

MixedPrefill MixRounds(const StepModel& model, const Speculator* speculator, const PrefillShape& shape,
                       const Riders& riders) {
  if (speculator == nullptr) return MixPrefill(model, shape, riders);
  Riders verified = riders;
  verified.tokens = speculator->draft_tokens + 1;
  const MixedPrefill verify = MixPrefill(model, shape, verified);
  const MixedPrefill draft = MixPrefill(speculator->draft, shape, riders);
  const Seconds other_draft_steps = (speculator->draft_tokens - 1) * (draft.steps - draft.added);
  return {.steps = verify.steps + draft.steps + other_draft_steps,
          .added = verify.added + draft.added,
          .riding = verify.riding + draft.riding};
}

}  // namespace foretoken

#include "estimator/serving/prompt_plan.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// How many whole prompts a step has room for.
double RoomFor(const Prompts& prompts, double step_tokens) {
  return std::floor(step_tokens / std::max(1.0, prompts.tokens));
}

Packing Pack(const Prompts& prompts, double prior, double step_tokens, double stages) {
  if (prompts.count <= 0) return {};
  const double together = std::clamp(RoomFor(prompts, step_tokens), 1.0, std::max(1.0, prompts.count));
  return {.group = {.sequences = together, .new_tokens = prompts.tokens, .prior = prior, .chunk_tokens = step_tokens},
          .groups = prompts.count / together,
          .stages = stages};
}

// The last waiting prompts, which full steps leave over, if the request's step has room for them.
double SharingOf(const Prompts& waiting, const Packing& own, double step_tokens) {
  const double together = RoomFor(waiting, step_tokens);
  if (together < 1 || own.groups > 1 || own.group.new_tokens <= 0) return 0;
  const double over = std::fmod(waiting.count, together);
  const double rest = over > 0 ? over : std::min(waiting.count, together);
  return rest * waiting.tokens + own.group.sequences * own.group.new_tokens <= step_tokens ? rest : 0;
}

}  // namespace

PrefillShape PromptPlan::SharedGroup(double tokens) const {
  PrefillShape shared = own.group;
  if (sharing * tokens <= 0) return shared;
  shared.sequences += sharing;
  shared.new_tokens = (own.group.sequences * own.group.new_tokens + sharing * tokens) / shared.sequences;
  shared.prior *= own.group.sequences / shared.sequences;
  return shared;
}

PromptPlan PlanPrompts(const ReplicaQueue& queue, double slot_steps, const Workload& workload, double stages) {
  PromptPlan plan{.in_flight = Pack(queue.in_flight, 0, queue.step_tokens, stages),
                  .own = Pack(queue.arriving, workload.cached_prefix_tokens, queue.step_tokens, stages),
                  .decode_steps = workload.output_tokens - 1.0};
  plan.sharing = SharingOf(queue.waiting, plan.own, queue.step_tokens);
  const double before = queue.waiting.count - plan.sharing;
  plan.waiting = Pack({before, queue.waiting.tokens}, 0, queue.step_tokens, stages);
  plan.begins = std::max(plan.Queued(), slot_steps);
  return plan;
}

}  // namespace foretoken

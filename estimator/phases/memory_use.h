// Memory that a replica uses, and what one decode step reads of it.
#ifndef FORETOKEN_ESTIMATOR_PHASES_MEMORY_USE_H_
#define FORETOKEN_ESTIMATOR_PHASES_MEMORY_USE_H_

#include <algorithm>
#include <optional>

#include "estimator/phases/capacity.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/memory.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"
#include "estimator/step/visit_operators.h"

namespace foretoken {

// Batch at which decode turns compute-bound at the mean context of the scenario, which fills `step`. Of experts a
// larger batch reads more, so that a mixture of them has no one such batch, nor has a round of two models.
std::optional<double> BalancedBatch(const Scenario& scenario, DecodeBalance step);

// Memory with the KV cache of `held` sequences of the workload on each replica, in a step of `running` sequences.
MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double held,
                   double running);

// What is left for KV cache beside the weights and these activations.
inline Bytes RoomForKv(const Capacity& capacity, Bytes activations) {
  return capacity.usable - capacity.weights - activations;
}

// Steps whose mean is taken: those that see prompt + 1 to prompt + count tokens.
struct Steps {
  double prompt = 0;
  double count = 1;
};

// The decode steps of a request.
inline Steps DecodeSteps(double prompt_tokens, double output_tokens) {
  return {.prompt = std::max(1.0, prompt_tokens), .count = std::max(1.0, output_tokens - 1)};
}

// Tokens of a layer that each sequence sees on average.
inline double MeanSeen(const AttentionGroup& group, const Steps& steps) {
  return CausalPairs(group, steps.count, steps.prompt) / steps.count;
}

// What one decode step reads on one device: weights for `running` sequences fed `tokens` each, and of one layer group's
// KV cache `seen` tokens of all sequences together.
Bytes WeightsRead(const StepModel& model, double running, double tokens = 1);
inline Bytes KvReadOf(const StepModel& model, const AttentionGroup& group, double seen) {
  return seen * DecodeAttentionCost(model, group, 1, 1, 1).bytes / model.shard.stages;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_MEMORY_USE_H_

// What an estimate says beside its times: memory in use, and how well bandwidth and arithmetic are used.
#ifndef FORETOKEN_ESTIMATOR_USAGE_H_
#define FORETOKEN_ESTIMATOR_USAGE_H_

#include <algorithm>
#include <optional>

#include "estimator/capacity.h"
#include "estimator/estimate.h"
#include "estimator/memory.h"
#include "estimator/scenario.h"
#include "estimator/serving.h"
#include "estimator/step.h"
#include "estimator/visit_operators.h"

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

// MBU of the mean decode step: weights that the running sequences read in `tpot`, and the KV of what they hold. Of a
// speculative round the reads of both models, over the tokens that it yields.
double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot);

// MFU: FLOPs of the prefill on one device, a draft's included, over what its matrix units could do in the time that it
// takes without waiting. Nothing to prefill: nothing.
std::optional<double> PrefillUtilization(const Replica& replica, const Served& served);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_USAGE_H_

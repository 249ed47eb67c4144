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

// Batch at which decode turns compute-bound, at the scenario's mean context; `step` holds the rest. Absent for a
// mixture of experts, because a larger batch reads more of them; for speculative decoding, because a step runs two
// models; and without a KV cache, because every step is then a prefill.
std::optional<double> BalancedBatch(const Scenario& scenario, DecodeBalance step);

// State per sequence of the model, and of the draft model if there is one; absent: they have none.
std::optional<Bytes> StateOf(const Scenario& scenario);

// Memory with the KV cache of `held` sequences of the workload on each replica, in a step of `running` sequences.
MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double held,
                   double running);

// Memory for KV cache beside the weights and these activations.
inline Bytes RoomForKv(const Capacity& capacity, Bytes activations) {
  return capacity.usable - capacity.weights - activations;
}

// Decode steps to take a mean over: at contexts prompt + 1 to prompt + count.
struct Steps {
  double prompt = 0;
  double count = 1;
};

// The decode steps of a request.
inline Steps DecodeSteps(double prompt_tokens, double output_tokens) {
  return {.prompt = std::max(1.0, prompt_tokens), .count = std::max(1.0, output_tokens - 1)};
}

// Positions of a layer that each sequence attends to, on average over the steps.
inline double MeanSeen(const AttentionGroup& group, const Steps& steps) {
  return CausalPairs(group, steps.count, steps.prompt) / steps.count;
}

// Bytes that one decode step reads on one device: the weights for `running` sequences fed `tokens` each, and the KV
// cache of one layer group for `seen` tokens of all sequences together.
Bytes WeightsRead(const StepModel& model, double running, double tokens = 1);
inline Bytes KvReadOf(const StepModel& model, const AttentionGroup& group, double seen) {
  return seen * DecodeAttentionCost(model, group, 1, group.compression, 1).bytes / model.shard.stages;
}

// The indexer's keys as a layer group, of which KvReadOf tells what a step reads. REQUIRES: an indexer.
inline AttentionGroup IndexKeys(const Shard& shard) {
  const IndexerShard& indexer = *shard.indexer;
  return {.layers = indexer.layers, .compression = indexer.compression, .kv_elements = indexer.key / shard.kv};
}

// Bytes that one decode step reads of what `sequences` keep beside their KV cache: states of recurrent layers, and
// whatever the context.
inline Bytes StateRead(const StepModel& model, double sequences) {
  if (!model.shard.recurrence) return Bytes(0);
  const RecurrenceShard& r = *model.shard.recurrence;
  return sequences * r.layers * (r.state + r.convolution) / model.shard.stages;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_MEMORY_USE_H_

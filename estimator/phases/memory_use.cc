#include "estimator/phases/memory_use.h"

#include <cmath>

namespace foretoken {

std::optional<double> BalancedBatch(const Scenario& scenario, DecodeBalance step) {
  if (scenario.model->mixture_of_experts || scenario.speculation) return std::nullopt;
  if (!scenario.workload.keeps_kv_cache()) return std::nullopt;  // a step is a prefill
  step.context = scenario.workload.mean_context();
  return ComputeBoundBatch(step);
}

std::optional<Bytes> StateOf(const Scenario& scenario) {
  Bytes state = StateBytesPerSequence(*scenario.model, scenario.deployment.kv_cache_dtype);
  if (scenario.speculation) {
    state += StateBytesPerSequence(*scenario.speculation->draft, scenario.speculation->deployment.kv_cache_dtype);
  }
  return state.value() > 0 ? std::optional(state) : std::nullopt;
}

// A step reads each distinct expert once, and none of the embedding.
Bytes WeightsRead(const StepModel& model, double running, double tokens) {
  return StepWeights(model, {.decode_sequences = running, .decode_tokens = tokens, .logits_rows = running * tokens}) /
         model.shard.stages;
}

MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double held,
                   double running) {
  const Deployment& d = scenario.deployment;
  const Bytes kv = held * capacity.kv_per_sequence;
  const Bytes activations = capacity.activations(running);
  const Bytes beside = RoomForKv(capacity, activations);
  Bytes kv_per_token = KvBytesPerToken(*scenario.model, d.kv_cache_dtype);
  if (scenario.speculation) {
    kv_per_token += KvBytesPerToken(*scenario.speculation->draft, scenario.speculation->deployment.kv_cache_dtype);
  }
  return {.weights = capacity.weights,
          .kv_cache = kv,
          .activations = activations,
          .free = std::max(Bytes(0), beside - kv),
          .largest_batch = capacity.largest_batch * d.data_parallel,
          .kv_tokens_capacity = std::max(0.0, std::floor(beside / capacity.kv_per_token)),
          .kv_per_token = kv_per_token,
          .compute_bound_batch = BalancedBatch(scenario, {.parameters = model.shard.parameters,
                                                          .per_weight = model.shard.weight,
                                                          .kv_per_token = kv_per_token,
                                                          .peak = model.machine.matrix_peak,
                                                          .bandwidth = model.machine.memory_peak}),
          .state_per_sequence = StateOf(scenario)};
}

}  // namespace foretoken

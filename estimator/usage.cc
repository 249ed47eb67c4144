#include "estimator/usage.h"

#include <algorithm>
#include <cmath>

#include "estimator/memory.h"

namespace foretoken {
namespace {

// Weights that one decode step reads on one device: of the experts only the distinct ones, of the embedding none.
Bytes WeightsRead(const StepModel& model, double sequences) {
  Bytes weights;
  for (const OperatorCost& cost : StepOperators(model, {.decode_sequences = sequences, .logits_rows = sequences})) {
    if (cost.n <= 0) continue;
    weights += cost.bytes - cost.count * cost.rows * (cost.n + cost.k) * model.shard.activation;
  }
  return weights / model.shard.stages;
}

// Bytes of KV that the decode reads per step and device, at the mean context.
Bytes KvRead(const StepModel& model, double sequences, double context) {
  Bytes bytes;
  for (const AttentionGroup& group : model.shard.attention) {
    bytes += DecodeAttention(model, group, sequences, context).bytes;
  }
  return bytes / model.shard.stages;
}

// Batch at which decode turns compute-bound at the mean context. Of experts a larger batch reads more, so that a
// mixture of them has no one such batch.
std::optional<double> BalancedBatch(const Scenario& scenario, const StepModel& model, Bytes kv_per_token) {
  if (scenario.model->mixture_of_experts) return std::nullopt;
  const Workload& w = scenario.workload;
  return ComputeBoundBatch(DecodeBalance{.parameters = CountParameters(*scenario.model).Total(),
                                         .per_weight = model.shard.weight,
                                         .context = w.prompt_tokens + w.output_tokens / 2.0,
                                         .kv_per_token = kv_per_token,
                                         .peak = model.machine.matrix_peak,
                                         .bandwidth = model.machine.memory_peak});
}

}  // namespace

MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double sequences) {
  const Deployment& d = scenario.deployment;
  const Bytes kv = sequences * capacity.kv_per_sequence;
  const Bytes activations = StepActivations(scenario, model.shard, sequences);
  const Bytes beside = capacity.usable - capacity.weights - activations;
  const Bytes kv_per_token = KvBytesPerToken(*scenario.model, d.kv_cache_dtype);
  return {.weights = capacity.weights,
          .kv_cache = kv,
          .activations = activations,
          .free = std::max(Bytes(0), beside - kv),
          .largest_batch = capacity.largest_batch * d.data_parallel,
          .kv_tokens_capacity = std::max(0.0, std::floor(beside / capacity.kv_per_token)),
          .kv_per_token = kv_per_token,
          .compute_bound_batch = BalancedBatch(scenario, model, kv_per_token)};
}

double DecodeBandwidthUtilization(const StepModel& model, const Workload& w, double running, double read,
                                  Seconds tpot) {
  const double context = std::max(1, w.prompt_tokens) + std::max(1.0, w.output_tokens / 2.0);
  const Bytes kv = w.kv_cache_mode == KvCacheMode::kNone ? Bytes(0) : KvRead(model, read, context);
  return ModelBandwidthUtilization(WeightsRead(model, running), kv, tpot, model.machine.memory_peak);
}

std::optional<double> PrefillUtilization(const StepModel& model, const Workload& w, double sequences, Seconds time) {
  if (w.prompt_tokens == 0 || !(time.value() > 0)) return std::nullopt;
  const StepShape shape{.prefill_sequences = sequences,
                        .prefill_tokens = static_cast<double>(w.prompt_tokens - w.cached_prefix_tokens),
                        .prefill_prior = static_cast<double>(w.cached_prefix_tokens),
                        .logits_rows = sequences};
  Flops flops;
  for (const OperatorCost& cost : StepOperators(model, shape)) flops += cost.flops;
  return flops / model.shard.stages / time / model.machine.matrix_peak;
}

}  // namespace foretoken

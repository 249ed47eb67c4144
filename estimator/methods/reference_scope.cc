#include "estimator/methods/reference_scope.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/phases/capacity.h"
#include "estimator/phases/memory_use.h"
#include "estimator/scenario/memory.h"
#include "estimator/step/machine.h"
#include "estimator/step/shard.h"

namespace foretoken {
namespace {

// On stated peaks, where there are any.
std::optional<double> BatchInBalance(const Scenario& scenario) {
  const Hardware& hardware = *scenario.hardware;
  const Deployment& deployment = scenario.deployment;
  const absl::StatusOr<Peak> peak =
      PeakFor(hardware, ComputeDtype(deployment.weight_dtype, deployment.activation_dtype), nullptr);
  if (!peak.ok() || !hardware.memory_bandwidth) return std::nullopt;
  return BalancedBatch(scenario, {.parameters = CountParameters(*scenario.model).Total(),
                                  .per_weight = BytesPerElement(deployment.weight_dtype),
                                  .kv_per_token = KvBytesPerToken(*scenario.model, deployment.kv_cache_dtype),
                                  .peak = peak->rate,
                                  .bandwidth = *hardware.memory_bandwidth});
}

MemoryUse UseOf(const Scenario& scenario, const Capacity& capacity) {
  const Bytes kv_cache = capacity.batch * capacity.kv_per_sequence;
  const Bytes activations = capacity.activations(capacity.batch);
  const Bytes for_cache = capacity.usable - activations;
  return {
      .weights = capacity.weights,
      .kv_cache = kv_cache,
      .activations = activations,
      .free = for_cache - capacity.weights - kv_cache,
      .largest_batch = capacity.largest_batch * scenario.deployment.data_parallel,
      .kv_tokens_capacity = TokensThatFit(for_cache, capacity.weights, capacity.kv_per_token),
      .kv_per_token = KvBytesPerToken(*scenario.model, scenario.deployment.kv_cache_dtype),
      .compute_bound_batch = BatchInBalance(scenario),
  };
}

}  // namespace

absl::Status CheckSeedScope(const Scenario& scenario, const char* method) {
  if (absl::Status supported = CheckSupported(*scenario.model, "model_id"); !supported.ok()) return supported;
  const Workload& w = scenario.workload;
  const StatedPart parts[] = {
      {scenario.live_load && !IsIdle(*scenario.live_load), "live_load"},
      {w.request_rate_per_second.has_value(), "workload.request_rate_per_second"},
      {w.batching != BatchingPolicy::kStatic, "workload.batching_policy"},
      {w.output_lengths.has_value(), "workload.output_length_distribution"},
      {scenario.speculation.has_value(), "speculative_decoding"},
      {scenario.disaggregation.has_value(), "disaggregated_prefill"},
      {w.tokenizer_tokens_per_second.has_value(), "workload.tokenizer_tokens_per_second"},
      {scenario.deployment.attention_kernel == AttentionKernel::kNaive, "deployment.attention_kernel"},
  };
  for (const StatedPart& part : parts) {
    if (!part.stated) continue;
    return Refusal(Reason::kNotModelled, part.field, absl::StrCat(method, " does not model ", part.field));
  }
  return absl::OkStatus();
}

void WarnNotUsed(const Scenario& scenario, const char* method, std::vector<Warning>& warnings) {
  const Deployment defaults;
  const Deployment& d = scenario.deployment;
  const Workload& w = scenario.workload;
  const StatedPart parts[] = {
      {d.unfused_elementwise, "deployment.unfused_elementwise"},
      {d.roofline_exponent != defaults.roofline_exponent, "deployment.roofline_exponent"},
      {d.expert_exchange != defaults.expert_exchange, "deployment.expert_exchange"},
      {d.scale_out.has_value(), "deployment.scale_out_bytes_per_second"},
      {d.devices_per_node.has_value(), "deployment.devices_per_node"},
      {w.prompt_arrival_tokens_per_second && w.kv_cache_mode != KvCacheMode::kPipelinedPromptCache,
       "workload.prompt_arrival_tokens_per_second"},
      {d.prefill_chunk_tokens && w.kv_cache_mode != KvCacheMode::kPipelinedPromptCache,
       "deployment.prefill_chunk_tokens"},
      {w.batching_window.has_value(), "workload.batching_window_seconds"},
  };
  WarnOfUnused(parts, method, warnings);
}

Throughput StaticThroughput(const Scenario& scenario, Seconds tpot, Seconds e2e) {
  const Workload& w = scenario.workload;
  return ThroughputOf(w.batch_size / e2e.value(), w.output_tokens, scenario.deployment.devices(), tpot);
}

absl::StatusOr<std::optional<MemoryUse>> SeedMemory(const Scenario& scenario, std::vector<Warning>& warnings) {
  const Hardware& hardware = *scenario.hardware;
  if (!hardware.memory_capacity) {
    warnings.push_back(
        {WarningCode::kFigureAbsent,
         absl::StrCat("hardware ", hardware.id, " states no memory_capacity_bytes; what fits is unknown"),
         "hardware_spec.memory_capacity_bytes"});
    return std::nullopt;
  }
  const Machine machine{.memory_capacity = *hardware.memory_capacity};
  const Capacity capacity = MeasureCapacity(scenario, MakeShard(*scenario.model, scenario.deployment), machine);
  // Waves of a smaller batch would be other batches than the method was asked about, so they are refused too.
  if (!capacity.Fits()) return OutOfMemory(scenario, capacity, machine);
  return UseOf(scenario, capacity);
}

}  // namespace foretoken

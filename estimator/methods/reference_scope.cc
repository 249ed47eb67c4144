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

// The batch at which decode on stated peaks is compute-bound; absent without these specs.
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
      .state_per_sequence = StateOf(scenario),
  };
}

}  // namespace

absl::Status CheckReferenceScope(const Scenario& scenario, Scope method) {
  if (absl::Status supported = CheckSupported(*scenario.model, "model_id"); !supported.ok()) return supported;
  return CheckCovered(scenario, method);
}

Throughput StaticThroughput(const Scenario& scenario, Seconds tpot, Seconds e2e) {
  const Workload& w = scenario.workload;
  return ThroughputOf(w.batch_size / e2e.value(), w.output_tokens, scenario.deployment.devices(), tpot);
}

absl::StatusOr<std::optional<MemoryUse>> ReferenceMemory(const Scenario& scenario, std::vector<Warning>& warnings) {
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
  // Sequential batches of fewer sequences are refused too, because they would not be the requested batch.
  if (!capacity.Fits()) return OutOfMemory(scenario, capacity, machine);
  return UseOf(scenario, capacity);
}

}  // namespace foretoken

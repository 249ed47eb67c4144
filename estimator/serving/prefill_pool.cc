#include "estimator/serving/prefill_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/step/step_model.h"

namespace foretoken {
namespace {

constexpr char kPath[] = "disaggregated_prefill.";

// The prefill pool by itself makes one output token, after which the decode pool continues.
Scenario PoolScenario(const Scenario& scenario) {
  const Disaggregation& d = *scenario.disaggregation;
  Scenario pool = scenario;
  pool.hardware = d.hardware;
  pool.deployment = d.deployment;
  pool.workload.batch_size = d.batch_size * d.deployment.data_parallel;
  pool.workload.output_tokens = 1;
  pool.disaggregation.reset();
  return pool;
}

// A refusal of the pool, with field paths of the whole scenario.
absl::Status OfPrefillPool(const absl::Status& status) {
  RefusalDetail detail = DetailOf(status);
  for (FieldViolation& violation : detail.violations) {
    violation.field = violation.field == "workload.batch_size" ? absl::StrCat(kPath, "batch_size")
                                                               : absl::StrCat(kPath, violation.field);
  }
  return RefusalWithDetail(absl::StrCat("prefill side: ", status.message()), detail);
}

// Its warnings likewise. A warning that the decode pool has already given holds for both.
void AddWarningsOfPrefillPool(std::vector<Warning> own, std::vector<Warning>& warnings) {
  for (Warning& warning : own) {
    if (std::find(warnings.begin(), warnings.end(), warning) != warnings.end()) continue;
    warning.field.insert(0, kPath);
    warning.message.insert(0, "prefill side: ");
    warnings.push_back(std::move(warning));
  }
}

// Network of the devices that hold one sequence.
std::optional<BytesPerSecond> ReplicaNetwork(const Hardware& hardware, const Deployment& deployment) {
  const auto scale_out = deployment.scale_out ? deployment.scale_out : hardware.scale_out;
  if (!scale_out) return std::nullopt;
  return *scale_out * (deployment.tensor_parallel * deployment.pipeline_parallel);
}

absl::StatusOr<BytesPerSecond> TransferRate(const Scenario& scenario, const Efficiencies& efficiencies) {
  const Disaggregation& d = *scenario.disaggregation;
  if (efficiencies.speed_of_light) return BytesPerSecond(0);
  if (d.transfer) return *d.transfer;
  const auto from = ReplicaNetwork(*d.hardware, d.deployment);
  const auto to = ReplicaNetwork(*scenario.hardware, scenario.deployment);
  if (from && to) return std::min(*from, *to) * efficiencies.link;
  return Refusal(Reason::kMissingFigure, absl::StrCat(kPath, "transfer_bytes_per_second"),
                 absl::StrCat("transfer_bytes_per_second is not given, and hardware ",
                              from ? scenario.hardware->id : d.hardware->id,
                              " states no scale_out_bytes_per_second; one of them is needed to send the KV cache"));
}

}  // namespace

absl::StatusOr<PrefillPool> MakePrefillPool(const Scenario& scenario, const Efficiencies& efficiencies,
                                            std::vector<Warning>& warnings) {
  const Disaggregation& d = *scenario.disaggregation;
  Scenario pool = PoolScenario(scenario);
  std::vector<Warning> own;
  absl::StatusOr<StepModel> model = MakeStepModel(pool, efficiencies, &own);
  if (!model.ok()) return OfPrefillPool(model.status());
  AddWarningsOfPrefillPool(std::move(own), warnings);
  const Capacity capacity = MeasureCapacity(pool, model->shard, model->machine);
  if (!capacity.Fits()) return OfPrefillPool(OutOfMemory(pool, capacity, model->machine));
  const absl::StatusOr<BytesPerSecond> transfer = TransferRate(scenario, efficiencies);
  if (!transfer.ok()) return transfer.status();
  return PrefillPool{.scenario = std::move(pool),
                     .model = *std::move(model),
                     .capacity = capacity,
                     .transfer = *transfer,
                     .latency = d.transfer_latency.value_or(efficiencies.link_latency)};
}

Bytes TransferredKv(const Model& model, Dtype kv_cache_dtype, double tokens) {
  const Shard whole = MakeShard(
      model, {.weight_dtype = kv_cache_dtype, .activation_dtype = kv_cache_dtype, .kv_cache_dtype = kv_cache_dtype});
  Bytes bytes = whole.state_per_sequence;
  for (const AttentionGroup& group : whole.attention) {
    const double kept = group.window > 0 && !group.keeps_all ? std::min(tokens, group.window) : tokens;
    bytes += group.layers * group.kv_share * kept * whole.kv_elements * whole.kv;
  }
  return bytes;
}

Seconds ExposedTransfer(Seconds whole, Seconds prefill, double layers, bool layerwise) {
  if (!layerwise) return whole;
  return std::max(whole / layers, whole - prefill * ((layers - 1) / layers));
}

}  // namespace foretoken

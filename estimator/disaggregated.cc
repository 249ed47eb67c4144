#include "estimator/disaggregated.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"
#include "estimator/phases.h"
#include "estimator/usage.h"

namespace foretoken {
namespace {

struct NotCovered {
  bool asked;
  const char* field;
};

absl::Status CheckCovered(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  const bool keeps = w.kv_cache_mode == KvCacheMode::kCached || w.kv_cache_mode == KvCacheMode::kPromptCache;
  const Deployment& prefill = scenario.disaggregation->deployment;
  const NotCovered all[] = {
      {scenario.live_load && !IsIdle(*scenario.live_load), "live_load"},
      {w.request_rate_per_second.has_value(), "workload.request_rate_per_second"},
      {w.batching == BatchingPolicy::kDynamic, "workload.batching_policy"},
      {w.output_lengths.has_value(), "workload.output_length_distribution"},
      {scenario.speculation.has_value(), "speculative_decoding"},
      {!keeps, "workload.kv_cache_mode"},
      {prefill.kv_cache_dtype != scenario.deployment.kv_cache_dtype, "disaggregated_prefill.deployment.kv_cache_dtype"},
      {w.prompt_tokens == 0, "workload.prompt_tokens"},
  };
  for (const NotCovered& one : all) {
    if (!one.asked) continue;
    return Refusal(
        Reason::kNotModelled, one.field,
        absl::StrCat("disaggregated prefill does not cover this ", one.field,
                     "; allowed: batch_size sequences that decode together, prompts of 1 token or more, a KV "
                     "cache of one dtype on both sides"));
  }
  return absl::OkStatus();
}

struct Transfer {
  Bytes bytes;  // of the prompts that are sent together
  Seconds whole;
  Seconds exposed;
};

Transfer TransferOf(const Replica& replica, Seconds prefill) {
  const PrefillSide& side = *replica.prefill_side;
  const Disaggregation& d = *replica.scenario.disaggregation;
  Transfer transfer{.bytes = d.batch_size * TransferredKv(*replica.scenario.model, d.deployment.kv_cache_dtype,
                                                          replica.scenario.workload.prompt_tokens)};
  if (!(side.transfer.value() > 0)) return transfer;
  const Seconds moving = transfer.bytes / side.transfer;
  transfer.whole = side.latency + moving;
  transfer.exposed = side.latency + ExposedTransfer(moving, prefill, side.model.shard.layers, d.layerwise_transfer);
  return transfer;
}

// The slowest side; a tie goes to the earlier.
DisaggregationLimit LimitOf(const DisaggregationEstimate& e, double& rate) {
  DisaggregationLimit limit = DisaggregationLimit::kPrefill;
  rate = e.prefill_requests_per_second;
  const auto consider = [&](std::optional<double> side, DisaggregationLimit candidate) {
    if (!side || *side >= rate) return;
    rate = *side;
    limit = candidate;
  };
  consider(e.transfer_requests_per_second, DisaggregationLimit::kTransfer);
  consider(e.decode_requests_per_second, DisaggregationLimit::kDecode);
  return limit;
}

void FillRates(const Replica& replica, const Transfer& transfer, Served& served, DisaggregationEstimate& e) {
  const Disaggregation& d = *replica.scenario.disaggregation;
  const double from = static_cast<double>(d.prefill_replicas) * d.deployment.data_parallel;
  const double to = static_cast<double>(d.decode_replicas) * replica.scenario.deployment.data_parallel;
  e.prefill_requests_per_second = from * d.batch_size / served.prefill_work.value();
  if (transfer.whole.value() > 0) {
    e.transfer_requests_per_second = std::min(from, to) * d.batch_size / transfer.whole.value();
  }
  if (served.decode_steps >= 1) e.decode_requests_per_second = to * served.running / served.decode.Total().value();
  e.limit = LimitOf(e, served.requests_per_second);
}

// What the prefill side works for one batch of prompts: without the tokenizer, which is not of its devices.
Seconds PrefillWork(const PrefillSide& side) {
  Workload w = side.scenario.workload;
  w.tokenizer_tokens_per_second.reset();
  return PrefillPhase(side.model, w, side.scenario.deployment, side.capacity.batch).Total();
}

}  // namespace

absl::StatusOr<Served> ServeDisaggregated(const Replica& replica) {
  const Scenario& scenario = replica.scenario;
  if (absl::Status covered = CheckCovered(scenario); !covered.ok()) return covered;
  if (!replica.capacity.Fits()) return OutOfMemory(scenario, replica.capacity, replica.model.machine);
  const PrefillSide& side = *replica.prefill_side;
  const DecodePhase decode(replica.model, scenario.workload, replica.capacity.batch);
  const double steps = scenario.workload.output_tokens - 1.0;
  Served served{
      .prefill = PrefillPhase(side.model, side.scenario.workload, side.scenario.deployment, side.capacity.batch),
      .decode = decode.Sum(steps),
      .decode_steps = steps,
      .running = replica.capacity.batch,
      .held = replica.capacity.batch,
      .read = replica.capacity.batch,
      .prefilled = side.capacity.batch,
      .prefill_work = PrefillWork(side),
      .step = [decode](double j) { return decode.Step(j); }};
  const Transfer transfer = TransferOf(replica, served.prefill_work);
  served.prefill.communication += transfer.exposed;
  DisaggregationEstimate estimate{
      .transfer = transfer.bytes,
      .exposed = transfer.exposed,
      .prefill_memory = MemoryOf(side.scenario, side.model, side.capacity, side.capacity.batch),
      .prefill_devices = scenario.disaggregation->prefill_replicas * side.scenario.deployment.devices()};
  FillRates(replica, transfer, served, estimate);
  served.disaggregation = estimate;
  return served;
}

}  // namespace foretoken

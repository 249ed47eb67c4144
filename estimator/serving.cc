#include "estimator/serving.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/batch.h"
#include "estimator/closed_loop.h"
#include "estimator/disaggregated.h"
#include "estimator/dynamic_batch.h"
#include "estimator/errors.h"
#include "estimator/live_load.h"
#include "estimator/open_loop.h"

namespace foretoken {
namespace {

absl::Status NotCovered(std::string_view field, std::string_view what) {
  return Refusal(Reason::kNotModelled, field,
                 absl::StrCat("the operator model does not cover ", absl::string_view(what.data(), what.size())));
}

// Whether requests join what runs now. Under continuous batching a load of limits alone belongs to the steady state.
bool IsLoaded(const Scenario& scenario) {
  if (!scenario.live_load) return false;
  const bool continuous = scenario.workload.batching == BatchingPolicy::kContinuous;
  return continuous ? StatesPresent(*scenario.live_load) : !IsIdle(*scenario.live_load);
}

absl::Status CheckCovered(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  const bool steady = w.request_rate_per_second || w.output_lengths || w.batching == BatchingPolicy::kDynamic;
  if (steady && IsLoaded(scenario)) {
    return NotCovered(
        "live_load",
        "a live load with arrival rates, dynamic batching or output lengths that differ; these are steady "
        "states");
  }
  if (w.request_rate_per_second && w.batching == BatchingPolicy::kStatic) {
    return NotCovered("workload.request_rate_per_second",
                      "an arrival rate under static batching; allowed: dynamic, continuous");
  }
  const bool keeps = w.kv_cache_mode == KvCacheMode::kCached || w.kv_cache_mode == KvCacheMode::kPromptCache;
  if ((w.batching == BatchingPolicy::kContinuous || IsLoaded(scenario)) && !keeps) {
    return NotCovered("workload.kv_cache_mode",
                      "continuous batching without a KV cache or with a pipelined prompt cache; allowed: cached, "
                      "prompt cache");
  }
  if (scenario.speculation && (!keeps || IsLoaded(scenario))) {
    return NotCovered("speculative_decoding",
                      "speculative decoding under a live load, without a KV cache or with a pipelined prompt cache; "
                      "allowed: batches and steady states with a KV cache");
  }
  return absl::OkStatus();
}

void WarnOfBudget(const Scenario& scenario, std::vector<Warning>& warnings) {
  if (!scenario.live_load || !scenario.live_load->max_num_batched_tokens) return;
  warnings.push_back({WarningCode::kNotUsed,
                      "a steady state cuts prompts by deployment.prefill_chunk_tokens, not by max_num_batched_tokens",
                      "live_load.max_num_batched_tokens"});
}

}  // namespace

double MostRunning(const Replica& replica) {
  if (replica.capacity.largest_batch < 1) return 0;
  Scenario halfway = replica.scenario;
  halfway.workload.output_tokens = (halfway.workload.output_tokens + 1) / 2;
  const double fits = MeasureCapacity(halfway, replica.model.shard, replica.model.machine).largest_batch;
  const std::optional<LiveLoad>& load = replica.scenario.live_load;
  return load && load->max_num_seqs ? std::min<double>(fits, *load->max_num_seqs) : fits;
}

double HeldHalfway(const Workload& workload, double running) {
  const double whole = static_cast<double>(workload.prompt_tokens) + workload.output_tokens;
  return running * workload.mean_context() / whole;
}

absl::Status Unstable(const Scenario& scenario, const std::string& limit, double stable) {
  return Refusal(Reason::kUnstableLoad, "workload.request_rate_per_second",
                 absl::StrCat("request_rate_per_second ", *scenario.workload.request_rate_per_second, "; ", limit,
                              " serves below ", stable));
}

absl::Status Unstable(const Replica& replica, const std::string& how, double stable) {
  const Scenario& s = replica.scenario;
  const std::string limit = absl::StrCat(s.model->id, " on ", s.hardware->id, " ", how, " per replica");
  return Unstable(s, limit, stable * s.deployment.data_parallel);
}

absl::StatusOr<Served> Serve(const Replica& replica, std::vector<Warning>& warnings) {
  if (replica.prefill_side != nullptr) return ServeDisaggregated(replica);
  if (absl::Status covered = CheckCovered(replica.scenario); !covered.ok()) return covered;
  const Workload& w = replica.scenario.workload;
  if (IsLoaded(replica.scenario)) return ServeLiveLoad(replica, warnings);
  if (w.batching == BatchingPolicy::kDynamic) return ServeDynamic(replica);
  if (w.batching != BatchingPolicy::kContinuous) return ServeStatic(replica, warnings);
  WarnOfBudget(replica.scenario, warnings);
  return w.request_rate_per_second ? ServeOpenLoop(replica) : ServeClosedLoop(replica, warnings);
}

}  // namespace foretoken

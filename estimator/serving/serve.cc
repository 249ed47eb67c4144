#include "estimator/serving/serve.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/serving/batch.h"
#include "estimator/serving/closed_loop.h"
#include "estimator/serving/disaggregated.h"
#include "estimator/serving/dynamic_batch.h"
#include "estimator/serving/live_load.h"
#include "estimator/serving/open_loop.h"

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

absl::StatusOr<Served> Serve(const Replica& replica, std::vector<Warning>& warnings) {
  if (replica.prefill_pool != nullptr) return ServeDisaggregated(replica);
  if (absl::Status covered = CheckCovered(replica.scenario); !covered.ok()) return covered;
  const Workload& w = replica.scenario.workload;
  if (IsLoaded(replica.scenario)) return ServeLiveLoad(replica, warnings);
  if (w.batching == BatchingPolicy::kDynamic) return ServeDynamic(replica);
  if (w.batching != BatchingPolicy::kContinuous) return ServeStatic(replica, warnings);
  WarnOfBudget(replica.scenario, warnings);
  return w.request_rate_per_second ? ServeOpenLoop(replica) : ServeClosedLoop(replica, warnings);
}

}  // namespace foretoken

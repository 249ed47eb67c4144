#include "estimator/serving.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/batch.h"
#include "estimator/closed_loop.h"
#include "estimator/errors.h"

namespace foretoken {
namespace {

absl::Status NotCovered(std::string_view field, std::string_view what) {
  return Refusal(Reason::kNotModelled, field,
                 absl::StrCat("the operator model does not cover ", absl::string_view(what.data(), what.size())));
}

absl::Status CheckCovered(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  if (scenario.live_load && !IsIdle(*scenario.live_load)) return NotCovered("live_load", "a live load yet");
  if (w.batching == BatchingPolicy::kDynamic) return NotCovered("workload.batching_policy", "dynamic batching yet");
  if (w.request_rate_per_second) return NotCovered("workload.request_rate_per_second", "an arrival rate yet");
  if (w.output_lengths) return NotCovered("workload.output_length_distribution", "output lengths that differ yet");
  const bool keeps = w.kv_cache_mode == KvCacheMode::kCached || w.kv_cache_mode == KvCacheMode::kPromptCache;
  if (w.batching == BatchingPolicy::kContinuous && !keeps) {
    return NotCovered("workload.kv_cache_mode",
                      "continuous batching without a KV cache or with a pipelined prompt cache; allowed: cached, "
                      "prompt cache");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Served> Serve(const Replica& replica, std::vector<Warning>& warnings) {
  if (absl::Status covered = CheckCovered(replica.scenario); !covered.ok()) return covered;
  if (replica.scenario.workload.batching == BatchingPolicy::kContinuous) return ServeClosedLoop(replica, warnings);
  return ServeStatic(replica, warnings);
}

}  // namespace foretoken

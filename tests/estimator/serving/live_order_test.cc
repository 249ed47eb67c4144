// A router sends a request where its predicted first token comes first. So a replica that has more to do, or whose
// cache holds less of the prompt, must not come out ahead of itself: over random replicas, models, parallelism and
// loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "estimator/methods/estimator.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

// A replica with a live load, and one request to it.
Scenario NextReplica(RandomScenarios& source) {
  for (;;) {
    Scenario scenario = source.Next();
    if (!scenario.live_load) continue;
    scenario.workload.batch_size = 1;
    LiveLoad& load = *scenario.live_load;
    load.waiting_requests = load.waiting_requests.value_or(0);
    load.queued_prefill_tokens = *load.waiting_requests * source.LogUniform(1, 8000);
    load.in_flight_prefill_tokens = load.in_flight_prefill_tokens.value_or(0);
    return scenario;
  }
}

struct Change {
  const char* name;
  // Of the loads, those whose first token may come over 3% earlier: sequences and prompts are whole, and where a
  // shorter one joins, the mean prompt of a step is shorter too.
  double allowed;
  std::function<bool(Scenario&, RandomScenarios&)> more;  // false: it does not apply
};

const Change kChanges[] = {
    {"a running sequence", 0.006,
     [](Scenario& s, RandomScenarios&) {
       LiveLoad& load = *s.live_load;
       if (load.max_num_seqs && *load.running_sequences >= *load.max_num_seqs) return false;
       load.running_sequences = *load.running_sequences + 1;
       return true;
     }},
    {"a waiting request", 0.013,
     [](Scenario& s, RandomScenarios& source) {
       LiveLoad& load = *s.live_load;
       load.waiting_requests = load.waiting_requests.value_or(0) + 1;
       load.queued_prefill_tokens = load.queued_prefill_tokens.value_or(0) + source.LogUniform(1, 8000);
       return true;
     }},
    {"queued tokens", 0.003,
     [](Scenario& s, RandomScenarios& source) {
       LiveLoad& load = *s.live_load;
       if (load.waiting_requests.value_or(0) < 1 || !load.queued_prefill_tokens) return false;
       load.queued_prefill_tokens = *load.queued_prefill_tokens + source.LogUniform(1, 8000);
       return true;
     }},
    {"tokens in flight", 0.002,
     [](Scenario& s, RandomScenarios& source) {
       LiveLoad& load = *s.live_load;
       load.in_flight_prefill_tokens = load.in_flight_prefill_tokens.value_or(0) + source.LogUniform(1, 4000);
       return true;
     }},
    {"a smaller prefix", 0.004,
     [](Scenario& s, RandomScenarios& source) {
       if (s.workload.cached_prefix_tokens < 1) return false;
       s.workload.cached_prefix_tokens = source.Pick(s.workload.cached_prefix_tokens);
       return true;
     }},
};

TEST(LiveOrderTest, MoreToDoSeldomRanksBetter) {
  for (const Change& change : kChanges) {
    RandomScenarios source(97);
    int made = 0, earlier = 0;
    for (int i = 0; i < 20000; ++i) {
      const Scenario less = NextReplica(source);
      Scenario more = less;
      if (!change.more(more, source)) continue;
      const absl::StatusOr<Estimate> before = ComputeEstimate(less);
      const absl::StatusOr<Estimate> after = ComputeEstimate(more);
      if (!before.ok() || !after.ok()) continue;
      ++made;
      if (after->ttft.time < before->ttft.time * 0.97) ++earlier;
    }
    EXPECT_GT(made, 5000) << change.name;
    EXPECT_LE(earlier, change.allowed * made) << change.name;
  }
}

// What the cache holds of a prompt says nothing of how long the others are.
TEST(LiveOrderTest, AHitDoesNotMakeTheQueueLonger) {
  RandomScenarios source(98);
  int made = 0, later = 0;
  for (int i = 0; i < 5000; ++i) {
    Scenario none = NextReplica(source);
    none.workload.cached_prefix_tokens = 0;
    none.workload.prefix_load.reset();
    none.live_load->waiting_requests.reset();
    none.live_load->queued_prefill_tokens = 20'000;
    Scenario hit = none;
    hit.workload.cached_prefix_tokens = none.workload.prompt_tokens - 1;
    const absl::StatusOr<Estimate> without = ComputeEstimate(none);
    const absl::StatusOr<Estimate> with = ComputeEstimate(hit);
    if (!without.ok() || !with.ok()) continue;
    ++made;
    if (with->ttft.time * 0.97 > without->ttft.time) ++later;
  }
  EXPECT_GT(made, 1000);
  EXPECT_LE(later, 0.005 * made) << made;
}

}  // namespace
}  // namespace foretoken

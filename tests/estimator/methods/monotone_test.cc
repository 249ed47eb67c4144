// More to do never takes less time, and a better device never more, over random scenarios of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "estimator/methods/estimator.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 10000;

// What the closed forms may be off the slow sums (docs/model/phases.md): at s = 1 and infinity only chunked prefills
// are.
double SlackOf(const Scenario& s) {
  const double exponent = s.deployment.roofline_exponent;
  const bool exact = (exponent == 1 || std::isinf(exponent)) && !s.deployment.prefill_chunk_tokens &&
                     s.workload.kv_cache_mode != KvCacheMode::kNone;
  return exact ? 1e-9 : 2e-3;
}

// Batches that form, and prompts that are packed into steps, grow in whole sequences: the time may step back where one
// more or fewer fits.
bool GrowsInSteps(const Scenario& s) { return s.workload.batching == BatchingPolicy::kDynamic || s.live_load; }

double SlackOfServed(const Scenario& s) { return GrowsInSteps(s) ? 0.05 : std::max(SlackOf(s), 3e-3); }

bool IsBatch(const Scenario& s) { return s.workload.batching == BatchingPolicy::kStatic && !s.live_load; }

// From the first token of the prompt: where it ends just past a chunk, less is left when its last token arrives.
double FromTheStart(const Scenario& scenario, const Estimate& e) {
  const double rate = scenario.workload.prompt_arrival_tokens_per_second.value_or(0);
  return e.e2e.time.value() + (rate > 0 ? scenario.workload.prompt_tokens / rate : 0);
}

// A chunked layer sees less after a boundary of its chunks than before.
bool SeesItsOwnChunk(const Scenario& s) { return s.model->sliding_window && s.model->sliding_window->chunked; }

TEST(MonotoneTest, MoreTokensTakeLonger) {
  RandomScenarios source(21);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario less = source.Next();
    Scenario more = less;
    const bool prompt = i % 2 == 0;
    if (prompt && (less.live_load || SeesItsOwnChunk(less))) continue;  // a load takes what it lacks from the prompt
    (prompt ? more.workload.prompt_tokens : more.workload.output_tokens) += 1 + source.Pick(1000);
    const absl::StatusOr<Estimate> before = ComputeEstimate(less);
    const absl::StatusOr<Estimate> after = ComputeEstimate(more);
    if (!before.ok() || !after.ok()) continue;
    const double slack = IsBatch(less) ? SlackOf(less) : SlackOfServed(less);
    ASSERT_GE(FromTheStart(more, *after) * (1 + slack), FromTheStart(less, *before))
        << Describe(less) << " | " << Describe(more);
    if (!IsBatch(less) || SeesItsOwnChunk(less) || less.workload.prompt_arrival_tokens_per_second) continue;
    ASSERT_GE(after->ttft.time.value() * (1 + slack), before->ttft.time.value()) << Describe(less);
    ASSERT_GE(after->tpot.time.value() * (1 + slack), before->tpot.time.value()) << Describe(less);
  }
}

TEST(MonotoneTest, MoreRequestsTakeLonger) {
  RandomScenarios source(22);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario less = source.Next();
    if (less.workload.batching == BatchingPolicy::kDynamic) continue;  // gathers sooner at a higher rate
    Scenario more = less;
    if (more.workload.request_rate_per_second) {
      *more.workload.request_rate_per_second *= 1.1;
    } else {
      more.workload.batch_size += 1 + source.Pick(64);
    }
    const absl::StatusOr<Estimate> before = ComputeEstimate(less);
    const absl::StatusOr<Estimate> after = ComputeEstimate(more);
    if (!before.ok() || !after.ok()) continue;
    const double slack = IsBatch(less) ? SlackOf(less) : SlackOfServed(less);
    ASSERT_GE(after->e2e.time.value() * (1 + slack), before->e2e.time.value())
        << Describe(less) << " | " << Describe(more);
  }
}

TEST(MonotoneTest, ALongerContextTakesLonger) {
  RandomScenarios source(23);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario less = source.NextBatch();
    if (less.workload.kv_cache_mode != KvCacheMode::kCached || SeesItsOwnChunk(less)) continue;
    Scenario more = less;  // as many new tokens after a longer prefix
    const int added = 1 + source.Pick(3000);
    more.workload.prompt_tokens += added;
    more.workload.cached_prefix_tokens += added;
    const double slack = 1 + SlackOf(less);
    ASSERT_GE(MustEstimate(more).ttft.time.value() * slack, MustEstimate(less).ttft.time.value()) << Describe(less);
    ASSERT_GE(MustEstimate(more).tpot.time.value() * slack, MustEstimate(less).tpot.time.value()) << Describe(less);
  }
}

template <typename T>
void Scale(std::optional<T>& figure, double factor) {
  if (figure) figure = *figure * factor;
}

// One of its figures is better.
Hardware Better(Hardware hardware, int figure, double factor) {
  switch (figure) {
    case 0:
      Scale(hardware.memory_bandwidth, factor);
      break;
    case 1:
      Scale(hardware.peak.bf16, factor);
      Scale(hardware.peak.fp16, factor);
      break;
    case 2:
      Scale(hardware.peak.fp8, factor);
      Scale(hardware.peak.int8, factor);
      Scale(hardware.peak.fp4, factor);
      break;
    case 3:
      Scale(hardware.peak.fp32, factor);
      break;
    case 4:
      Scale(hardware.interconnect, factor);
      break;
    default:
      Scale(hardware.scale_out, factor);
  }
  return hardware;
}

TEST(MonotoneTest, UnevenExpertsAreNeverFaster) {
  RandomScenarios source(25);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario even = source.Next();
    Scenario uneven = even;
    uneven.deployment.expert_load_imbalance = std::max(1.0, 0.9 * even.deployment.expert_parallel);
    if (uneven.deployment.expert_load_imbalance <= even.deployment.expert_load_imbalance) continue;
    const absl::StatusOr<Estimate> before = ComputeEstimate(even);
    const absl::StatusOr<Estimate> after = ComputeEstimate(uneven);
    if (!before.ok() || !after.ok()) continue;
    ASSERT_GE(after->e2e.time.value() * (1 + SlackOfServed(even)), before->e2e.time.value()) << Describe(even);
  }
}

TEST(MonotoneTest, BetterHardwareIsNeverSlower) {
  RandomScenarios source(24);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    const absl::StatusOr<Estimate> before = ComputeEstimate(scenario);
    if (!before.ok()) continue;
    const Hardware better = Better(*scenario.hardware, i % 6, source.Uniform(1, 3));
    scenario.hardware = &better;
    const absl::StatusOr<Estimate> after = ComputeEstimate(scenario);
    ASSERT_TRUE(after.ok()) << Describe(scenario) << after.status();
    const double slack = IsBatch(scenario) ? SlackOf(scenario) : SlackOfServed(scenario);
    ASSERT_LE(after->e2e.time.value(), before->e2e.time.value() * (1 + slack)) << Describe(scenario) << " " << i % 6;
    if (!IsBatch(scenario)) continue;
    ASSERT_LE(after->ttft.time.value(), before->ttft.time.value() * (1 + slack)) << Describe(scenario) << " " << i % 6;
    ASSERT_LE(after->tpot.time.value(), before->tpot.time.value() * (1 + slack)) << Describe(scenario) << " " << i % 6;
  }
}

}  // namespace
}  // namespace foretoken

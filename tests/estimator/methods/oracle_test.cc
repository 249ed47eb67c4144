// The closed forms of the operator model against the same formulas summed one by one (slow_oracle.h).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/estimator/random_scenarios.h"
#include "tests/estimator/slow_oracle.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 3000;

// 1e-9 where a step is piecewise linear in the context and the sum is of all its pieces, else 1e-3.
double BoundOf(const Scenario& scenario) {
  const double s = scenario.deployment.roofline_exponent;
  const auto& window = scenario.model->sliding_window;
  const bool sampled = window && window->chunked && scenario.workload.output_tokens > 32 * window->window_tokens;
  return (s == 1 || std::isinf(s)) && !sampled ? 1e-9 : 1e-3;
}

// A batch with a KV cache, short enough to be summed one by one.
Scenario NextSmall(RandomScenarios& source) {
  Scenario s = source.NextBatch();
  while (s.workload.kv_cache_mode != KvCacheMode::kCached || s.workload.output_tokens > 3000) s = source.NextBatch();
  return s;
}

TEST(OracleTest, DecodeIsTheSlowSum) {
  RandomScenarios source(1);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario scenario = NextSmall(source);
    const double slow = SlowOracle(scenario, GenericPrior()).Decode().Total();
    ASSERT_NEAR(MustEstimate(scenario).decode.time.value(), slow, BoundOf(scenario) * slow) << Describe(scenario);
  }
}

TEST(OracleTest, PrefillIsTheSlowSum) {
  RandomScenarios source(2);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario scenario = NextSmall(source);
    const double slow = SlowOracle(scenario, GenericPrior()).Prefill().Total();
    ASSERT_NEAR(MustEstimate(scenario).ttft.time.value(), slow, 1e-3 * slow) << Describe(scenario);
  }
}

// Every step computes all tokens again, or the prompt is prefilled as it arrives.
TEST(OracleTest, OtherModesOfTheCacheAreTheSlowSum) {
  RandomScenarios source(3);
  int recomputed = 0;
  int pipelined = 0;
  while (recomputed < 100 || pipelined < 100) {
    Scenario scenario = source.NextBatch();
    if (scenario.workload.kv_cache_mode == KvCacheMode::kCached || scenario.workload.output_tokens > 500) continue;
    const SlowOracle oracle(scenario, GenericPrior());
    const Estimate estimate = MustEstimate(scenario);
    if (scenario.workload.kv_cache_mode == KvCacheMode::kNone) {
      const double slow = oracle.Decode().Total();
      ASSERT_NEAR(estimate.decode.time.value(), slow, 1e-3 * slow) << Describe(scenario);
      ++recomputed;
    } else {
      const double slow = oracle.ExposedPrefill();
      ASSERT_NEAR(estimate.ttft.time.value(), slow, 1e-6 * slow) << Describe(scenario);
      ++pipelined;
    }
  }
}

// Chunks far more than are summed one by one: 1,000 to 3,000 of them, and a hundred million, which take no longer.
TEST(OracleTest, ManyChunksOfAPromptThatArrives) {
  RandomScenarios source(5);
  for (int i = 0; i < 100; ++i) {
    Scenario scenario = NextSmall(source);
    if (scenario.model->sliding_window && scenario.model->sliding_window->chunked) continue;
    Workload& w = scenario.workload;
    w.kv_cache_mode = KvCacheMode::kPipelinedPromptCache;
    scenario.deployment.prefill_chunk_tokens = 1 + source.Pick(20);
    w.prompt_tokens = *scenario.deployment.prefill_chunk_tokens * source.LogUniform(1000, 3000) + 1;
    w.cached_prefix_tokens = source.Pick(2) * source.Pick(w.prompt_tokens / 100);
    w.prompt_arrival_tokens_per_second = source.LogUniform(10, 10000);
    const double slow = SlowOracle(scenario, GenericPrior()).ExposedPrefill();
    ASSERT_NEAR(MustEstimate(scenario).ttft.time.value(), slow, 1e-3 * slow) << Describe(scenario);
    w.batch_size = 1;
    w.prompt_tokens = 100'000'000;
    scenario.deployment.prefill_chunk_tokens = 1;
    ASSERT_GT(MustEstimate(scenario).ttft.time.value(), 0);
  }
}

// Attention chunks far more than are summed one by one: 10 tokens each, 5,000 steps.
TEST(OracleTest, ManyAttentionChunks) {
  RandomScenarios source(4);
  for (int i = 0; i < 200; ++i) {
    Scenario scenario = NextSmall(source);
    Model model = *scenario.model;
    model.sliding_window = SlidingWindow{.window_tokens = 10, .num_full_attention_layers = 1, .chunked = true};
    scenario.model = &model;
    scenario.workload.output_tokens = 5001;
    const double slow = SlowOracle(scenario, GenericPrior()).Decode().Total();
    ASSERT_NEAR(MustEstimate(scenario).decode.time.value(), slow, 1e-3 * slow) << Describe(scenario);
  }
}

}  // namespace
}  // namespace foretoken

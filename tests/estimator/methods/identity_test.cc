// Questions that are two ways of asking the same, or whose answers follow from each other.
#include <gtest/gtest.h>

#include "estimator/methods/estimator.h"
#include "estimator/methods/step_model_cache.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 10000;

// Both are refused, or both answer the same times.
void ExpectSame(const Scenario& one, const Scenario& other) {
  const absl::StatusOr<Estimate> a = ComputeEstimate(one);
  const absl::StatusOr<Estimate> b = ComputeEstimate(other);
  ASSERT_EQ(a.ok(), b.ok()) << Describe(one) << " | " << Describe(other) << a.status() << b.status();
  if (!a.ok()) return;
  ASSERT_DOUBLE_EQ(a->ttft.time.value(), b->ttft.time.value()) << Describe(one) << " | " << Describe(other);
  ASSERT_DOUBLE_EQ(a->tpot.time.value(), b->tpot.time.value()) << Describe(one) << " | " << Describe(other);
  ASSERT_DOUBLE_EQ(a->e2e.time.value(), b->e2e.time.value()) << Describe(one) << " | " << Describe(other);
}

// One estimate written over by thousands of others: batching policies, methods, calibrations and objectives come and
// go.
TEST(IdentityTest, WhatAnEstimateIsWrittenOverDoesNotCount) {
  RandomScenarios source(30);
  Estimate reused;
  int answered = 0;
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    if (i % 3 == 0) scenario.slo = Slo{.max_ttft = Seconds(1)};
    if (i % 7 == 0) scenario.method = i % 2 == 0 ? Method::kKpi : Method::kSpeedOfLight;
    const Detail detail{.operators = i % 5 == 0,
                        .token_latencies = i % 11 == 0 && scenario.workload.output_tokens < 100};
    StepModelMemo memo;
    const absl::StatusOr<Estimate> fresh = ComputeEstimate(scenario, detail);
    const absl::Status status = ComputeEstimate(scenario, detail, memo, reused);
    ASSERT_EQ(fresh.status(), status) << Describe(scenario);
    if (!status.ok()) continue;
    ASSERT_TRUE(*fresh == reused) << Describe(scenario);
    ++answered;
  }
  EXPECT_GT(answered, kScenarios / 2);
}

TEST(IdentityTest, AnEmptyPrefixIsNoPrefixCache) {
  RandomScenarios source(31);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario plain = source.Next();
    if (plain.workload.kv_cache_mode != KvCacheMode::kCached) continue;
    plain.workload.cached_prefix_tokens = 0;
    plain.workload.prefix_load.reset();
    Scenario cached = plain;
    cached.workload.kv_cache_mode = KvCacheMode::kPromptCache;
    if (i % 2 == 0 && !cached.live_load) cached.workload.prefix_load = GigabytesPerSecond(1);
    ASSERT_NO_FATAL_FAILURE(ExpectSame(plain, cached));
  }
}

TEST(IdentityTest, OneChunkIsNoChunking) {
  RandomScenarios source(32);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario plain = source.Next();
    if (plain.live_load) continue;  // its chunk holds several prompts
    plain.deployment.prefill_chunk_tokens.reset();
    Scenario chunked = plain;
    const int fresh = plain.workload.prompt_tokens - plain.workload.cached_prefix_tokens;
    chunked.deployment.prefill_chunk_tokens = fresh + source.Pick(2) * source.Pick(10000);
    if (IsContinuous(plain))
      chunked.deployment.prefill_chunk_tokens = kStepTokens;  // what is taken where none is stated
    ASSERT_NO_FATAL_FAILURE(ExpectSame(plain, chunked));
  }
}

// Replicas that do not share experts serve as many times the requests in the same time.
TEST(IdentityTest, DataParallelMultipliesThroughputOnly) {
  RandomScenarios source(33);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario one = source.Next();
    if (one.live_load) continue;  // that of one replica
    one.deployment.data_parallel = one.deployment.expert_parallel = 1;
    Scenario many = one;
    const int replicas = 2 + source.Pick(7);
    many.deployment.data_parallel = replicas;
    many.workload.batch_size *= replicas;
    if (many.workload.request_rate_per_second) *many.workload.request_rate_per_second *= replicas;
    const absl::StatusOr<Estimate> a = ComputeEstimate(one);
    const absl::StatusOr<Estimate> b = ComputeEstimate(many);
    ASSERT_EQ(a.ok(), b.ok()) << Describe(one) << a.status() << b.status();
    if (!a.ok()) continue;
    // The balance of an open loop is found to 1e-7; a rate times and over the replicas is off by rounding.
    const double slack = 1e-6;
    ASSERT_NEAR(b->ttft.time / a->ttft.time, 1, slack) << Describe(one);
    ASSERT_NEAR(b->tpot.time / a->tpot.time, 1, slack) << Describe(one);
    const Throughput& t = a->throughput;
    ASSERT_NEAR(b->throughput.output_tokens_per_second / (replicas * t.output_tokens_per_second), 1, slack);
    ASSERT_NEAR(b->throughput.requests_per_second / (replicas * t.requests_per_second), 1, slack);
    ASSERT_NEAR(b->throughput.output_tokens_per_second_per_device / t.output_tokens_per_second_per_device, 1, slack);
  }
}

// Time of the operators that every layer has.
double LayerPart(const std::vector<OperatorEstimate>& operators) {
  double seconds = 0;
  for (const OperatorEstimate& op : operators) {
    const bool once = op.name == "embedding" || op.name == "lm_head" || op.name == "logits_gather" ||
                      op.name == "stage_transfer" || op.name == "host";
    if (!once) seconds += op.parts.Total().value();
  }
  return seconds;
}

TEST(IdentityTest, TwiceTheLayersTakeTwiceTheTime) {
  RandomScenarios source(34);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    Model once = *scenario.model;
    if (once.mixture_of_experts) once.mixture_of_experts->moe_layer_freq = 1;
    Model twice = once;
    twice.num_hidden_layers *= 2;
    if (twice.sliding_window) twice.sliding_window->num_full_attention_layers *= 2;
    if (twice.mixture_of_experts) twice.mixture_of_experts->first_k_dense_replace *= 2;
    if (scenario.workload.batching != BatchingPolicy::kStatic || scenario.live_load) continue;
    scenario.model = &once;
    const absl::StatusOr<Estimate> a = ComputeEstimate(scenario, {.operators = true});
    scenario.model = &twice;
    const absl::StatusOr<Estimate> b = ComputeEstimate(scenario, {.operators = true});
    ASSERT_TRUE(a.ok() && b.ok()) << Describe(scenario);
    ASSERT_NEAR(LayerPart(b->prefill_operators), 2 * LayerPart(a->prefill_operators),
                1e-9 * LayerPart(b->prefill_operators))
        << Describe(scenario);
    ASSERT_NEAR(LayerPart(b->decode_operators), 2 * LayerPart(a->decode_operators),
                1e-9 * LayerPart(b->decode_operators))
        << Describe(scenario);
  }
}

}  // namespace
}  // namespace foretoken

// Models whose layers differ in more than their window (mixed_models.h) against the slow oracle: recurrence, blocks of
// one kind each, sparse and compressed attention, attention of two shapes, shared keys, per-layer inputs and several
// residual streams. The catalog's and random ones.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/status/statusor.h"
#include "estimator/methods/estimator.h"
#include "estimator/scenario/memory.h"
#include "tests/estimator/mixed_models.h"
#include "tests/estimator/slow_oracle.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 600;

Scenario NextSmall(RandomScenarios& source) {
  Scenario s = source.NextBatch();
  const auto too_long = [&s] { return s.workload.output_tokens > 1000 || s.workload.prompt_tokens > 8000; };
  while (s.workload.kv_cache_mode != KvCacheMode::kCached || too_long()) s = source.NextBatch();
  return s;
}

// Sums of more chunks than are taken one by one.
bool IsSampled(const Scenario& s) {
  const double chunk = s.deployment.prefill_chunk_tokens.value_or(s.workload.prompt_tokens);
  return (s.workload.prompt_tokens - s.workload.cached_prefix_tokens) / chunk > 32;
}

TEST(MixedLayersTest, DecodeIsTheSlowSum) {
  RandomScenarios source(61, ModelKinds::kMixed);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextSmall(source);
    const double exponent = s.deployment.roofline_exponent;
    const double bound = exponent == 1 || std::isinf(exponent) ? 1e-9 : 1e-3;
    const Spent slow = SlowOracle(s, GenericPrior()).Decode();
    const TimeParts parts = *MustEstimate(s).decode.parts;
    EXPECT_NEAR(parts.compute.value(), slow.compute, bound * slow.Total());
    EXPECT_NEAR(parts.memory.value(), slow.memory, bound * slow.Total());
    EXPECT_NEAR(parts.communication.value(), slow.communication, bound * slow.Total());
    EXPECT_NEAR(parts.host.value(), slow.host, bound * slow.Total());
    ASSERT_FALSE(HasFailure()) << Describe(s);
  }
}

TEST(MixedLayersTest, PrefillIsTheSlowSum) {
  RandomScenarios source(62, ModelKinds::kMixed);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextSmall(source);
    const double slow = SlowOracle(s, GenericPrior()).Prefill().Total();
    ASSERT_NEAR(MustEstimate(s).ttft.time.value(), slow, (IsSampled(s) ? 1e-3 : 1e-9) * slow) << Describe(s);
  }
}

TEST(MixedLayersTest, CacheAndStatesAreCountedTokenByToken) {
  RandomScenarios source(63, ModelKinds::kMixed);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextSmall(source);
    const SlowOracle oracle(s, GenericPrior());
    const double kept = oracle.KvKept() * oracle.batch();
    ASSERT_NEAR(MustEstimate(s).memory->kv_cache.value(), kept, 1e-9 * kept) << Describe(s);
  }
}

TEST(MixedLayersTest, BandwidthIsThatOfTheSlowSum) {
  RandomScenarios source(64, ModelKinds::kMixed);
  for (int i = 0; i < kScenarios / 4; ++i) {
    Scenario s = NextSmall(source);
    if (s.workload.output_tokens < 2 || s.deployment.pipeline_parallel > 1) continue;
    const SlowOracle oracle(s, GenericPrior());
    const Estimate estimate = MustEstimate(s);
    const double slow = oracle.Mbu(oracle.batch(), estimate.decode.time.value());
    ASSERT_NEAR(*estimate.mbu, slow, 1e-3 * slow) << Describe(s);
  }
}

// Every batching policy gives finite times, none below the speed of light.
TEST(MixedLayersTest, NothingIsFasterThanTheSpeedOfLight) {
  RandomScenarios source(65, ModelKinds::kMixed);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario s = source.Next();
    const absl::StatusOr<Estimate> real = ComputeEstimate(s);
    if (!real.ok()) continue;
    s.method = Method::kSpeedOfLight;
    const absl::StatusOr<Estimate> floor = ComputeEstimate(s);
    if (!floor.ok()) continue;
    ASSERT_TRUE(std::isfinite(real->ttft.time.value()) && real->ttft.time.value() > 0) << Describe(s);
    ASSERT_LE(floor->prefill.time.value(), real->prefill.time.value() * (1 + 1e-9)) << Describe(s);
    ASSERT_LE(floor->decode.time.value(), real->decode.time.value() * (1 + 1e-9)) << Describe(s);
  }
}

// A recurrent layer decodes as fast after a million tokens as after ten.
TEST(MixedLayersTest, ARecurrentStateDoesNotGrow) {
  RandomScenarios source(66, ModelKinds::kMixed);
  int seen = 0;
  while (seen < 50) {
    Scenario s = NextSmall(source);
    if (!s.model->linear_attention) continue;
    ++seen;
    const Bytes state = StateBytesPerSequence(*s.model, s.deployment.kv_cache_dtype);
    s.deployment.tensor_parallel = s.deployment.pipeline_parallel = s.deployment.data_parallel = 1;
    s.deployment.expert_parallel = 1;
    s.deployment.expert_load_imbalance = 1;
    s.workload.batch_size = 1;
    const Estimate estimate = MustEstimate(s);
    ASSERT_EQ(estimate.memory->state_per_sequence->value(), state.value()) << Describe(s);
    ASSERT_GE(estimate.memory->kv_cache.value(), state.value() * (1 - 1e-12)) << Describe(s);
  }
}

}  // namespace
}  // namespace foretoken

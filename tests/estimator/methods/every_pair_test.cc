// Every model of the catalog on every device of it, in a static batch and served: finite positive numbers, or a refusal
// that says why and of which field.
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

// Why a sound question about an entry of the catalog may be refused.
bool IsStated(Reason reason) {
  return reason == Reason::kOutOfMemory || reason == Reason::kMissingFigure || reason == Reason::kUnsupportedModel;
}

struct Counts {
  int estimated = 0;
  int refused = 0;
};

void CheckPair(const Model& model, const Hardware& hardware, const Workload& workload, Counts& counts) {
  Scenario scenario{.model = &model, .hardware = &hardware};
  scenario.workload = workload;
  ResolveDtypes(model, scenario.deployment);
  const absl::StatusOr<Estimate> e = ComputeEstimate(scenario);
  if (!e.ok()) {
    ++counts.refused;
    const RefusalDetail detail = DetailOf(e.status());
    ASSERT_TRUE(IsStated(detail.reason)) << e.status();
    ASSERT_EQ(detail.violations.size(), 1u) << e.status();
    ASSERT_FALSE(detail.violations[0].field.empty()) << e.status();
    ASSERT_FALSE(detail.violations[0].description.empty());
    return;
  }
  ++counts.estimated;
  for (const double number :
       {e->ttft.time.value(), e->tpot.time.value(), e->e2e.time.value(), e->throughput.output_tokens_per_second,
        e->throughput.requests_per_second, e->memory->weights.value(), e->memory->kv_cache.value(),
        *e->memory->largest_batch, *e->mbu, *e->mfu}) {
    ASSERT_TRUE(std::isfinite(number) && number > 0) << number;
  }
  // Nobody streams slower than a token an hour, or faster than a million a second.
  ASSERT_GT(e->tpot.time.value(), 1e-6);
  ASSERT_LT(e->tpot.time.value(), 3600);
}

Counts CheckEveryPair(const Workload& workload) {
  Counts counts;
  for (const std::deque<Model>* models : {&Bundled().models, &Bundled().unsupported_models}) {
    for (const Model& model : *models) {
      for (const Hardware& hardware : Bundled().hardware) {
        CheckPair(model, hardware, workload, counts);
        if (testing::Test::HasFatalFailure()) {
          ADD_FAILURE() << model.id << " on " << hardware.id;
          return counts;
        }
      }
    }
  }
  return counts;
}

TEST(EveryPairTest, AStaticBatch) {
  const Counts counts = CheckEveryPair({.batch_size = 4, .prompt_tokens = 512, .output_tokens = 64});
  EXPECT_GT(counts.estimated, 8000);
  EXPECT_GT(counts.refused, 1000);  // 70B on one small device
  EXPECT_GE(counts.estimated + counts.refused, 107 * 211);
}

TEST(EveryPairTest, ServedContinuously) {
  const Counts counts = CheckEveryPair(
      {.batch_size = 4, .prompt_tokens = 512, .output_tokens = 64, .batching = BatchingPolicy::kContinuous});
  EXPECT_GT(counts.estimated, 8000);
  EXPECT_GE(counts.estimated + counts.refused, 107 * 211);
}

}  // namespace
}  // namespace foretoken

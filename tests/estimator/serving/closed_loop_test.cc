// Continuous batching at constant concurrency.
#include "estimator/serving/closed_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

Scenario ClosedLoop(const Model& model, const Hardware& hardware, int concurrency, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, concurrency, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  scenario.method = Method::kOperatorModel;
  return scenario;
}

Estimate By(const Scenario& scenario, const Efficiencies& efficiencies = GenericPrior()) {
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

// Llama-2-7B, 4 in the loop, 100 tokens in, 11 out, half of the others' later prefills met while decoding. In GFLOPs:
//   a token through the layers' matrices   2 x 6,476,005,376 = 12.952010752; through the LM head 0.262144
//   t(4) = 4 x 13.214154752 = 52.856619008, at 100 TFLOP/s 0.52856619008 ms
//   attention of a prompt: 2 x 5,050 pairs x 32 heads x 256 x 32 layers = 2.6476544
//   p1 = 1,295.2010752 + 0.262144 + 2.6476544 = 1,298.1108736, so 12.981108736 ms
//   others = 3 p1 = 38.943326208 ms, of whom 1/4 just before; of the rest 1/2 x 10/11 in steps = 13.276133935 ms,
//   before the first token what is left; the step that runs t(4); riding along with three others 3 x 0.13214154752 =
//   0.39642464256 ms
// TPOT = 0.52856619008 + 1.3276133935 = 1.8561795836 ms.
// TTFT = 12.981108736 + 25.667192273 + 0.52856619008 + 0.39642464256 = 39.573291842 ms.
TEST(ClosedLoopTest, ByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  const Estimate estimate = By(ClosedLoop(model, hardware, 4, 100, 11), {.prefill_share = 0.5});
  EXPECT_NEAR(estimate.tpot.time.value(), 1.8561795836e-3, 1e-12);
  EXPECT_NEAR(estimate.ttft.time.value(), 39.573291842e-3, 1e-11);
  EXPECT_NEAR(estimate.prefill.parts->queueing.value(), (39.573291842 - 12.981108736) * 1e-3, 1e-11);
  EXPECT_NEAR(estimate.decode.parts->queueing.value(), 13.276133935e-3, 1e-11);
  EXPECT_NEAR(estimate.throughput.requests_per_second, 4 / estimate.e2e.time.value(), 1e-9);
}

// 50 of 100 tokens are loaded, 50 x 524,288 bytes a request at 26,214,400 bytes/s: 1 s each. However few share a step,
// the link serves four in no less than 4 s; alone, a request takes its second and the time without a load.
TEST(ClosedLoopTest, ACycleLoadsThePrefixesOfAll) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  for (const int output : {1, 2, 11, 100}) {
    Scenario scenario = ClosedLoop(model, hardware, 4, 100, output);
    scenario.workload.cached_prefix_tokens = 50;
    scenario.workload.prefix_load = BytesPerSecond(26'214'400);
    EXPECT_NEAR(By(scenario, {.prefill_share = 0.5}).e2e.time.value(), 4, 1e-9) << output;
    scenario.workload.batch_size = 1;
    const double loaded = By(scenario, {}).e2e.time.value();
    scenario.workload.prefix_load.reset();
    EXPECT_NEAR(loaded, 1 + By(scenario, {}).e2e.time.value(), 1e-9) << output;
  }
}

// Alone in the loop nobody is waited for.
TEST(ClosedLoopTest, OneRequestIsAStaticBatchOfOne) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  for (const int output : {1, 2, 300}) {
    Scenario scenario = ClosedLoop(model, hardware, 1, 3000, output);
    scenario.deployment.tensor_parallel = 4;
    scenario.deployment.pipeline_parallel = 2;
    scenario.deployment.prefill_chunk_tokens = 512;
    const Estimate loop = By(scenario, FedTokens());
    scenario.workload.batching = BatchingPolicy::kStatic;
    const Estimate batch = By(scenario, FedTokens());
    EXPECT_DOUBLE_EQ(loop.ttft.time.value(), batch.ttft.time.value());
    EXPECT_DOUBLE_EQ(loop.tpot.time.value(), batch.tpot.time.value());
    EXPECT_DOUBLE_EQ(loop.e2e.time.value(), batch.e2e.time.value());
    EXPECT_DOUBLE_EQ(loop.prefill.parts->queueing.value(), batch.prefill.parts->queueing.value());
    EXPECT_DOUBLE_EQ(*loop.mfu, *batch.mfu);
  }
}

// Prompts that ask for one token leave only prefills: 8 in the loop, each waits for the 7 before it, and the device
// serves one request per p1.
TEST(ClosedLoopTest, OneOutputTokenIsAQueueOfPrefills) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  const Estimate estimate = By(ClosedLoop(model, hardware, 8, 100, 1), {.prefill_share = 0.5});
  EXPECT_NEAR(estimate.e2e.time.value(), 8 * 12.981108736e-3, 1e-11);
  EXPECT_NEAR(estimate.throughput.requests_per_second, 1 / 12.981108736e-3, 1e-6);
  EXPECT_TRUE(estimate.tpot_is_next_step);
}

// Whatever the share, the work of a cycle is the same: each request is prefilled once while another is there.
TEST(ClosedLoopTest, TheShareMovesWaitingBetweenThePhases) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = ClosedLoop(model, hardware, 32, 2000, 200);
  scenario.deployment.tensor_parallel = 4;
  Efficiencies bursts = GenericPrior();
  Efficiencies staggered = GenericPrior();
  bursts.prefill_share = 0;
  staggered.prefill_share = 1;
  EXPECT_GT(By(scenario, bursts).ttft.time, By(scenario, staggered).ttft.time);
  EXPECT_LT(By(scenario, bursts).tpot.time, By(scenario, staggered).tpot.time);
  EXPECT_NEAR(By(scenario, bursts).e2e.time.value(), By(scenario, staggered).e2e.time.value(), 1e-9);
}

// Every prefill holds a stage for a part of its time only, and data-parallel replicas share the requests. Of 8 others
// 9/22 pass the other stage beside the request's own prompt.
TEST(ClosedLoopTest, StagesAndReplicasShareTheWaiting) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  const Efficiencies even = {.prefill_share = 0.5};
  const Seconds wait = By(ClosedLoop(model, hardware, 9, 100, 11), even).decode.parts->queueing;
  Scenario scenario = ClosedLoop(model, hardware, 9, 100, 11);
  scenario.deployment.pipeline_parallel = 2;
  const double others = 8 - 9.0 / 22;
  EXPECT_NEAR(By(scenario, even).decode.parts->queueing.value(),
              wait.value() / 2 * (others * others / (others + 1)) / (8.0 * 8 / 9), 1e-9);
  scenario = ClosedLoop(model, hardware, 18, 100, 11);
  scenario.deployment.data_parallel = 2;
  EXPECT_NEAR(By(scenario, even).decode.parts->queueing.value(), wait.value(), 1e-12);
}

// Beyond what memory holds requests wait, the rate stays, and the wait follows from Little's law: three times as many
// in the loop take three times as long.
TEST(ClosedLoopTest, WhatDoesNotFitWaitsInTheQueue) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Estimate full = By(ClosedLoop(model, hardware, 1, 1024, 128));
  // Halfway a sequence holds 1,088 of its 1,152 tokens.
  const int fits = static_cast<int>(std::floor(*full.memory->largest_batch * 1152 / 1088));
  const Estimate most = By(ClosedLoop(model, hardware, fits, 1024, 128));
  const Estimate queued = By(ClosedLoop(model, hardware, 3 * fits, 1024, 128));
  EXPECT_NEAR(queued.throughput.requests_per_second, most.throughput.requests_per_second, 1e-9);
  EXPECT_NEAR(queued.e2e.time.value(), 3 * most.e2e.time.value(), 1e-9);
  EXPECT_EQ(queued.tpot.time, most.tpot.time);
  EXPECT_EQ(queued.memory->kv_cache, most.memory->kv_cache);
  ASSERT_EQ(queued.warnings.size(), 2u);
  EXPECT_THAT(queued.warnings[0].message, HasSubstr("the others wait in the queue"));
  ASSERT_EQ(most.warnings.size(), 1u);
  EXPECT_THAT(most.warnings[0].message, HasSubstr("the engine preempts at times"));
  EXPECT_TRUE(
      By(ClosedLoop(model, hardware, static_cast<int>(*full.memory->largest_batch), 1024, 128)).warnings.empty());
}

TEST(ClosedLoopTest, RefusesWhereNotOneFits) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(8);
  const absl::Status status = ComputeEstimate(ClosedLoop(model, hardware, 4, 1024, 128)).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kOutOfMemory) << status;
}

// More in the loop: everyone slower, the deployment not.
TEST(ClosedLoopTest, ConcurrencySlowsEachAndServesMore) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  Estimate before;
  for (const int concurrency : {1, 2, 3, 5, 8, 16, 64, 256, 1000}) {
    Scenario scenario = ClosedLoop(model, hardware, concurrency, 700, 150);
    scenario.deployment.tensor_parallel = 4;
    scenario.deployment.prefill_chunk_tokens = 256;
    const Estimate estimate = By(scenario);
    EXPECT_GT(estimate.ttft.time, before.ttft.time) << concurrency;
    EXPECT_GE(estimate.tpot.time, before.tpot.time) << concurrency;
    EXPECT_GE(estimate.throughput.requests_per_second, before.throughput.requests_per_second * (1 - 1e-9));
    before = estimate;
  }
}

TEST(ClosedLoopTest, TheFloorWaitsForNobody) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = ClosedLoop(model, hardware, 16, 1024, 128);
  scenario.method = Method::kSpeedOfLight;
  const Estimate floor = *ComputeEstimate(scenario);
  EXPECT_EQ(floor.prefill.parts->queueing.value() + floor.decode.parts->queueing.value(), 0);
  EXPECT_LT(floor.ttft.time, By(scenario).ttft.time);
}

}  // namespace
}  // namespace foretoken

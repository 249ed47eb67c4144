// Continuous batching of requests that arrive at a rate.
#include "estimator/serving/open_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "estimator/base/errors.h"
#include "estimator/methods/operator_model.h"
#include "tests/estimator/fixtures.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

Scenario OpenLoop(const Model& model, const Hardware& hardware, double rate, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, 1, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  scenario.workload.request_rate_per_second = rate;
  return scenario;
}

absl::StatusOr<Estimate> Ask(const Scenario& scenario, const Efficiencies& efficiencies = GenericPrior()) {
  return EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
}

Estimate By(const Scenario& scenario, const Efficiencies& efficiencies = GenericPrior()) {
  const absl::StatusOr<Estimate> estimate = Ask(scenario, efficiencies);
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

// Prefill-only requests are an M/D/1 queue. Llama-2-7B on 100 TFLOP/s where only arithmetic takes time, 100 tokens:
// X = 12.981108736 ms (ClosedLoopTest.ByHand). At 50 a second lambda X = 0.6490554368, so the wait is
// X 0.6490554368 / (2 x 0.3509445632) = 12.003975 ms.
TEST(OpenLoopTest, PrefillsAloneAreAQueueWithConstantService) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = OpenLoop(model, hardware, 50, 100, 1);
  scenario.deployment.prefill_chunk_tokens = 100;  // one prompt a step
  const Estimate estimate = By(scenario, {});
  EXPECT_NEAR(estimate.prefill.parts->queueing.value(), 12.003975e-3, 1e-8);
  EXPECT_NEAR(estimate.ttft.time.value(), 12.981108736e-3 + 12.003975e-3, 1e-8);
  EXPECT_EQ(estimate.throughput.requests_per_second, 50);
  // 1 / X = 77.035 a second.
  scenario.workload.request_rate_per_second = 77.1;
  const absl::Status status = Ask(scenario, {}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kUnstableLoad);
  EXPECT_THAT(std::string(status.message()), HasSubstr("request_rate_per_second 77.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("below 77.035"));
}

// 50 of 100 tokens are loaded, 26,214,400 bytes a request at ten times as many a second: 0.1 s each, and at 5 a second
// half of the link's time, so that a request waits 0.1 x 0.5 / (2 x 0.5) s for it. At 10 a second the link is full.
TEST(OpenLoopTest, PrefixesAreLoadedOneAfterTheOther) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = OpenLoop(model, hardware, 5, 100, 11);
  scenario.workload.cached_prefix_tokens = 50;
  const double resident = By(scenario, {}).ttft.time.value();
  scenario.workload.prefix_load = BytesPerSecond(262'144'000);
  EXPECT_NEAR(By(scenario, {}).ttft.time.value(), resident + 0.1 + 0.05, 1e-6);
  scenario.workload.request_rate_per_second = 10.1;
  const absl::Status status = Ask(scenario, {}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kUnstableLoad);
  EXPECT_THAT(std::string(status.message()), HasSubstr("loading prefixes per replica serves below 10"));
}

// Where steps are a line A + G B, the balance is B = lambda (O - 1) A / (1 - rho), rho = lambda (X + (O - 1) G).
// Here only the host's 10 ms a step and arithmetic take time, in sum (s = 1): a row costs G = 0.13214154752 ms.
TEST(OpenLoopTest, SolvesTheBalanceOfALine) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = OpenLoop(model, hardware, 20, 100, 101);
  scenario.deployment.roofline_exponent = 1;
  scenario.deployment.prefill_chunk_tokens = 100;  // one prompt a step
  const Estimate estimate = By(scenario, {.host_step = Seconds(10e-3)});
  // A of a sequence that decodes holds its own row: A = 10.13214154752 ms. rho = 20 (12.981108736 + 13.214154752) ms
  // = 0.52390526976, B = 20 x 100 x 10.13214154752 ms / (1 - rho) = 42.56355, t = A + G B = 15.75656 ms, and
  // t / (1 - 0.25962217472) = 21.28178 ms.
  // Residual (1 - exp(-B)) t / 2, riding G B = 5.62441 ms. A step that holds a prompt takes M = 10 + 12.981108736 +
  // 5.62441 ms, so the wait is M 0.5721104 / (2 x 0.4278896), with the residual 27.00182 ms.
  // A mean step is t / (1 - 20 (M - t)) = 21.20626 ms. Of those behind the request 20 (M - 21.20626 ms + 27.00182 ms x
  // 0.4278896) / (1 - 20 (M - t)) = 0.51017 more than on average come into its decode steps, M - t = 12.84896 ms each.
  EXPECT_NEAR(estimate.tpot.time.value(), 21.28178e-3 + 0.51017 * 12.84896e-5, 1e-7);
  const double own = 10e-3 + 12.981108736e-3;
  EXPECT_NEAR(estimate.ttft.time.value(), own + 15.75656e-3 / 2 + 5.62441e-3 + 19.12354e-3, 1e-7);
}

TEST(OpenLoopTest, ARareRequestMeetsAStaticBatchOfOne) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = OpenLoop(model, hardware, 1e-9, 2000, 100);
  scenario.deployment.tensor_parallel = 4;
  scenario.deployment.pipeline_parallel = 2;
  const Estimate rare = By(scenario, FedTokens());
  scenario.workload.request_rate_per_second.reset();
  scenario.workload.batching = BatchingPolicy::kStatic;
  const Estimate batch = By(scenario, FedTokens());
  EXPECT_NEAR(rare.ttft.time.value(), batch.ttft.time.value(), 1e-6 * batch.ttft.time.value());
  EXPECT_NEAR(rare.tpot.time.value(), batch.tpot.time.value(), 1e-6 * batch.tpot.time.value());
}

TEST(OpenLoopTest, RateSlowsEveryRequestUpToTheStableOne) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Estimate before;
  double rate = 0.1;
  for (; Ask(OpenLoop(model, hardware, rate, 1000, 200)).ok(); rate *= 1.2) {
    const Estimate estimate = By(OpenLoop(model, hardware, rate, 1000, 200));
    EXPECT_GE(estimate.ttft.time, before.ttft.time) << rate;
    EXPECT_GE(estimate.tpot.time, before.tpot.time) << rate;
    before = estimate;
  }
  EXPECT_GT(rate, 1);
  // Two replicas serve what one does twice; an engine that runs fewer at once serves less.
  Scenario scenario = OpenLoop(model, hardware, rate, 1000, 200);
  scenario.deployment.data_parallel = 2;
  EXPECT_TRUE(Ask(scenario).ok());
  scenario.live_load = LiveLoad{.max_num_seqs = 4};
  EXPECT_EQ(DetailOf(Ask(scenario).status()).reason, Reason::kUnstableLoad);
}

// Just below the highest rate waits are long, and never negative.
TEST(OpenLoopTest, WaitsArePositiveUpToTheHighestRate) {
  const Hardware hardware = A100();
  for (const Model& model : Bundled().models) {
    for (const auto& [prompt, output, chunk] : {std::tuple{1, 5000, 1}, {16, 256, 8192}, {3000, 2, 1000}}) {
      Scenario scenario = OpenLoop(model, hardware, 1, prompt, output);
      scenario.deployment.tensor_parallel = 8;
      scenario.deployment.prefill_chunk_tokens = chunk;
      double served = 0;
      Estimate estimate;
      for (double more = 1e6; more > 1e-7 * served && more > 1e-9; more /= 2) {
        scenario.workload.request_rate_per_second = served + more;
        const absl::StatusOr<Estimate> answer = Ask(scenario);
        if (!answer.ok()) continue;
        served += more;
        estimate = *answer;
      }
      if (served == 0) continue;
      EXPECT_GT(estimate.prefill.parts->queueing.value(), 0) << model.id << " " << prompt;
    }
  }
}

// A prompt of 1,000 tokens takes 63.7 ms alone, so that 16 of them do not pass in a second one by one, however many
// decode beside them and share their steps.
TEST(OpenLoopTest, PromptsPassOneByOneWhereAChunkHoldsOne) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(1e6);
  for (const int output_tokens : {1, 2, 4, 20, 100}) {
    Scenario scenario = OpenLoop(model, hardware, 16, 1000, output_tokens);
    scenario.deployment.prefill_chunk_tokens = 1999;
    EXPECT_EQ(DetailOf(Ask(scenario).status()).reason, Reason::kUnstableLoad) << output_tokens;
  }
}

// Prompts of 32 tokens cost little beside the weights: a step takes as many as come, not one.
TEST(OpenLoopTest, ShortPromptsShareSteps) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = OpenLoop(model, hardware, 200, 32, 8);
  EXPECT_TRUE(Ask(scenario).ok());
  scenario.deployment.prefill_chunk_tokens = 32;
  EXPECT_EQ(DetailOf(Ask(scenario).status()).reason, Reason::kUnstableLoad);
}

}  // namespace
}  // namespace foretoken

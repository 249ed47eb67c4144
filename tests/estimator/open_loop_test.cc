// Continuous batching of requests that arrive at a rate.
#include "estimator/open_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "estimator/errors.h"
#include "estimator/operator_model.h"
#include "tests/estimator/fixtures.h"

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
  const Estimate estimate = By(OpenLoop(model, hardware, 50, 100, 1), {});
  EXPECT_NEAR(estimate.prefill.parts->queueing.value(), 12.003975e-3, 1e-8);
  EXPECT_NEAR(estimate.ttft.time.value(), 12.981108736e-3 + 12.003975e-3, 1e-8);
  EXPECT_EQ(estimate.throughput.requests_per_second, 50);
  // 1 / X = 77.035 a second.
  const absl::Status status = Ask(OpenLoop(model, hardware, 77.1, 100, 1), {}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kUnstableLoad);
  EXPECT_THAT(std::string(status.message()), HasSubstr("request_rate_per_second 77.1"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("below 77.035"));
}

// Where steps are a line A + G B, the balance is B = lambda (O - 1) A / (1 - rho), rho = lambda (X + (O - 1) G).
// Here only the host's 10 ms a step and arithmetic take time, in sum (s = 1): a row costs G = 0.13214154752 ms.
TEST(OpenLoopTest, SolvesTheBalanceOfALine) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = OpenLoop(model, hardware, 20, 100, 101);
  scenario.deployment.roofline_exponent = 1;
  const Estimate estimate = By(scenario, {.host_step = Seconds(10e-3)});
  // A of a sequence that decodes holds its own row: A = 10.13214154752 ms. rho = 20 (12.981108736 + 13.214154752) ms
  // = 0.52390526976, B = 20 x 100 x 10.13214154752 ms / (1 - rho) = 42.56355, t = A + G B = 15.75656 ms, and
  // TPOT = t / (1 - 0.25962217472) = 21.28178 ms.
  EXPECT_NEAR(estimate.tpot.time.value(), 21.28178e-3, 1e-7);
  // Residual (1 - exp(-B)) t / 2, riding G B = 5.62441 ms. A step that holds a prompt takes M = 10 + 12.981108736 +
  // 5.62441 ms, so the wait is M 0.5721104 / (2 x 0.4278896).
  const double own = 10e-3 + 12.981108736e-3;
  EXPECT_NEAR(estimate.ttft.time.value(), own + 15.75656e-3 / 2 + 5.62441e-3 + 19.12354e-3, 1e-7);
}

TEST(OpenLoopTest, ARareRequestMeetsAStaticBatchOfOne) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = OpenLoop(model, hardware, 1e-9, 2000, 100);
  scenario.deployment.tensor_parallel = 4;
  scenario.deployment.pipeline_parallel = 2;
  const Estimate rare = By(scenario);
  scenario.workload.request_rate_per_second.reset();
  scenario.workload.batching = BatchingPolicy::kStatic;
  const Estimate batch = By(scenario);
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

// The slow oracle: an engine that runs step by step. Each step decodes everyone and prefills the oldest prompt.
struct Simulated {
  double ttft = 0, tpot = 0;
};

Simulated Simulate(const Scenario& scenario, const StepModel& model, int requests) {
  const Workload& w = scenario.workload;
  std::mt19937 random(7);
  std::exponential_distribution<double> gap(*w.request_rate_per_second);
  std::deque<double> waiting;       // arrival times
  std::vector<double> first_times;  // of the running
  std::vector<int> made;
  double now = 0, next = gap(random);
  Simulated sum;
  for (int done = 0; done < requests;) {
    if (waiting.empty() && made.empty()) now = std::max(now, next);
    for (; next <= now; next += gap(random)) waiting.push_back(next);
    const double decoding = static_cast<double>(made.size());
    StepShape step{.decode_sequences = decoding, .logits_rows = decoding};
    for (const int tokens : made) step.decode_context += (w.prompt_tokens + tokens) / decoding;
    if (!waiting.empty()) {
      step.prefill_sequences = 1;
      step.prefill_tokens = w.prompt_tokens;
      step.logits_rows += 1;
    }
    now += StepTime(model, step).Total().value();
    for (size_t i = made.size(); i-- > 0;) {
      if (++made[i] < w.output_tokens) continue;
      sum.tpot += (now - first_times[i]) / (w.output_tokens - 1) / requests;
      made.erase(made.begin() + static_cast<long>(i));
      first_times.erase(first_times.begin() + static_cast<long>(i));
      ++done;
    }
    if (step.prefill_sequences > 0) {
      sum.ttft += (now - waiting.front()) / requests;
      waiting.pop_front();
      made.push_back(1);
      first_times.push_back(now);
    }
  }
  return sum;
}

TEST(OpenLoopTest, AgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = Seconds(0);  // not of the engine's steps
  std::vector<Warning> warnings;
  struct Case {
    int output_tokens;
    double rate, ttft_bound, tpot_bound;
  };
  // With few output tokens a request decodes while the queue that it came with is prefilled; the mean knows no such
  // runs.
  const Case cases[] = {{100, 0.2, 0.02, 0.01}, {100, 1, 0.02, 0.02}, {100, 3, 0.02, 0.03},
                        {100, 5, 0.02, 0.05},   {400, 3, 0.02, 0.03}, {20, 5, 0.02, 0.15},
                        {20, 8, 0.02, 0.2},     {4, 5, 0.02, 0.4},    {4, 10, 0.02, 0.45}};
  for (const auto& [output_tokens, rate, ttft_bound, tpot_bound] : cases) {
    const Scenario scenario = OpenLoop(model, hardware, rate, 1000, output_tokens);
    const Estimate estimate = By(scenario, efficiencies);
    const Simulated slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies, &warnings), 10000);
    EXPECT_NEAR(estimate.tpot.time.value() / slow.tpot, 1, tpot_bound) << rate << " " << output_tokens;
    EXPECT_NEAR(estimate.ttft.time.value() / slow.ttft, 1, ttft_bound) << rate << " " << output_tokens;
  }
}

// A prompt of 1,000 tokens takes 63.7 ms alone, so that 16 of them do not pass in a second, however many decode beside
// them and share their steps.
TEST(OpenLoopTest, PromptsPassOneByOne) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(1e6);
  for (const int output_tokens : {1, 2, 4, 20, 100}) {
    EXPECT_EQ(DetailOf(Ask(OpenLoop(model, hardware, 16, 1000, output_tokens)).status()).reason, Reason::kUnstableLoad)
        << output_tokens;
  }
}

}  // namespace
}  // namespace foretoken

// Continuous batching of requests that arrive at a rate.
#include "estimator/open_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "estimator/errors.h"
#include "estimator/operator_model.h"
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

// The slow oracle: an engine that runs step by step. Each step decodes everyone and prefills the oldest prompts that
// fit.
struct Simulated {
  double ttft = 0, tpot = 0;
};

Simulated Simulate(const Scenario& scenario, const StepModel& model, int requests) {
  const Workload& w = scenario.workload;
  std::mt19937 random(7);
  std::exponential_distribution<double> gap(*w.request_rate_per_second);
  const auto fit = static_cast<size_t>(scenario.deployment.prefill_chunk_tokens.value_or(8192) / w.prompt_tokens);
  const size_t seats = scenario.live_load ? static_cast<size_t>(*scenario.live_load->max_num_seqs) : 1000;
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
    const size_t prompts = std::min({fit, waiting.size(), seats - made.size()});
    if (prompts > 0) {
      step.prefill_sequences = static_cast<double>(prompts);
      step.prefill_tokens = w.prompt_tokens;
      step.logits_rows += static_cast<double>(prompts);
    }
    now += StepTime(model, step).Total().value();
    for (size_t i = made.size(); i-- > 0;) {
      if (++made[i] < w.output_tokens) continue;
      sum.tpot += (now - first_times[i]) / (w.output_tokens - 1) / requests;
      made.erase(made.begin() + static_cast<long>(i));
      first_times.erase(first_times.begin() + static_cast<long>(i));
      ++done;
    }
    for (size_t i = 0; i < prompts; ++i) {
      sum.ttft += (now - waiting.front()) / requests;
      waiting.pop_front();
      if (w.output_tokens == 1) {
        ++done;
        continue;
      }
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
    int prompt_tokens, chunk, output_tokens;
    double rate, ttft_bound, tpot_bound;
  };
  // The means know no bursts: prompts that come together and then decode together, near the stable rate.
  const Case cases[] = {
      {1000, 1000, 100, 0.2, 0.02, 0.01}, {1000, 1000, 100, 3, 0.02, 0.03}, {1000, 1000, 100, 6, 0.02, 0.04},
      {1000, 1000, 20, 5, 0.02, 0.03},    {1000, 1000, 20, 8, 0.02, 0.07},  {1000, 1000, 4, 5, 0.02, 0.02},
      {1000, 1000, 4, 10, 0.02, 0.22},    {1000, 8000, 100, 3, 0.02, 0.03}, {1000, 8000, 100, 6, 0.03, 0.05},
      {1000, 8000, 20, 7, 0.04, 0.06},    {1000, 8000, 20, 10, 0.1, 0.14},  {1000, 8000, 4, 8, 0.08, 0.04},
      {1000, 8000, 1, 8, 0.09, 0},        {3000, 6000, 20, 2, 0.05, 0.08},  {100, 8000, 100, 25, 0.02, 0.01},
      {100, 8000, 100, 45, 0.03, 0.02},   {100, 8000, 20, 60, 0.03, 0.03},  {100, 8000, 20, 100, 0.07, 0.1},
      {100, 8000, 4, 80, 0.03, 0.05},     {100, 8000, 1, 80, 0.05, 0},      {16, 8000, 16, 350, 0.02, 0.02},
  };
  for (const auto& [prompt_tokens, chunk, output_tokens, rate, ttft_bound, tpot_bound] : cases) {
    Scenario scenario = OpenLoop(model, hardware, rate, prompt_tokens, output_tokens);
    scenario.deployment.prefill_chunk_tokens = chunk;
    SCOPED_TRACE(testing::Message() << prompt_tokens << " in, " << output_tokens << " out, chunk " << chunk << ", "
                                    << rate << "/s");
    const Estimate estimate = By(scenario, efficiencies);
    const Simulated slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies, &warnings), 10000);
    EXPECT_NEAR(estimate.ttft.time.value() / slow.ttft, 1, ttft_bound);
    if (output_tokens == 1) continue;
    EXPECT_NEAR(estimate.tpot.time.value() / slow.tpot, 1, tpot_bound);
  }
}

TEST(OpenLoopTest, WaitsForASeatAsAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = Seconds(0);
  std::vector<Warning> warnings;
  struct Case {
    int seats;
    double rate, ttft_bound;
  };
  const Case cases[] = {{1, 0.22, 0.04}, {1, 0.4, 0.08},  {2, 0.44, 0.07}, {2, 0.8, 0.08},  {4, 0.86, 0.1},
                        {4, 1.55, 0.07}, {16, 1.2, 0.02}, {16, 3, 0.09},   {16, 4.75, 0.2}, {16, 5.3, 0.12}};
  for (const auto& [seats, rate, ttft_bound] : cases) {
    Scenario scenario = OpenLoop(model, hardware, rate, 200, 200);
    scenario.live_load = LiveLoad{.max_num_seqs = seats};
    const Estimate estimate = By(scenario, efficiencies);
    const Simulated slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies, &warnings), 10000);
    EXPECT_NEAR(estimate.ttft.time.value() / slow.ttft, 1, ttft_bound) << seats << " seats, " << rate << "/s";
    EXPECT_NEAR(estimate.tpot.time.value() / slow.tpot, 1, 0.02) << seats << " seats, " << rate << "/s";
  }
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

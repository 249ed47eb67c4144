// Requests that arrive at a rate, against an engine that runs step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// The slow oracle. Each step decodes everyone and prefills the oldest prompts that
// fit.
struct Simulated {
  double ttft = 0, tpot = 0;
};

Simulated Simulate(const Scenario& scenario, const StepModel& model, int requests) {
  const Workload& w = scenario.workload;
  std::mt19937 random(7);
  std::exponential_distribution<double> gap(*w.request_rate_per_second);
  const auto fit = static_cast<size_t>(scenario.deployment.prefill_chunk_tokens.value_or(8192) / w.prompt_tokens);
  const size_t slots = scenario.live_load ? static_cast<size_t>(*scenario.live_load->max_num_seqs) : 1000;
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
    const size_t prompts = std::min({fit, waiting.size(), slots - made.size()});
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

struct Ratios {
  double ttft = 0, tpot = 0;
};

// Estimated over simulated, of 10,000 requests. Admission is not of the engine's steps: neither counts it.
Ratios Compare(Scenario scenario, double rate) {
  scenario.workload.batching = BatchingPolicy::kContinuous;
  scenario.workload.request_rate_per_second = rate;
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  if (!estimate.ok()) return {};
  std::vector<Warning> warnings;
  const Simulated slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies, &warnings), 10000);
  return {estimate->ttft.time.value() / slow.ttft, estimate->tpot.time.value() / slow.tpot};
}

TEST(OpenLoopOracleTest, AgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
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
      {100, 8000, 4, 80, 0.03, 0.05},     {100, 8000, 1, 80, 0.05, 0},      {16, 8000, 16, 350, 0.03, 0.02},
  };
  for (const auto& [prompt_tokens, chunk, output_tokens, rate, ttft_bound, tpot_bound] : cases) {
    Scenario scenario = MakeScenario(model, hardware, 1, prompt_tokens, output_tokens);
    scenario.deployment.prefill_chunk_tokens = chunk;
    SCOPED_TRACE(testing::Message() << prompt_tokens << " in, " << output_tokens << " out, chunk " << chunk << ", "
                                    << rate << "/s");
    const Ratios ratios = Compare(scenario, rate);
    EXPECT_NEAR(ratios.ttft, 1, ttft_bound);
    if (output_tokens > 1) {
      EXPECT_NEAR(ratios.tpot, 1, tpot_bound);
    }
  }
}

TEST(OpenLoopOracleTest, WaitsForASeatAsAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  struct Case {
    int slots;
    double rate, ttft_bound;
  };
  const Case cases[] = {{1, 0.22, 0.04}, {1, 0.4, 0.08},  {2, 0.44, 0.07}, {2, 0.8, 0.08},  {4, 0.86, 0.1},
                        {4, 1.55, 0.07}, {16, 1.2, 0.02}, {16, 3, 0.09},   {16, 4.75, 0.2}, {16, 5.3, 0.12}};
  for (const auto& [slots, rate, ttft_bound] : cases) {
    Scenario scenario = MakeScenario(model, hardware, 1, 200, 200);
    scenario.live_load = LiveLoad{.max_num_seqs = slots};
    const Ratios ratios = Compare(scenario, rate);
    EXPECT_NEAR(ratios.ttft, 1, ttft_bound) << slots << " slots, " << rate << "/s";
    EXPECT_NEAR(ratios.tpot, 1, 0.02) << slots << " slots, " << rate << "/s";
  }
}

}  // namespace
}  // namespace foretoken

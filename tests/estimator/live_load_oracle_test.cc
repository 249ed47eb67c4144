// The next request at a busy replica, against an engine that runs step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "estimator/operator_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// The slow oracle: the engine step by step. Prompts are cut to what the budget leaves, first come first.
struct Token {
  double first = 0, last = 0;
};

Token Simulate(const Scenario& scenario, const StepModel& model) {
  const Workload& w = scenario.workload;
  const LiveLoad& load = *scenario.live_load;
  struct Sequence {
    double prompt, done, made, left;
  };
  std::vector<Sequence> all;
  for (int i = 0; i < *load.running_sequences; ++i) {
    all.push_back({*load.running_context_tokens, *load.running_context_tokens, 0, *load.remaining_output_tokens});
  }
  for (int i = 0; i <= *load.waiting_requests; ++i) {
    all.push_back({1.0 * w.prompt_tokens, 0, 0, 1.0 * w.output_tokens});
  }
  Token token;
  double now = 0;
  while (all.back().left > 0) {
    StepShape step;
    for (const Sequence& s : all) step.decode_sequences += s.done >= s.prompt && s.left > 0;
    double room = *load.max_num_batched_tokens - step.decode_sequences;
    for (Sequence& s : all) {
      if (s.left <= 0) continue;
      if (s.done >= s.prompt) {
        step.decode_context += (s.prompt + ++s.made) / step.decode_sequences;
        --s.left;
        continue;
      }
      if (step.prefill_sequences > 0) continue;  // one prompt a step
      const double chunk = std::min(room, s.prompt - s.done);
      step.prefill_sequences = 1;
      step.prefill_tokens = chunk;
      step.prefill_prior = s.done;
      s.done += chunk;
      s.left -= s.done >= s.prompt;
    }
    step.logits_rows = step.decode_sequences + 1;
    now += StepTime(model, step).Total().value();
    if (token.first == 0 && all.back().done >= all.back().prompt) token.first = now;
  }
  token.last = now;
  return token;
}

TEST(LiveLoadOracleTest, AgreesWithAnEngineStepByStep) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = Seconds(0);
  std::vector<Warning> warnings;
  for (const int running : {1, 8, 64}) {
    for (const int waiting : {0, 1, 6}) {
      for (const int left : {5, 40, 1000}) {
        Scenario scenario = MakeScenario(model, hardware, 1, 1800, 100);
        scenario.deployment.tensor_parallel = 8;
        scenario.live_load = LiveLoad{.running_sequences = running,
                                      .running_context_tokens = 1000,
                                      .remaining_output_tokens = left,
                                      .waiting_requests = waiting,
                                      .max_num_batched_tokens = 1024};
        const Estimate estimate = *EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
        const Token slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies, &warnings));
        EXPECT_NEAR(estimate.ttft.time.value() / slow.first, 1, 0.08) << running << " " << waiting << " " << left;
        EXPECT_NEAR(estimate.e2e.time.value() / slow.last, 1, 0.05) << running << " " << waiting << " " << left;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken

// The next request at a busy replica, against an engine that runs step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// The slow oracle: the engine step by step. A prompt is admitted when it has a slot and room in the KV cache, first
// come first; prompts are cut to what the budget leaves. Those running end evenly up to twice the mean.
struct Token {
  double first = 0, last = 0;
};

struct Sequence {
  double prompt = 0, done = 0, made = 0, left = 0;
  bool admitted = false;

  bool Decodes() const { return done >= prompt && left > 0; }
  bool Prefills() const { return admitted && done < prompt; }
};

std::vector<Sequence> SequencesOf(const Scenario& scenario) {
  const LiveLoad& load = *scenario.live_load;
  const double context = *load.running_context_tokens;
  const double gap = 2 * *load.remaining_output_tokens / (*load.running_sequences + 1);
  std::vector<Sequence> all;
  for (int i = 1; i <= *load.running_sequences; ++i) {
    all.push_back({context, context, 1, std::ceil(i * gap) - 1, true});
  }
  for (int i = 0; i <= *load.waiting_requests; ++i) {
    all.push_back({1.0 * scenario.workload.prompt_tokens, 0, 0, 1.0 * scenario.workload.output_tokens});
  }
  return all;
}

void Admit(const LiveLoad& load, std::vector<Sequence>& all) {
  double slots = load.max_num_seqs.value_or(1'000'000);
  double kv = load.free_kv_tokens.value_or(1'000'000'000) + *load.running_sequences * *load.running_context_tokens;
  for (const Sequence& s : all) {
    if (!s.admitted || s.left <= 0) continue;
    slots -= 1;
    kv -= s.prompt;
  }
  for (Sequence& s : all) {
    if (s.admitted) continue;
    slots -= 1;
    kv -= s.prompt;
    if (slots < 0 || kv < 0) return;
    s.admitted = true;
  }
}

// Whole prompts share a step, the chunk of a longer one has it to itself.
void Prefill(double room, std::vector<Sequence>& all, StepShape& step) {
  for (Sequence& s : all) {
    if (!s.Prefills()) continue;
    const double chunk = std::min(room, s.prompt - s.done);
    if (step.prefill_sequences > 0 && (chunk < s.prompt || step.prefill_prior > 0)) return;
    step.prefill_sequences += 1;
    step.prefill_tokens = chunk;
    step.prefill_prior = s.done;
    s.done += chunk;
    s.left -= s.done >= s.prompt;
    room -= chunk;
    if (room <= 0) return;
  }
}

StepShape TakeStep(double budget, std::vector<Sequence>& all) {
  StepShape step;
  for (const Sequence& s : all) step.decode_sequences += s.Decodes();
  for (Sequence& s : all) {
    if (!s.Decodes()) continue;
    step.decode_context += (s.prompt + ++s.made) / step.decode_sequences;
    --s.left;
  }
  Prefill(budget - step.decode_sequences, all, step);
  step.logits_rows = step.decode_sequences + step.prefill_sequences;
  return step;
}

Token Simulate(const Scenario& scenario, const StepModel& model) {
  std::vector<Sequence> all = SequencesOf(scenario);
  Token token;
  const double running = *scenario.live_load->running_sequences;
  const StepShape before{.decode_sequences = running,
                         .decode_context = *scenario.live_load->running_context_tokens,
                         .logits_rows = running};
  double now = StepTime(model, before).Total().value() / 2;  // the request comes in the middle of this step
  while (all.back().left > 0) {
    Admit(*scenario.live_load, all);
    const Seconds step = StepTime(model, TakeStep(*scenario.live_load->max_num_batched_tokens, all)).Total();
    now += step.value();
    if (token.first == 0 && all.back().done >= all.back().prompt) token.first = now;
  }
  token.last = now;
  return token;
}

// The estimate over the oracle's time.
struct Ratios {
  double ttft = 0, e2e = 0;
};

class LiveLoadOracleTest : public testing::Test {
 protected:
  LiveLoadOracleTest() {
    efficiencies_.admission = efficiencies_.admission_per_request = efficiencies_.admission_per_token = Seconds(0);
  }

  Ratios Compare(const LiveLoad& load, int prompt, int output) {
    Scenario scenario = MakeScenario(model_, hardware_, 1, prompt, output);
    scenario.deployment.tensor_parallel = 8;
    scenario.live_load = load;
    const absl::StatusOr<Estimate> estimate =
        EstimateOperatorModel(scenario, efficiencies_, Provenance::kDatasheet, {});
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    if (!estimate.ok()) return {};
    const Token slow = Simulate(scenario, *MakeStepModel(scenario, efficiencies_, &warnings_));
    return {.ttft = estimate->ttft.time.value() / slow.first, .e2e = estimate->e2e.time.value() / slow.last};
  }

  const Model model_ = Llama31_70b();
  const Hardware hardware_ = A100();
  Efficiencies efficiencies_ = GenericPrior();
  std::vector<Warning> warnings_;
};

TEST_F(LiveLoadOracleTest, AgreesWhereAllHaveASeat) {
  for (const int running : {1, 8, 64}) {
    for (const int waiting : {0, 1, 6}) {
      for (const int left : {5, 40, 1000}) {
        const Ratios ratios = Compare({.running_sequences = running,
                                       .running_context_tokens = 1000,
                                       .remaining_output_tokens = left,
                                       .waiting_requests = waiting,
                                       .max_num_batched_tokens = 1024},
                                      1800, 100);
        EXPECT_NEAR(ratios.ttft, 1, 0.05) << running << " " << waiting << " " << left;
        EXPECT_NEAR(ratios.e2e, 1, 0.05) << running << " " << waiting << " " << left;
      }
    }
  }
}

// Batch slots and KV cache from plenty to full, queues from none to several times the slots, short and long requests.
TEST_F(LiveLoadOracleTest, AgreesWhereSomeWaitForASeat) {
  const LiveLoad limits[] = {{.max_num_seqs = 64}, {.free_kv_tokens = 4000, .kv_block_tokens = 1}};
  std::vector<double> ttft, e2e;
  for (LiveLoad load : limits) {
    load.running_context_tokens = 1000;
    load.max_num_batched_tokens = 1024;
    for (const int running : {1, 8, 32, 60, 64}) {
      for (const int waiting : {0, 1, 6, 40, 200}) {
        for (const int left : {5, 40, 200, 1000}) {
          load.running_sequences = running;
          load.waiting_requests = waiting;
          load.remaining_output_tokens = left;
          for (const int output : {2, 20, 100, 400}) {
            for (const int prompt : {100, 1800}) {
              const Ratios ratios = Compare(load, prompt, output);
              EXPECT_NEAR(ratios.ttft, 1, 0.22) << running << " " << waiting << " " << left << " " << output;
              EXPECT_NEAR(ratios.e2e, 1, 0.18) << running << " " << waiting << " " << left << " " << output;
              ttft.push_back(ratios.ttft);
              e2e.push_back(ratios.e2e);
            }
          }
        }
      }
    }
  }
  for (std::vector<double>* of : {&ttft, &e2e}) {
    std::sort(of->begin(), of->end());
    EXPECT_NEAR((*of)[of->size() / 2], 1, 0.005);
    EXPECT_GT((*of)[of->size() / 20], 0.97);
    EXPECT_LT((*of)[of->size() * 19 / 20], 1.08);
  }
}

}  // namespace
}  // namespace foretoken

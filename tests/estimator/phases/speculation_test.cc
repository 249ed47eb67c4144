#include "estimator/phases/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/phases/prefill.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/speculation_fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(AcceptedTokensTest, WorkedNumbers) {
  struct Case {
    double acceptance, draft_tokens, want;
  };
  const Case cases[] = {
      {0.8, 4, 3.3616},                                                       // (1 - 0.32768) / 0.2
      {0.5, 1, 1.5},    {0, 4, 1}, {1, 4, 5}, {0.7, 0, 1}, {1 - 1e-9, 3, 4},  // continuous at 1
  };
  for (const Case& c : cases) EXPECT_NEAR(AcceptedTokens(c.acceptance, c.draft_tokens), c.want, 1e-6) << c.acceptance;
}

// A round gives its own next token, and one more for each run of 1, 2, ... g accepted ones: 1 + x + x^2 + ... + x^g.
TEST(AcceptedTokensTest, IsTheSumOverRuns) {
  for (const double x : {0.0, 0.3, 0.95, 1.0}) {
    double sum = 1;
    double run = 1;
    for (int g = 0; g <= 64; ++g) {
      EXPECT_NEAR(AcceptedTokens(x, g), sum, 1e-12 * sum) << x << " " << g;
      run *= x;
      sum += run;
    }
  }
}

// Llama-2-7B drafts for itself, one sequence, 100 tokens in, where matrices take 2 x 6,607,077,376 FLOPs a token and
// verification's attention 4 x 4,096 x 32 = 524,288 a token and position at 100 TFLOP/s. A round of 4 at context 105:
// verify 5 x (13,214,154,752 + 524,288 x 105) = 66,346,024,960, draft 4 x 13,214,154,752 = 52,856,619,008.
TEST(SpeculationTest, ARoundByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = Speculative(model, model, hardware, 4, 0.8);
  scenario.workload.batch_size = 1;
  scenario.method = Method::kSpeedOfLight;
  const Estimate estimate = MustEstimate(scenario);
  ASSERT_TRUE(estimate.speculation);
  EXPECT_NEAR(estimate.speculation->verify.value(), 66'346'024'960 / 1e14, 1e-12);
  EXPECT_NEAR(estimate.speculation->draft.value(), 52'856'619'008 / 1e14, 1e-12);
  EXPECT_NEAR(estimate.tpot.time.value(), (66'346'024'960 + 52'856'619'008) / 1e14 / 3.3616, 1e-12);
}

TEST(SpeculationTest, NothingDraftedIsNoSpeculation) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 0, 0.8);
  for (const Method method : {Method::kOperatorModel, Method::kSpeedOfLight}) {
    scenario.method = method;
    Scenario plain = scenario;
    plain.speculation.reset();
    const Estimate with = MustEstimate(scenario);
    const Estimate without = MustEstimate(plain);
    EXPECT_EQ(with.ttft.time, without.ttft.time);
    EXPECT_EQ(with.tpot.time, without.tpot.time);
    EXPECT_EQ(with.memory->weights, without.memory->weights);
    EXPECT_EQ(with.memory->kv_cache, without.memory->kv_cache);
    EXPECT_FALSE(with.speculation);
  }
}

TEST(SpeculationTest, PaysOffOnlyWhenDraftsAreAccepted) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario plain = MakeScenario(model, hardware, 4, 100, 200);
  const Seconds without = MustEstimate(plain).tpot.time;
  const auto tpot = [&](double acceptance) {
    Scenario scenario = Speculative(model, draft, hardware, 3, acceptance);
    scenario.workload.output_tokens = 200;
    return MustEstimate(scenario).tpot.time;
  };
  EXPECT_GT(tpot(0), without);
  EXPECT_LT(tpot(1), without);
  EXPECT_LT(tpot(0.9), tpot(0.5));
}

// One more token to verify never makes the step faster, at any context.
TEST(SpeculationTest, VerifyingMoreTokensTakesLonger) {
  const Hardware hardware = A100();
  for (const Model& model : {Llama2_7b(), Llama31_70b(), Gemma2_9b(), DeepseekV2Lite()}) {
    Scenario scenario = MakeScenario(model, hardware, 4, 100, 2);
    const StepModel step = *MakeStepModel(scenario, GenericPrior(), nullptr);
    for (const double context : {100.0, 30000.0}) {
      Seconds before;
      for (double tokens = 1; tokens <= 8; ++tokens) {
        const Seconds now =
            StepTime(
                step,
                {.decode_sequences = 4, .decode_context = context, .decode_tokens = tokens, .logits_rows = 4 * tokens})
                .Total();
        EXPECT_GE(now, before) << model.id << " " << context << " " << tokens;
        before = now;
      }
    }
  }
}

// The sum over output tokens, taken at once, is the slow sum of the rounds' shares.
TEST(SpeculationTest, ClosedFormEqualsSlowSum) {
  const Hardware hardware = A100();
  const Model draft = TinyDraft();
  for (const Model& model : {Llama2_7b(), Gemma2_9b()}) {
    const Scenario scenario = Speculative(model, draft, hardware, 4, 0.7);
    const StepModel step = *MakeStepModel(scenario, GenericPrior(), nullptr);
    const SpeculativeCurve curve(step, *MakeSpeculator(scenario, GenericPrior()), 4);
    Seconds slow;
    for (double c = 3000; c <= 6000; ++c) slow += curve.Sum(c, c).Total();
    EXPECT_NEAR(curve.Sum(3000, 6000).Total() / slow, 1, 1e-3) << model.id;
  }
}

// Layers 12 (1,024 x (1,024 + 512) + 1,024 x 1,024 + 3 x 1,024 x 4,096) and norms, two tables of 32,000 x 1,024, bf16;
// KV 12 x 2 x 4 x 64 x 2 bytes a token.
TEST(SpeculationTest, TheDraftTakesMemory) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  const Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  Scenario plain = scenario;
  plain.speculation.reset();
  const MemoryUse with = *MustEstimate(scenario).memory;
  const MemoryUse without = *MustEstimate(plain).memory;
  const double layer = 1024.0 * (1024 + 2 * 256) + 1024.0 * 1024 + 3.0 * 1024 * 4096 + 2 * 1024;
  EXPECT_DOUBLE_EQ((with.weights - without.weights).value(), 2 * (12 * layer + 2 * 32000.0 * 1024 + 1024));
  EXPECT_DOUBLE_EQ((with.kv_per_token - without.kv_per_token).value(), 12 * 2 * 4 * 64 * 2);
  EXPECT_LT(*with.largest_batch, *without.largest_batch);
  EXPECT_LT(*with.kv_tokens_capacity, *without.kv_tokens_capacity);
}

TEST(SpeculationTest, TheDraftPrefillsThePromptToo) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  const Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  Scenario plain = scenario;
  plain.speculation.reset();
  const Speculator speculator = *MakeSpeculator(scenario, GenericPrior());
  const Seconds drafts = PrefillTime(speculator.draft, {.sequences = 4, .new_tokens = 100}).Total();
  EXPECT_NEAR((MustEstimate(scenario).ttft.time - MustEstimate(plain).ttft.time).value(), drafts.value(), 1e-15);
}

// The draft follows the model onto its devices, unless it is placed by itself.
TEST(SpeculationTest, TheDraftIsPlacedWithTheModel) {
  const Model model = Llama31_70b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  scenario.deployment.tensor_parallel = 4;
  EXPECT_EQ(DraftDeployment(scenario).tensor_parallel, 4);
  const Bytes spread = MustEstimate(scenario).memory->weights;
  scenario.speculation->follows = false;
  EXPECT_EQ(DraftDeployment(scenario).tensor_parallel, 1);
  EXPECT_GT(MustEstimate(scenario).memory->weights, spread);
}

TEST(SpeculationTest, TheDraftTakesTheWholeParallelism) {
  const Model model = Mixtral8x7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  Parallelism& parallelism = scenario.deployment;
  parallelism = {.tensor_parallel = 4,
                 .pipeline_parallel = 2,
                 .expert_parallel = 8,
                 .data_parallel = 6,
                 .expert_load_imbalance = 1.5,
                 .expert_exchange = ExpertExchange::kAllToAll};
  const Deployment placed = DraftDeployment(scenario);
  EXPECT_EQ(static_cast<const Parallelism&>(placed), parallelism);
  EXPECT_EQ(placed.weight_dtype, scenario.speculation->deployment.weight_dtype);
}

TEST(SpeculationTest, OperatorRowsSumToTheTimePerToken) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  const Estimate estimate = MustEstimate(Speculative(model, draft, hardware, 1, 0.8), {.operators = true});
  Seconds sum;
  for (const OperatorEstimate& op : estimate.decode_operators) sum += op.parts.Total();
  EXPECT_NEAR(sum / estimate.tpot.time, 1, 1e-12);
  EXPECT_EQ(estimate.decode_operators.back().name, "draft_host");
}

TEST(SpeculationTest, NothingIsFasterThanLight) {
  const Hardware hardware = A100();
  const Model draft = TinyDraft();
  for (const Model& model : {Llama2_7b(), Mixtral8x7b(), Gemma2_9b(), DeepseekV2Lite()}) {
    for (const int tokens : {1, 4, 16}) {
      Scenario scenario = Speculative(model, draft, hardware, tokens, 0.8);
      scenario.deployment.tensor_parallel = 2;
      const Estimate real = MustEstimate(scenario);
      scenario.method = Method::kSpeedOfLight;
      const Estimate floor = MustEstimate(scenario);
      EXPECT_LT(floor.tpot.time, real.tpot.time) << model.id << " " << tokens;
      EXPECT_LT(floor.ttft.time, real.ttft.time) << model.id << " " << tokens;
    }
  }
}

TEST(SpeculationTest, RefusesWhatItDoesNotCover) {
  const Model model = Llama2_7b();
  Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  scenario.live_load = LiveLoad{.running_sequences = 3};
  const absl::Status loaded = ComputeEstimate(scenario).status();
  EXPECT_EQ(DetailOf(loaded).reason, Reason::kNotModelled);
  EXPECT_EQ(DetailOf(loaded).violations[0].field, "speculative_decoding");
  EXPECT_THAT(std::string(loaded.message()), HasSubstr("allowed: batches and steady states"));
  draft.unsupported_reason = "hybrid layers";
  scenario.live_load.reset();
  EXPECT_EQ(DetailOf(ComputeEstimate(scenario).status()).reason, Reason::kUnsupportedModel);
  scenario.method = Method::kKpi;
  EXPECT_EQ(DetailOf(ComputeEstimate(scenario).status()).violations[0].field, "speculative_decoding");
}

}  // namespace
}  // namespace foretoken

#include "estimator/simulation/step_clock.h"

#include <gtest/gtest.h>

#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

StepModel ModelOf(const Model& model, const Hardware& hardware) {
  const Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
  return *MakeStepModel(scenario, GenericServedPrior(), nullptr);
}

TEST(StepClockTest, DecodesAsTheStepModel) {
  for (const Model& model : {Llama2_7b(), DeepseekV2Lite(), Gemma2_9b()}) {
    const Hardware hardware = A100();
    const StepModel step = ModelOf(model, hardware);
    StepClock clock(step);
    for (const int64_t n : {1, 7, 100}) {
      const auto sequences = static_cast<double>(n);
      const StepShape shape{.decode_sequences = sequences, .decode_context = 2000.5, .logits_rows = sequences};
      EXPECT_NEAR(clock.Decode(n, 2000.5) / StepTime(step, shape).Total().value(), 1, 1e-12) << model.id;
    }
  }
}

// Chunks of one shape are that shape, whatever attention the model has.
TEST(StepClockTest, ChunksOfOneShapeAreThatShape) {
  for (const Model& model : {Llama2_7b(), DeepseekV2Lite(), Gemma2_9b()}) {
    const Hardware hardware = A100();
    const StepModel step = ModelOf(model, hardware);
    for (const double prior : {0.0, 3000.0}) {
      PromptWork work;
      for (int i = 0; i < 3; ++i) work.Add(700, prior, i > 0);
      const StepShape shape{.decode_sequences = 5,
                            .decode_context = 900,
                            .prefill_sequences = 3,
                            .prefill_tokens = 700,
                            .prefill_prior = prior,
                            .logits_rows = 7};
      EXPECT_NEAR(StepClock(step).Mixed(work, 5, 900) / StepTime(step, shape).Total().value(), 1, 1e-9) << model.id;
    }
  }
}

// Where only arithmetic takes time, the time is linear in tokens and pairs: a step of several chunks takes what their
// own steps take, without the logits that all of them but one would make again.
TEST(StepClockTest, ChunksOfSeveralShapesAddUp) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  const Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
  const StepModel step = *MakeStepModel(scenario, Efficiencies{}, nullptr);
  const StepClock clock(step);
  const std::pair<double, double> chunks[] = {{100, 0}, {3000, 5000}, {17, 40}};
  PromptWork all;
  double sum = 0;
  for (const auto& [tokens, prior] : chunks) {
    all.Add(tokens, prior, false);
    PromptWork one;
    one.Add(tokens, prior, false);
    sum += clock.Mixed(one, 0, 0);
  }
  EXPECT_NEAR(clock.Mixed(all, 0, 0) / sum, 1, 1e-9);
}

}  // namespace
}  // namespace foretoken

#include "estimator/step/prior_curve.h"

#include <gtest/gtest.h>

#include "estimator/step/step_model.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

// A second way to the same step: every part has the bits of StepTime, for every kind of model, exponent and load.
TEST(PriorCurveTest, IsTheStepBitForBit) {
  RandomScenarios source(51);
  for (int i = 0; i < 3000; ++i) {
    const Scenario s = source.NextBatch();
    const Efficiencies& efficiencies = source.OneIn(4) ? SpeedOfLight() : GenericPrior();
    const StepModel model = *MakeStepModel(s, efficiencies, nullptr);
    StepShape shape{.prefill_sequences = 1.0 + source.Pick(8),
                    .prefill_tokens = 1.0 * source.LogUniform(1, 8192),
                    .logits_rows = 1.0 * source.Pick(4)};
    if (source.OneIn(2)) {
      shape.decode_sequences = source.Uniform(0, 50);
      shape.decode_context = source.LogUniform(1, 30000);
      shape.logits_rows += shape.decode_sequences;
    }
    const PriorCurve curve(model, shape);
    for (const double prior : {0.0, 1.0, 777.0, 8192.0, 123456.5}) {
      shape.prefill_prior = prior;
      EXPECT_EQ(curve.Step(prior), StepTime(model, shape)) << Describe(s) << " prior " << prior;
    }
  }
}

}  // namespace
}  // namespace foretoken

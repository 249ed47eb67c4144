#include "estimator/fit/sample_faults.h"

#include "gtest/gtest.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// What the prior predicts, times `factor`.
Sample Measured(BatchingPolicy batching, int batch, int output_tokens, double factor) {
  static const Model& model = *new Model(Llama2_7b());
  static const Hardware& hardware = *new Hardware(A100());
  Sample sample{.scenario = MakeScenario(model, hardware, batch, 512, output_tokens)};
  sample.scenario.workload.batching = batching;
  const bool continuous = batching == BatchingPolicy::kContinuous;
  sample.measured = PredictTimes(sample.scenario, GenericPriorOf(continuous));
  for (double& time : sample.measured) time *= factor;
  return sample;
}

TEST(SampleFaultsTest, ABatchTakesAsLongAsItsMatricesAndItsBytes) {
  EXPECT_FALSE(FasterThanLight(Measured(BatchingPolicy::kStatic, 16, 128, 1)));
  for (const int metric : {kTtft, kTpot, kE2e}) {
    Sample sample = Measured(BatchingPolicy::kStatic, 16, 128, 1);
    sample.measured[metric] /= 20;
    const std::optional<SampleFault> fault = FasterThanLight(sample);
    ASSERT_TRUE(fault) << metric;
    EXPECT_EQ(fault->kind, "faster than light");
  }
}

TEST(SampleFaultsTest, AClosedLoopDecodesNoFasterThanTheSequencesThatRunAtOnce) {
  EXPECT_FALSE(FasterThanLight(Measured(BatchingPolicy::kContinuous, 16, 128, 1)));
  Sample sample = Measured(BatchingPolicy::kContinuous, 16, 128, 1);
  sample.measured[kTpot] /= 20;
  EXPECT_TRUE(FasterThanLight(sample));
}

// With two tokens out a cycle is hardly more than its prefills.
TEST(SampleFaultsTest, ACycleOfALoopHoldsThePrefillOfEveryRequest) {
  Sample sample = Measured(BatchingPolicy::kContinuous, 16, 2, 1);
  EXPECT_FALSE(FasterThanLight(sample));
  sample.measured[kTtft] /= 20;
  const std::optional<SampleFault> fault = FasterThanLight(sample);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->reason.find("all steps together"), std::string::npos) << fault->reason;
}

// By Little's law E2E is what a loop's throughput says.
TEST(SampleFaultsTest, AClosedLoopThatStatesE2eAlone) {
  constexpr double kNotStated = std::numeric_limits<double>::quiet_NaN();
  Sample sample = Measured(BatchingPolicy::kContinuous, 16, 128, 1);
  sample.measured = {kNotStated, kNotStated, sample.measured[kE2e]};
  EXPECT_FALSE(FasterThanLight(sample));
  sample.measured[kE2e] /= 20;
  EXPECT_TRUE(FasterThanLight(sample));
}

TEST(SampleFaultsTest, ATimeThatIsNotStatedIsNoFault) {
  Sample sample = Measured(BatchingPolicy::kContinuous, 16, 128, 1);
  sample.measured[kTtft] = std::numeric_limits<double>::quiet_NaN();
  sample.measured[kTpot] /= 20;
  EXPECT_FALSE(FasterThanLight(sample));  // how many ran at once is not known
}

}  // namespace
}  // namespace foretoken

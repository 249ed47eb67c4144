#include "estimator/fit/fit_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

class FitErrorsTest : public testing::Test {
 protected:
  // Measurements of `batches` times two prompts, as the generic prior predicts them.
  std::vector<Sample> Measured(const std::vector<int>& batches) const {
    std::vector<Sample> samples;
    for (const int batch : batches) {
      for (const int prompt : {128, 512}) {
        Sample sample{.scenario = MakeScenario(model_, hardware_, batch, prompt, 64)};
        sample.measured = PredictTimes(sample.scenario, GenericPrior());
        samples.push_back(sample);
      }
    }
    return samples;
  }

  // The band of TTFT from these held-out errors, of 12 varied measurements.
  BandRatio OwnBand(const std::vector<double>& errors) const {
    return *Judge(errors, Measured({1, 2, 4, 8, 16, 32}), {}).bands[kTtft];
  }

  FitQuality Judge(const std::vector<double>& errors, const std::vector<Sample>& samples, const Bands& others) const {
    std::vector<Times> held_out;
    for (const double error : errors) held_out.push_back({error, kNone, kNone});
    return JudgeFit(GenericPrior(), held_out, samples, others);
  }

  const Model model_ = Llama2_7b();
  const Hardware hardware_ = A100();
};

// log(measured / predicted): positive where the measurement takes longer than predicted.
TEST_F(FitErrorsTest, AnErrorIsPositiveWhereMeasuredIsLonger) {
  Sample sample = Measured({4})[0];
  sample.measured[kTtft] *= 2;
  sample.measured[kTpot] /= 4;
  const Times errors = LogErrors(sample, GenericPrior());
  EXPECT_NEAR(errors[kTtft], std::log(2), 1e-12);
  EXPECT_NEAR(errors[kTpot], -std::log(4), 1e-12);
}

// 11 errors: the tenth and the ninetieth percentile are the second and the tenth of them, -0.2 and 0.9. Each is widened
// by half on its own side.
TEST_F(FitErrorsTest, ASkewedBandIsAsWideOnEachSideAsTheErrorsThere) {
  const std::vector<double> errors = {-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.5};
  const BandRatio band = OwnBand(errors);
  EXPECT_NEAR(band.low, std::exp(-0.3), 1e-12);
  EXPECT_NEAR(band.high, std::exp(1.35), 1e-12);
  EXPECT_EQ(band.coverage, 0.8);
  std::vector<double> mirrored;
  for (const double error : errors) mirrored.push_back(-error);
  const BandRatio other = OwnBand(mirrored);
  EXPECT_NEAR(other.low, std::exp(-1.35), 1e-12);
  EXPECT_NEAR(other.high, std::exp(0.3), 1e-12);
}

// Errors on one side only: the band ends at the prediction on the other.
TEST_F(FitErrorsTest, ABandContainsThePrediction) {
  const BandRatio slower = OwnBand({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1});
  EXPECT_EQ(slower.low, 1);
  EXPECT_NEAR(slower.high, std::exp(1.5), 1e-12);
  const BandRatio faster = OwnBand({-0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8, -0.9, -1.0, -1.1});
  EXPECT_NEAR(faster.low, std::exp(-1.5), 1e-12);
  EXPECT_EQ(faster.high, 1);
}

// Four measurements are too few for a band of their own: they widen the parent's on the side where half of them are
// outside it, and leave it where they are not.
TEST_F(FitErrorsTest, FewErrorsWidenTheParentsBandOnTheirSide) {
  const std::vector<Sample> few = Measured({1, 4});
  const Bands parent = {BandRatio{.low = 0.9, .high = 1.1, .coverage = 0.9}};
  const BandRatio below = *Judge({-0.4, -0.4, -0.4, -0.4}, few, parent).bands[kTtft];
  EXPECT_NEAR(below.low, std::exp(-0.6), 1e-12);
  EXPECT_EQ(below.high, 1.1);
  EXPECT_EQ(below.coverage, 0.8);
  const BandRatio above = *Judge({0.4, 0.4, 0.4, 0.4}, few, parent).bands[kTtft];
  EXPECT_EQ(above.low, 0.9);
  EXPECT_NEAR(above.high, std::exp(0.6), 1e-12);
  const BandRatio within = *Judge({-0.05, 0.05, -0.05, 0.9}, few, parent).bands[kTtft];
  EXPECT_EQ(within.low, 0.9);
  EXPECT_EQ(within.high, 1.1);
  EXPECT_EQ(within.coverage, 0.9);
}

// Predicted over measured - 1: half of what was measured is -0.5, twice of it +1.
TEST_F(FitErrorsTest, TheBiasIsNegativeWherePredictionsAreShort) {
  const double half = std::log(2);
  const MetricError fast = ErrorOf({half, half, half}, {});
  EXPECT_NEAR(fast.median_bias, -0.5, 1e-12);
  EXPECT_NEAR(fast.median_ape, 0.5, 1e-12);
  EXPECT_FALSE(fast.cross_validated_median_ape);
  const MetricError slow = ErrorOf({-half, -half, -half}, {half});
  EXPECT_NEAR(slow.median_bias, 1, 1e-12);
  EXPECT_NEAR(slow.median_ape, 1, 1e-12);
  EXPECT_NEAR(*slow.cross_validated_median_ape, 0.5, 1e-12);
  const MetricError mixed = ErrorOf({half, half, -half}, {});
  EXPECT_NEAR(mixed.median_bias, -0.5, 1e-12);
  EXPECT_NEAR(mixed.mean_ape, (0.5 + 0.5 + 1) / 3, 1e-12);
}

// A measurement held out of a fold does not change that fold's fit by a bit, so that its held-out error moves by just
// what it moved; every other fold sees it.
TEST_F(FitErrorsTest, AFoldDoesNotSeeWhatItHoldsOut) {
  const std::vector<Sample> samples = Measured({1, 4, 16});
  const std::vector<Efficiencies> before = FitFolds(GenericPrior(), samples);
  ASSERT_EQ(before.size(), 5u);
  for (size_t i = 0; i < samples.size(); ++i) {
    std::vector<Sample> changed = samples;
    for (double& time : changed[i].measured) time *= 3;
    const std::vector<Efficiencies> folds = FitFolds(GenericPrior(), changed);
    for (size_t fold = 0; fold < folds.size(); ++fold) {
      const bool held_out = i % folds.size() == fold;
      EXPECT_EQ(folds[fold].weight_read == before[fold].weight_read, held_out) << i << " " << fold;
    }
    const int index = static_cast<int>(i);
    const Times was = HeldOutErrors(before, samples, {index})[0];
    const Times is = HeldOutErrors(folds, changed, {index})[0];
    for (int metric = 0; metric < kNumMetrics; ++metric) EXPECT_NEAR(is[metric] - was[metric], std::log(3), 1e-12) << i;
  }
}

}  // namespace
}  // namespace foretoken

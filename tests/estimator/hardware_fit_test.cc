#include "estimator/calibration/hardware_fit.h"

#include <cmath>

#include "estimator/calibration/parameters.h"
#include "estimator/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

class HardwareFitTest : public testing::Test {
 protected:
  HardwareFitTest() {
    truth_.weight_read *= 0.7;
    truth_.layer_gap = truth_.layer_gap * 3;
  }

  // What a device of these parameters measures.
  Sample Measure(int batch, int prompt) const {
    Sample sample{.scenario = MakeScenario(model_, hardware_, batch, prompt, 64)};
    sample.measured = PredictTimes(sample.scenario, truth_);
    return sample;
  }

  std::vector<Sample> Campaign() const {
    std::vector<Sample> samples;
    for (const int batch : {1, 4, 16, 32}) {
      for (const int prompt : {128, 512, 1024}) samples.push_back(Measure(batch, prompt));
    }
    return samples;
  }

  Model model_ = Llama2_7b();
  Hardware hardware_ = A100();
  Efficiencies truth_ = GenericPrior();
};

TEST_F(HardwareFitTest, PredictsWhatItHasNotSeen) {
  const absl::StatusOr<HardwareFit> fit = FitHardware({}, Campaign());
  ASSERT_TRUE(fit.ok()) << fit.status();
  const Sample unseen = Measure(8, 768);
  const Times before = PredictTimes(unseen.scenario, GenericPrior());
  const Times after = PredictTimes(unseen.scenario, fit->levels.device.fit.efficiencies);
  EXPECT_GT(std::abs(before[kTpot] / unseen.measured[kTpot] - 1), 0.3);
  EXPECT_NEAR(after[kTpot] / unseen.measured[kTpot], 1, 0.03);
  EXPECT_EQ(fit->used.size(), 12u);
  EXPECT_EQ(fit->levels.device.quality.errors[kTpot].num_samples, 12);
  EXPECT_LT(fit->levels.device.quality.errors[kTpot].median_ape, 0.02);
  ASSERT_TRUE(fit->levels.device.quality.errors[kTpot].cross_validated_median_ape.has_value());
  EXPECT_LT(*fit->levels.device.quality.errors[kTpot].cross_validated_median_ape, 0.04);
}

TEST_F(HardwareFitTest, RejectsByReason) {
  std::vector<Sample> samples = Campaign();
  samples[0].measured[kTpot] = 1e-6;
  samples[1].measured[kTtft] = -1;
  samples[2].measured = {std::nan(""), std::nan(""), std::nan("")};
  samples[3].scenario.workload.prompt_tokens = 10'000'000;  // beyond any memory
  samples[4].measured[kE2e] *= 9;
  samples[4].measured[kTtft] *= 9;
  samples[4].measured[kTpot] *= 9;
  const absl::StatusOr<HardwareFit> fit = FitHardware({}, samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  std::vector<std::pair<int, std::string>> rejected;
  for (const RefusedSample& sample : fit->rejected) rejected.emplace_back(sample.index, sample.kind);
  EXPECT_THAT(rejected, testing::ElementsAre(testing::Pair(0, "faster than light"), testing::Pair(1, "no time"),
                                             testing::Pair(2, "no time"), testing::Pair(3, "refused by the core model"),
                                             testing::Pair(4, "contradicted by the other samples")));
  EXPECT_EQ(fit->used.size(), 7u);
}

TEST_F(HardwareFitTest, SuspiciousSamplesAreUsed) {
  truth_.weight_read = 0.1;
  const absl::StatusOr<HardwareFit> fit = FitHardware({}, Campaign());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_FALSE(fit->suspicious.empty());
  EXPECT_THAT(fit->suspicious[0].reason, HasSubstr("times what the parent predicts"));
}

TEST_F(HardwareFitTest, TooFewSayWhy) {
  std::vector<Sample> samples = {Measure(1, 128), Measure(1, 512), Measure(1, 1024)};
  samples[2].measured[kTtft] = 1e-9;
  const absl::Status status = FitHardware({}, samples).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kInsufficientSamples);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("2 usable samples of 3; at least 3"), HasSubstr("samples[2] ttft 1e-09 s")));
}

// Few samples keep their parent's band: their own errors would flatter.
TEST_F(HardwareFitTest, ItsOwnBandNeedsVariety) {
  FitParent parent;
  parent.bands[kTpot] = BandRatio{.low = 0.5, .high = 2, .coverage = 0.8};
  const std::vector<Sample> all = Campaign();
  const absl::StatusOr<HardwareFit> few = FitHardware(parent, {all.begin(), all.begin() + 6});
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_EQ(few->levels.device.quality.bands[kTpot]->high, 2);
  EXPECT_FALSE(few->levels.device.quality.bands[kTtft].has_value());
  const absl::StatusOr<HardwareFit> many = FitHardware(parent, all);
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_LT(many->levels.device.quality.bands[kTpot]->high, 1.2);
  EXPECT_TRUE(many->levels.device.quality.bands[kTtft].has_value());
}

TEST_F(HardwareFitTest, AParameterThatTheSamplesDoNotTellStaysAtItsPrior) {
  const absl::StatusOr<HardwareFit> fit = FitHardware({}, Campaign());  // one device: no link was used
  ASSERT_TRUE(fit.ok()) << fit.status();
  const size_t link = FindParameter("link_efficiency");
  EXPECT_GT(fit->levels.device.fit.log_deviations[link],
            kIdentified * kHardwareFitOptions.freedom * Parameters()[link].log_deviation);
  EXPECT_DOUBLE_EQ(Get(fit->levels.device.fit.efficiencies, Parameters()[link]),
                   Get(GenericPrior(), Parameters()[link]));
}

// A line through real attention misses; a line through a line does not.
TEST_F(HardwareFitTest, ALinearProfileIsSupersededOnlyWhereItMisses) {
  const std::vector<Sample> samples = Campaign();
  const Efficiencies fitted = FitHardware({}, samples)->levels.device.fit.efficiencies;
  LinearProfile profile{.prefill_tokens_per_second = 1e4, .effective_bandwidth = BytesPerSecond(1e12)};
  EXPECT_TRUE(ComesCloser(fitted, profile, samples));
  std::vector<Sample> linear = samples;
  for (Sample& sample : linear) {
    const Workload& run = sample.scenario.workload;
    sample.measured = {run.batch_size * run.prompt_tokens / 1e4, std::nan(""), std::nan("")};
  }
  EXPECT_FALSE(ComesCloser(fitted, profile, linear));
}

}  // namespace
}  // namespace foretoken

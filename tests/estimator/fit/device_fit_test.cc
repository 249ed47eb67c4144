#include "estimator/fit/device_fit.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using testing::ElementsAre;

class DeviceFitTest : public testing::Test {
 protected:
  DeviceFitTest() {
    for (const char* id : {"a", "b", "odder", "oddest", "odd"}) {
      models_.push_back(Llama2_7b());
      models_.back().id = id;
    }
    odd_.weight_read *= 0.6;
    odd_.layer_gap = odd_.layer_gap * 4;
  }

  // What a model's constants are on the device: the generic prior's, and of odd ones their own.
  Efficiencies TruthOf(const std::string& id) const {
    Efficiencies truth = id.starts_with("odd") ? odd_ : GenericPrior();
    if (id == "odder") truth.layer_gap = truth.layer_gap * 3;
    if (id == "oddest") truth.layer_gap = truth.layer_gap * 9;
    return truth;
  }

  void Measure(const char* id, const std::vector<int>& batches) {
    for (const Model& model : models_) {
      if (model.id != id) continue;
      for (const int batch : batches) {
        for (const int prompt : {128, 512, 1024}) {
          Sample sample{.scenario = MakeScenario(model, hardware_, batch, prompt, 64)};
          sample.measured = PredictTimes(sample.scenario, TruthOf(model.id));
          samples_.push_back(sample);
        }
      }
    }
  }

  double ErrorOfOdd(const LevelFit& level) const {
    const Scenario unseen = MakeScenario(models_.back(), hardware_, 6, 700, 64);
    return std::abs(PredictTimes(unseen, level.fit.efficiencies)[kE2e] / PredictTimes(unseen, odd_)[kE2e] - 1);
  }

  std::vector<Model> models_;
  Hardware hardware_ = A100();
  Efficiencies odd_ = GenericPrior();
  std::vector<Sample> samples_;
};

TEST_F(DeviceFitTest, AModelThatDeviatesHasALevelOfItsOwnAndNoSayInItsDevices) {
  Measure("a", {1, 4, 16});
  Measure("odd", {1, 2, 8, 16});
  Measure("b", {1, 8, 16});
  const DeviceFit fit = FitDevice({}, samples_);
  ASSERT_EQ(fit.models.size(), 1u);
  EXPECT_EQ(fit.models[0].model_id, "odd");
  EXPECT_THAT(fit.models[0].used, ElementsAre(9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
  EXPECT_EQ(fit.device.used.size(), 18u);
  EXPECT_LT(fit.device.quality.errors[kE2e].median_ape, 0.001);
  EXPECT_GT(ErrorOfOdd(fit.device), 0.2);
  EXPECT_LT(ErrorOfOdd(fit.models[0]), 0.02);
  EXPECT_LT(*fit.models[0].quality.errors[kE2e].cross_validated_median_ape, 0.03);
}

// The errors of a model's own level are held out of both fits that they follow from: the fold of all models, and the
// fit to the model's other measurements that is drawn to this fold.
TEST_F(DeviceFitTest, AModelsOwnErrorsAreHeldOutOfItsFits) {
  Measure("a", {1, 4, 16});
  Measure("odd", {1, 2, 8, 16});
  Measure("b", {1, 8, 16});
  std::vector<int> odd;
  for (size_t i = 0; i < samples_.size(); ++i) {
    for (double& time : samples_[i].measured) time *= 1 + 0.03 * static_cast<double>(i % 4);
    if (samples_[i].scenario.model->id == "odd") odd.push_back(static_cast<int>(i));
  }
  const DeviceFit fit = FitDevice({}, samples_);
  ASSERT_EQ(fit.models.size(), 1u);
  const std::vector<Efficiencies> folds = FitFolds(GenericPrior(), samples_);
  std::vector<double> held_out;
  for (const int index : odd) {
    const size_t fold = static_cast<size_t>(index) % folds.size();
    std::vector<int> others = odd;
    std::erase_if(others, [&](int other) { return static_cast<size_t>(other) % folds.size() == fold; });
    const FitResult own = Fit(folds[fold], Pick(samples_, others), kHardwareFitOptions);
    held_out.push_back(LogErrors(samples_[static_cast<size_t>(index)], own.efficiencies)[kE2e]);
  }
  EXPECT_DOUBLE_EQ(*fit.models[0].quality.errors[kE2e].cross_validated_median_ape,
                   *ErrorOf({0}, held_out).cross_validated_median_ape);
}

// One other model is not enough for a level of all models.
TEST_F(DeviceFitTest, BesideASingleOtherItHasASayInTheDevices) {
  Measure("a", {1, 4, 8, 16});
  Measure("odd", {1, 2, 8, 16});
  const DeviceFit fit = FitDevice({}, samples_);
  ASSERT_FALSE(fit.models.empty());
  EXPECT_EQ(fit.device.used.size(), samples_.size());
}

// Where most deviate, those that do not are no rule.
TEST_F(DeviceFitTest, FewThatDoNotDeviateDoNotSpeakForTheRest) {
  for (const char* id : {"a", "b", "odd", "odder", "oddest"}) Measure(id, {1, 2, 8, 16});
  const DeviceFit fit = FitDevice({}, samples_);
  ASSERT_GE(fit.models.size(), 3u);
  EXPECT_EQ(fit.device.used.size(), samples_.size());
}

TEST_F(DeviceFitTest, NoneAsksWhereAllAreAlike) {
  Measure("a", {1, 2, 4, 16});
  Measure("b", {1, 2, 8, 16});
  EXPECT_TRUE(FitDevice({}, samples_).models.empty());
}

TEST_F(DeviceFitTest, AnOnlyModelIsItsDevice) {
  Measure("odd", {1, 2, 4, 8, 16});
  const DeviceFit fit = FitDevice({}, samples_);
  EXPECT_TRUE(fit.models.empty());
  EXPECT_LT(ErrorOfOdd(fit.device), 0.02);
}

// Fewer than ten samples are too few to tell a model from noise.
TEST_F(DeviceFitTest, FewSamplesTellOfNoModel) {
  Measure("a", {1, 4, 16});
  Measure("b", {1, 8, 16});
  Measure("odd", {1, 2, 8});
  EXPECT_TRUE(FitDevice({}, samples_).models.empty());
}

}  // namespace
}  // namespace foretoken

#include "estimator/fit/engine_kernels_fit.h"

#include <cmath>

#include "estimator/base/errors.h"
#include "estimator/scenario/parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EngineKernelsFitTest : public testing::Test {
 protected:
  EngineKernelsFitTest() {
    truth_.experts[0] = {.gemm = 0.3, .half_rows = 40, .row_rate = BytesPerSecond(2e12)};
    truth_.experts[3] = {.gemm = 0.2, .half_rows = 20, .row_rate = BytesPerSecond(4e12)};
    truth_.microbenchmark_start = Seconds(60e-6);
  }

  // What a device of these parameters measures.
  KernelSample Measure(double tokens, double width, Dtype weights) const {
    const ExpertsKernel kernel{.tokens = tokens,
                               .chosen = 2,
                               .rows = 2 * tokens,
                               .experts = 8 * (1 - std::pow(0.75, tokens)),
                               .hidden = 4096,
                               .width = width,
                               .weight_dtype = weights};
    return {&hardware_, kernel, *KernelTime(kernel, hardware_, truth_)};
  }

  // 16 kernels.
  std::vector<KernelSample> Campaign(Dtype weights) const {
    std::vector<KernelSample> samples;
    for (double tokens = 1; tokens <= 16384; tokens *= 8) {
      for (const double width : {64.0, 1024.0, 14336.0}) samples.push_back(Measure(tokens, width, weights));
    }
    samples.push_back(Measure(32768, 14336, weights));
    return samples;
  }

  Hardware hardware_ = A100();
  Efficiencies truth_ = GenericServedPrior();
};

TEST_F(EngineKernelsFitTest, EachFormatHasItsOwnConstants) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  for (const KernelSample& sample : Campaign(Dtype::kInt4)) samples.push_back(sample);
  const absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(GenericServedPrior(), samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->efficiencies.experts[0].gemm / 0.3, 1, 0.03);
  EXPECT_NEAR(fit->efficiencies.experts[3].gemm / 0.2, 1, 0.03);
  EXPECT_EQ(fit->used.size(), 32u);
  EXPECT_TRUE(fit->rejected.empty());
  EXPECT_TRUE(fit->suspicious.empty());
  ASSERT_EQ(fit->formats.size(), 2u);
  EXPECT_EQ(fit->formats[1].format, MatrixFormat::kInt4Weights);
  EXPECT_EQ(fit->formats[1].kernels, 16);
  EXPECT_NEAR(fit->formats[1].start.value() / 60e-6, 1, 0.05);
  EXPECT_LT(fit->formats[1].error, 0.02);
  EXPECT_GT(fit->formats[1].parent_error, 0.05);
  for (const Parameter& parameter : Parameters()) {
    const double deviation = fit->log_deviations[FindParameter(parameter.name)];
    const bool told = parameter.name.ends_with("_16bit") || parameter.name.ends_with("_int4_weights");
    EXPECT_EQ(deviation > 0, told) << parameter.name;
    if (told) continue;
    EXPECT_EQ(Get(fit->efficiencies, parameter), Get(GenericServedPrior(), parameter)) << parameter.name;
  }
}

TEST_F(EngineKernelsFitTest, RejectsByReasonAndFitsTheRest) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  samples[3].measured = Seconds(1e-9);
  samples[5].measured = Seconds(NAN);
  samples.push_back(Measure(8, 1024, Dtype::kInt4));  // alone of its format
  const absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(GenericServedPrior(), samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_EQ(fit->rejected.size(), 3u);
  EXPECT_EQ(fit->rejected[0].index, 3);
  EXPECT_EQ(fit->rejected[0].kind, "kernel faster than light");
  EXPECT_THAT(fit->rejected[0].reason, HasSubstr("the hardware cannot be faster"));
  EXPECT_EQ(fit->rejected[1].kind, "kernel without a time");
  EXPECT_EQ(fit->rejected[2].index, 16);
  EXPECT_EQ(fit->rejected[2].reason, "one of 1 usable kernels of format int4_weights; at least 3");
  EXPECT_EQ(fit->used.size(), 14u);
  EXPECT_NEAR(fit->efficiencies.experts[0].gemm / 0.3, 1, 0.05);
}

TEST_F(EngineKernelsFitTest, WhatTheModelRefusesIsRejected) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  Hardware unknown = hardware_;
  unknown.memory_bandwidth.reset();
  samples[0].hardware = &unknown;
  const absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(GenericServedPrior(), samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_EQ(fit->rejected.size(), 1u);
  EXPECT_THAT(fit->rejected[0].reason, HasSubstr("refused by the core model: "));
}

// Two of sixteen kernels are of an implementation that takes three times as long.
TEST_F(EngineKernelsFitTest, KernelsOfAnotherImplementationAreNamed) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  for (const size_t odd : {8u, 11u}) samples[odd].measured = samples[odd].measured * 3;
  const absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(GenericServedPrior(), samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  std::vector<int> named;
  for (const RefusedSample& sample : fit->suspicious) named.push_back(sample.index);
  EXPECT_THAT(named, ElementsAre(8, 11));
  EXPECT_THAT(fit->suspicious[0].reason, HasSubstr("0.5 to 2 is usual"));
  EXPECT_EQ(fit->used.size(), 16u) << "named, and used";
}

TEST_F(EngineKernelsFitTest, TooFewSayWhy) {
  std::vector<KernelSample> samples = {Measure(1, 64, Dtype::kBf16), Measure(8, 64, Dtype::kBf16)};
  const absl::Status status = FitEngineKernels(GenericServedPrior(), samples).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kInsufficientSamples);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no format has 3 usable kernels; 2 kernels of the engine are given; one of 2 usable kernels"));
}

TEST_F(EngineKernelsFitTest, TimesInTheWrongUnitAreRefused) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  for (KernelSample& sample : samples) sample.measured = sample.measured * 1e6;
  const absl::Status status = FitEngineKernels(GenericServedPrior(), samples).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kPoorFit);
  EXPECT_THAT(std::string(status.message()), HasSubstr("are the times in seconds?"));
}

TEST_F(EngineKernelsFitTest, AFormatThatNothingExplainsKeepsTheParents) {
  std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  for (KernelSample& sample : samples) sample.measured = sample.measured * 1e6;
  for (const KernelSample& sample : Campaign(Dtype::kInt4)) samples.push_back(sample);
  const absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(GenericServedPrior(), samples);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->rejected.size(), 16u);
  EXPECT_EQ(fit->rejected[0].kind, "kernel of a format that no constants explain");
  EXPECT_THAT(fit->rejected[0].reason, HasSubstr("allowed at most 50.0%"));
  ASSERT_EQ(fit->formats.size(), 1u);
  EXPECT_EQ(fit->formats[0].format, MatrixFormat::kInt4Weights);
  EXPECT_EQ(fit->efficiencies.experts[0].gemm, GenericServedPrior().experts[0].gemm);
  EXPECT_NEAR(fit->efficiencies.experts[3].gemm / 0.2, 1, 0.03);
}

TEST_F(EngineKernelsFitTest, StopsWhenTheCallerGivesUp) {
  const std::vector<KernelSample> samples = Campaign(Dtype::kBf16);
  int patience = 0;
  const auto give_up_after = [&](int most) {
    int left = most;
    return FitEngineKernels(GenericServedPrior(), samples, [&left] { return --left < 0; }).status();
  };
  for (; absl::IsCancelled(give_up_after(patience)); ++patience) ASSERT_LT(patience, 1000);
  EXPECT_TRUE(give_up_after(patience).ok());
  EXPECT_GT(patience, 20) << "asked between kernels and iterations";
}

}  // namespace
}  // namespace foretoken

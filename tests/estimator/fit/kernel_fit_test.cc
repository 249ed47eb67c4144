#include "estimator/fit/kernel_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// Mixtral-8x7B's experts on one device.
ExpertsKernel KernelOf(double tokens) {
  return {.tokens = tokens,
          .chosen = 2,
          .rows = 2 * tokens,
          .experts = 8 * (1 - std::pow(0.75, tokens)),
          .hidden = 4096,
          .width = 14336};
}

// 1,000 tokens choose all 8 experts, each 250 rows: the rooflines of the products of 8 experts, their rows sorted and
// added up, and the activation between the products.
TEST(KernelTimeTest, ByHand) {
  const Hardware hardware = A100();
  ExpertsKernel kernel = KernelOf(1000);
  kernel.experts = 8;
  const double bandwidth = 0.75 * hardware.memory_bandwidth->value();
  const auto product = [&](double n, double k) {
    const double compute = 2 * n * k * (250 + 5) / (0.6 * 312e12);
    const double memory = (n * k * 2 + 250 * (k * 2 + n * 2)) / bandwidth;
    return 8 * std::hypot(compute, memory);
  };
  const double sorted = 2000.0 * 4096 * 6 / 1.2e12;
  const double activated = 2000.0 * 14336 * 6 / (0.5 * hardware.memory_bandwidth->value());
  const absl::StatusOr<Seconds> time = KernelTime(kernel, hardware, GenericPrior());
  ASSERT_TRUE(time.ok());
  EXPECT_NEAR(time->value() / (product(2 * 14336, 4096) + product(4096, 14336) + sorted + activated), 1, 1e-9);
}

TEST(KernelFaultTest, NoTimeAndFasterThanLight) {
  const Hardware hardware = A100();
  KernelSample sample{.hardware = &hardware, .kernel = KernelOf(1000), .measured = Seconds(5e-3)};
  EXPECT_FALSE(KernelFault(sample).has_value());
  sample.measured = Seconds(NAN);
  EXPECT_TRUE(KernelFault(sample)->find("allowed: finite seconds above 0") != std::string::npos);
  sample.measured = Seconds(1e-4);
  EXPECT_TRUE(KernelFault(sample)->find("cannot be faster") != std::string::npos);
}

// Kernels made with other constants and a start of 60 us give these constants back, and nothing else moves.
TEST(KernelFitTest, FindsTheConstantsThatMadeTheKernels) {
  const Hardware hardware = A100();
  Efficiencies truth = GenericServedPrior();
  truth.experts[0] = {.gemm = 0.3, .half_rows = 40, .row_rate = BytesPerSecond(2e12)};
  truth.microbenchmark_start = Seconds(60e-6);
  std::vector<KernelSample> samples;
  for (double tokens = 1; tokens <= 32768; tokens *= 2) {
    for (const double width : {64.0, 14336.0}) {
      ExpertsKernel kernel = KernelOf(tokens);
      kernel.width = width;
      samples.push_back({&hardware, kernel, *KernelTime(kernel, hardware, truth)});
    }
  }
  const KernelFit fit = FitKernels(GenericServedPrior(), samples, MatrixFormat::k16Bit);
  EXPECT_NEAR(fit.efficiencies.experts[0].gemm / 0.3, 1, 0.03);
  EXPECT_NEAR(fit.efficiencies.experts[0].half_rows / 40, 1, 0.1);
  EXPECT_NEAR(fit.efficiencies.experts[0].row_rate.value() / 2e12, 1, 0.1);
  EXPECT_NEAR(fit.start.value() / 60e-6, 1, 0.03);
  EXPECT_EQ(fit.log_deviations.size(), KernelParametersOf(MatrixFormat::k16Bit).size());
  EXPECT_EQ(fit.efficiencies.microbenchmark_start, Seconds(0));
  for (const Parameter& parameter : RunParameters()) {
    EXPECT_EQ(Get(fit.efficiencies, parameter), Get(GenericServedPrior(), parameter)) << parameter.name;
  }
}

TEST(KernelParametersTest, EveryFormatHasItsOwn) {
  std::set<std::string_view> names;
  for (int format = 0; format < kNumMatrixFormats; ++format) {
    for (const Parameter& parameter : KernelParametersOf(static_cast<MatrixFormat>(format))) {
      EXPECT_TRUE(parameter.name.ends_with(MatrixFormatName(static_cast<MatrixFormat>(format)))) << parameter.name;
      EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    }
  }
  EXPECT_EQ(names.size(), KernelParameters().size());
}

}  // namespace
}  // namespace foretoken

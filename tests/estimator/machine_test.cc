#include "estimator/machine.h"

#include <gtest/gtest.h>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

TEST(PeakTest, TheFp32PeakStandsInWithAWarning) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.peak.bf16.reset();
  hardware.peak.fp16.reset();
  const Estimate estimate = MustEstimate(MakeScenario(model, hardware, 1, 1024, 2));
  ASSERT_EQ(estimate.warnings.size(), 1u);
  EXPECT_EQ(estimate.warnings[0].code, WarningCode::kPeakSubstituted);
  EXPECT_EQ(estimate.warnings[0].field, "hardware_spec.peak.bf16_flops_per_second");
}

// 4-bit weights and activations; with a wider operand the product is of that one.
TEST(PeakTest, TwoInt4OperandsComputeAtTheInt4Peak) {
  Hardware hardware = A100();
  hardware.peak.int8 = Teraflops(624);
  hardware.peak.int4 = Teraflops(1248);
  const Dtype both = ComputeDtype(Dtype::kInt4, Dtype::kInt4);
  std::vector<Warning> warnings;
  EXPECT_EQ(PeakFor(hardware, both, &warnings)->rate, Teraflops(1248));
  EXPECT_EQ(PeakFor(hardware, both, &warnings)->element, Bytes(0.5));
  EXPECT_EQ(PeakFor(hardware, ComputeDtype(Dtype::kInt4, Dtype::kInt8), &warnings)->rate, Teraflops(624));
  EXPECT_TRUE(warnings.empty());
  hardware.peak.int4.reset();
  EXPECT_EQ(PeakFor(hardware, both, &warnings)->rate, Teraflops(624));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].field, "hardware_spec.peak.int4_ops_per_second");
}

}  // namespace
}  // namespace foretoken

#include "estimator/step/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

TEST(FabricTest, MoreThanANodeHoldsAreTakenToBeInOneWithAWarning) {
  Hardware hardware = A100();
  hardware.devices_per_node.reset();
  std::vector<Warning> warnings;
  Placement placement;
  placement.tensor_parallel = 8;
  EXPECT_TRUE(MakeMachine(hardware, placement, Dtype::kUnspecified, GenericPrior(), &warnings).ok());
  EXPECT_TRUE(warnings.empty());
  placement.tensor_parallel = 16;
  EXPECT_TRUE(MakeMachine(hardware, placement, Dtype::kUnspecified, GenericPrior(), &warnings).ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].field, "deployment.devices_per_node");
}

TEST(FabricTest, DevicesThatMeetOverPcieAreWarnedOf) {
  Hardware hardware = A100();
  hardware.interconnect = GigabytesPerSecond(32);
  const Model model = Llama2_7b();
  Scenario two = MakeScenario(model, hardware, 1, 1024, 2);
  two.deployment.tensor_parallel = 2;
  const Estimate linked = MustEstimate(two);
  EXPECT_TRUE(linked.warnings.empty());
  hardware.interconnect_is_pcie = true;
  Estimate estimate = MustEstimate(two);
  EXPECT_EQ(estimate.warnings,
            std::vector<Warning>({{WarningCode::kPcieLink,
                                   "hardware nvidia-a100-sxm-80gb has no link of its own between devices; 2 devices "
                                   "exchange over PCIe, at 32 GB/s",
                                   "hardware_spec.interconnect_name"}}));
  estimate.warnings.clear();
  EXPECT_EQ(estimate, linked);  // the warning alone differs
}

TEST(FabricTest, DevicesThatDoNotMeetAreNotWarnedOf) {
  Hardware hardware = A100();
  hardware.interconnect_is_pcie = true;
  const Model model = Llama2_7b();
  Scenario scenario = MakeScenario(model, hardware, 4, 1024, 2);
  EXPECT_TRUE(MustEstimate(scenario).warnings.empty());
  scenario.deployment.data_parallel = 4;
  EXPECT_TRUE(MustEstimate(scenario).warnings.empty());
  scenario.deployment.data_parallel = 1;
  scenario.deployment.tensor_parallel = 2;
  scenario.method = Method::kSpeedOfLight;
  EXPECT_TRUE(MustEstimate(scenario).warnings.empty());
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

// Experts of 4 bits with activations of 8 bits compute in 8 bits, where the matrices beside them compute in 16.
TEST(PeakTest, ExpertsOfAnotherDtypeAreWarnedOfOnce) {
  Placement placement;
  placement.weight_dtype = Dtype::kBf16;
  placement.activation_dtype = Dtype::kFp8;
  std::vector<Warning> warnings;
  EXPECT_TRUE(MakeMachine(A100(), placement, Dtype::kMxfp4, GenericPrior(), &warnings).ok());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].field, "hardware_spec.peak.fp8_flops_per_second");
  warnings.clear();
  placement.weight_dtype = Dtype::kFp8;
  EXPECT_TRUE(MakeMachine(A100(), placement, Dtype::kFp8, GenericPrior(), &warnings).ok());
  EXPECT_EQ(warnings.size(), 1u);
}

// Fitted to devices of as many lanes to a byte as an A100's.
Efficiencies OfFewLanes(double weight_read) {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.weight_read = weight_read;
  efficiencies.weight_read_balance = VectorBalance(A100());
  return efficiencies;
}

// docs/model/step.md, "A calibration on another device": 4.42 / 2.039 of an A100; 1.44 times the lanes are 1.2 times
// the balance.
TEST(TransferredToTest, MoreLanesReadMore) {
  Hardware hardware = A100();
  EXPECT_NEAR(VectorBalance(hardware), std::sqrt(19.5) / 2.039, 1e-6);
  hardware.peak.fp32 = Teraflops(19.5 * 1.44);
  EXPECT_NEAR(TransferredTo(hardware, OfFewLanes(0.5)).weight_read, 0.6, 1e-9);
  const absl::StatusOr<Machine> machine = MakeMachine(hardware, {}, Dtype::kUnspecified, OfFewLanes(0.5), nullptr);
  ASSERT_TRUE(machine.ok());
  EXPECT_NEAR(machine->weight_read / machine->memory_peak, 0.6, 1e-9);
  hardware.peak.fp32 = Teraflops(19.5 * 4);
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.5)).weight_read, GenericPrior().weight_read);
}

TEST(TransferredToTest, NothingElseChangesAShare) {
  Hardware hardware = A100();
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.5)).weight_read, 0.5);
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.5)).weight_read_balance, 0);
  hardware.peak.fp32 = Teraflops(5);  // fewer lanes: nothing tells that they bind
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.5)).weight_read, 0.5);
  hardware.peak.fp32 = Teraflops(100);
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.9)).weight_read,
            0.9);  // reaches more than the prior: the memory binds
  EXPECT_EQ(TransferredTo(hardware, GenericPrior()).weight_read, GenericPrior().weight_read);
  hardware.peak.fp32.reset();
  EXPECT_EQ(TransferredTo(hardware, OfFewLanes(0.5)).weight_read, 0.5);
}

}  // namespace
}  // namespace foretoken

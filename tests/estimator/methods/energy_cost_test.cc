#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/scenario/efficiencies.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

Hardware WithWatts(Hardware hardware) {
  hardware.tdp_watts = 400;
  hardware.idle_watts = 60;
  return hardware;
}

// Where only arithmetic takes time both phases are all compute: 400 W throughout. One sequence, 100 tokens in, 2 out.
TEST(EnergyTest, AFullyBusyDeviceDrawsItsLimit) {
  const Model model = Llama2_7b();
  const Hardware hardware = WithWatts(ArithmeticOnly());
  Scenario scenario = MakeScenario(model, hardware, 1, 100, 2);
  scenario.method = Method::kSpeedOfLight;
  const Estimate estimate = MustEstimate(scenario);
  ASSERT_TRUE(estimate.energy);
  EXPECT_NEAR(estimate.energy->joules_per_request, 400 * estimate.e2e.time.value(), 1e-9);
  EXPECT_NEAR(estimate.energy->joules_per_output_token, 200 * estimate.e2e.time.value(), 1e-9);
  EXPECT_NEAR(estimate.energy->decode_utilization, 1, 1e-9);
  EXPECT_FALSE(estimate.energy->is_lower_bound);
}

// Four sequences on two devices share the time: 2 (60 t + 340 x larger part) / 4 of each phase.
TEST(EnergyTest, IsTheLineBetweenIdleAndLimit) {
  const Model model = Llama2_7b();
  const Hardware hardware = WithWatts(A100());
  Scenario scenario = MakeScenario(model, hardware, 4, 1000, 101);
  scenario.deployment.tensor_parallel = 2;
  const Estimate estimate = MustEstimate(scenario);
  const double prefill = 60 * estimate.prefill.time.value() + 340 * estimate.prefill.parts->compute.value();
  const double decode = 60 * estimate.decode.time.value() + 340 * estimate.decode.parts->memory.value();
  EXPECT_NEAR(estimate.energy->joules_per_request, 2 * (prefill + decode) / 4, 1e-9);
  EXPECT_NEAR(estimate.energy->prefill_utilization, estimate.prefill.parts->compute / estimate.prefill.time, 1e-12);
}

// All host at s = infinity, and no idle power stated: all that is known of the energy is that it is at least 0.
TEST(EnergyTest, ALowerBoundOfNothingIsAbsent) {
  const Model model = Llama2_7b();
  Hardware hardware = WithWatts(A100());
  Scenario scenario = MakeScenario(model, hardware, 1, 1, 8);
  scenario.deployment.roofline_exponent = std::numeric_limits<double>::infinity();
  Efficiencies slow_host = GenericPriorOf(false);
  slow_host.host_step = Seconds(1);
  const auto energy = [&] {
    const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, slow_host, Provenance::kDatasheet, {});
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    return estimate.ok() ? estimate->energy : std::nullopt;
  };
  ASSERT_TRUE(energy());
  EXPECT_EQ(energy()->decode_utilization, 0);
  hardware.idle_watts.reset();
  EXPECT_FALSE(energy());
}

// Batches that run one after the other, and replicas side by side, cost each request what one batch does.
TEST(EnergyTest, WaitingCostsNothingAndReplicasShareNothing) {
  const Model model = Llama2_7b();
  const Hardware hardware = WithWatts(A100());
  Scenario scenario = MakeScenario(model, hardware, 200, 1024, 128);
  scenario.workload.capacity_policy = CapacityPolicy::kWaves;
  const Estimate waves = MustEstimate(scenario);
  ASSERT_GT(waves.waves, 1);
  scenario.workload.batch_size = static_cast<int>(std::ceil(200.0 / waves.waves));
  const double one = MustEstimate(scenario).energy->joules_per_request;
  EXPECT_NEAR(waves.energy->joules_per_request, one, 1e-9 * one);
  scenario.workload.batch_size *= 3;
  scenario.deployment.data_parallel = 3;
  EXPECT_NEAR(MustEstimate(scenario).energy->joules_per_request, one, 1e-9 * one);
}

// Each side draws its own watts: 2 devices prefill at 60 to 400 W, one decodes at 100 to 700 W.
TEST(EnergyTest, EachSideDrawsItsOwn) {
  const Model model = Llama2_7b();
  const Hardware there = WithWatts(A100());
  Hardware here = A100();
  here.tdp_watts = 700;
  here.idle_watts = 100;
  Scenario scenario = MakeScenario(model, here, 8, 1000, 101);
  scenario.disaggregation = Disaggregation{.hardware = &there, .deployment = scenario.deployment};
  scenario.disaggregation->deployment.tensor_parallel = 2;
  scenario.disaggregation->transfer = GigabytesPerSecond(10);
  const Estimate e = MustEstimate(scenario);
  const double work = e.prefill.time.value() - e.disaggregation->exposed.value();
  const double prefill = 2 * (60 * work + 340 * e.prefill.parts->compute.value());
  const double decode = (100 * e.decode.time.value() + 600 * e.decode.parts->memory.value()) / 8;
  EXPECT_NEAR(e.energy->joules_per_request, prefill + decode, 1e-9);
  here.idle_watts.reset();
  EXPECT_TRUE(MustEstimate(scenario).energy->is_lower_bound);
  here.tdp_watts.reset();
  EXPECT_FALSE(MustEstimate(scenario).energy);
}

TEST(EnergyTest, WhatTheHardwareDoesNotState) {
  const Model model = Llama2_7b();
  Hardware hardware = WithWatts(A100());
  const Scenario scenario = MakeScenario(model, hardware, 4, 1000, 101);
  const double whole = MustEstimate(scenario).energy->joules_per_request;
  hardware.idle_watts.reset();
  const EnergyEstimate without = *MustEstimate(scenario).energy;
  EXPECT_TRUE(without.is_lower_bound);
  EXPECT_LT(without.joules_per_request, whole);
  hardware.tdp_watts.reset();
  EXPECT_FALSE(MustEstimate(scenario).energy);
}

// Two devices at 3.60 an hour are 0.002 a second.
TEST(CostTest, ByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 4, 1000, 101);
  EXPECT_FALSE(MustEstimate(scenario).cost);
  scenario.deployment.tensor_parallel = 2;
  scenario.deployment.price_per_device_hour = 3.6;
  const Estimate estimate = MustEstimate(scenario);
  const double e2e = estimate.e2e.time.value();
  EXPECT_NEAR(estimate.cost->per_request, 0.002 * e2e / 4, 1e-12);
  EXPECT_NEAR(estimate.cost->per_million_output_tokens, 0.002 * e2e / 4 / 101 * 1e6, 1e-9);
  scenario.live_load = LiveLoad{.running_sequences = 3};
  EXPECT_FALSE(MustEstimate(scenario).cost);
}

TEST(CostTest, BothSidesArePaid) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1000, 101);
  scenario.deployment.price_per_device_hour = 3.6;
  scenario.disaggregation = Disaggregation{
      .hardware = &hardware, .deployment = scenario.deployment, .prefill_replicas = 2, .decode_replicas = 3};
  scenario.disaggregation->deployment.price_per_device_hour = 7.2;
  const Estimate estimate = MustEstimate(scenario);
  // 3 x 3.6 + 2 x 7.2 = 25.2 an hour, 0.007 a second.
  EXPECT_NEAR(estimate.cost->per_request, 0.007 / estimate.throughput.requests_per_second, 1e-12);
  scenario.disaggregation->deployment.price_per_device_hour.reset();
  const Estimate one_sided = MustEstimate(scenario);
  EXPECT_FALSE(one_sided.cost);
  ASSERT_FALSE(one_sided.warnings.empty());
  EXPECT_EQ(one_sided.warnings.back().field, "disaggregated_prefill.deployment.price_per_device_hour");
}

}  // namespace
}  // namespace foretoken

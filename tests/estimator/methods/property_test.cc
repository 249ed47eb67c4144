// What must hold of every estimate, over random scenarios of every kind from fixed seeds (random_scenarios.h).
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/scenario/parameters.h"
#include "estimator/step/machine.h"
#include "estimator/step/shard.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 10000;
constexpr double kRounding = 1e-9;  // relative slack of sums that are taken in different orders

// Whether a question that is sound may be refused so: too much is asked for.
bool IsStated(const absl::Status& status) {
  const RefusalDetail detail = DetailOf(status);
  const bool too_much = detail.reason == Reason::kUnstableLoad || detail.reason == Reason::kOutOfMemory;
  return too_much && !detail.violations.empty() && !detail.violations[0].field.empty();
}

void CheckPhase(const Phase& phase, double e2e) {
  const TimeParts& p = *phase.parts;
  ASSERT_NEAR(p.Total().value(), phase.time.value(), kRounding * e2e);
  const std::array parts = {p.compute, p.memory, p.communication, p.host, p.queueing};
  for (const Seconds part : parts) ASSERT_GE(part.value(), 0);
  ASSERT_EQ(phase.bound, p.LargestPart());
}

void CheckShare(double share) {
  ASSERT_TRUE(std::isfinite(share));
  ASSERT_GE(share, 0);
  ASSERT_LE(share, 1 + kRounding);
}

void CheckEstimate(const Estimate& e) {
  const double e2e = e.e2e.time.value();
  ASSERT_TRUE(std::isfinite(e2e) && e2e > 0);
  ASSERT_TRUE(e.ttft.time.value() > 0 && e.tpot.time.value() > 0);
  ASSERT_NEAR(e.prefill.time.value(), e.ttft.time.value(), kRounding * e2e);
  ASSERT_NEAR(e.ttft.time.value() + e.decode_steps * e.tpot.time.value(), e2e, kRounding * e2e);
  ASSERT_NEAR(e.prefill.time.value() + e.decode.time.value(), e2e, kRounding * e2e);
  ASSERT_NO_FATAL_FAILURE(CheckPhase(e.prefill, e2e));
  ASSERT_NO_FATAL_FAILURE(CheckShare(*e.mbu));
  ASSERT_NO_FATAL_FAILURE(CheckShare(e.mfu.value_or(0)));
  const Throughput& t = e.throughput;
  ASSERT_TRUE(std::isfinite(t.output_tokens_per_second) && t.output_tokens_per_second > 0);
  ASSERT_NEAR(t.output_tokens_per_second_per_device * e.devices, t.output_tokens_per_second,
              kRounding * t.output_tokens_per_second);
  if (e.energy) {
    ASSERT_TRUE(std::isfinite(e.energy->joules_per_request) && e.energy->joules_per_request > 0);
    ASSERT_NO_FATAL_FAILURE(CheckShare(e.energy->prefill_utilization));
    ASSERT_NO_FATAL_FAILURE(CheckShare(e.energy->decode_utilization));
  }
  // A decode of no step has no time, but a bound: that of the next step.
  if (e.decode_steps == 0) return;
  ASSERT_NO_FATAL_FAILURE(CheckPhase(e.decode, e2e));
}

TEST(PropertyTest, PartsSumAndEverythingIsFinite) {
  RandomScenarios source(11);
  int answered = 0;
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario scenario = source.Next();
    const absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
    if (!estimate.ok()) {
      ASSERT_TRUE(IsStated(estimate.status())) << Describe(scenario) << ": " << estimate.status();
      continue;
    }
    ++answered;
    ASSERT_NO_FATAL_FAILURE(CheckEstimate(*estimate)) << Describe(scenario);
  }
  EXPECT_GT(answered, kScenarios * 7 / 10);
}

// Under a live load the decode is summed in two halves, each of as many as run on average, and the latencies one by
// one.
TEST(PropertyTest, LatenciesOfTheTokensSum) {
  RandomScenarios source(12);
  for (int i = 0; i < 10000; ++i) {
    Scenario scenario = source.Next();
    scenario.workload.output_tokens = 1 + source.Pick(200);
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario, {.token_latencies = true});
    if (!e.ok()) continue;
    double sum = 0;
    for (const Seconds latency : e->token_latencies) sum += latency.value();
    ASSERT_EQ(e->token_latencies.size(), e->decode_steps + 1) << Describe(scenario);
    ASSERT_NEAR(sum, e->e2e.time.value(), (scenario.live_load ? 5e-2 : 1e-3) * sum) << Describe(scenario);
  }
}

// At the speed of light the host's row is nothing, a difference of sums that rounding must not turn negative.
TEST(PropertyTest, NoOperatorTakesLessThanNoTime) {
  RandomScenarios source(16);
  for (int i = 0; i < 1000; ++i) {
    Scenario scenario = source.Next();
    if (source.OneIn(2)) scenario.method = Method::kSpeedOfLight;
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario, {.operators = true});
    if (!e.ok()) continue;
    for (const auto* operators : {&e->prefill_operators, &e->decode_operators}) {
      for (const OperatorEstimate& op : *operators) {
        ASSERT_GE(op.parts.Total().value(), 0) << op.name << " of " << Describe(scenario);
      }
    }
  }
}

// Only what crosses a link is communication: nothing on one device without a prefix to load.
TEST(PropertyTest, OneDeviceDoesNotCommunicate) {
  RandomScenarios source(13);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    Deployment& d = scenario.deployment;
    d.tensor_parallel = d.pipeline_parallel = d.expert_parallel = 1;
    scenario.workload.prefix_load.reset();
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario);
    if (!e.ok()) continue;
    ASSERT_EQ(e->prefill.parts->communication.value() + e->decode.parts->communication.value(), 0)
        << Describe(scenario);
  }
}

// A calibration that ships, or any that a fit may end at.
Calibration AnyCalibration(RandomScenarios& source) {
  const std::deque<Calibration>& shipped = Bundled().calibrations;
  if (source.OneIn(2)) return shipped[static_cast<size_t>(source.Pick(static_cast<int>(shipped.size())))];
  Calibration calibration{.id = "made-up", .engine = "made-up", .efficiencies = GenericPrior()};
  for (const Parameter& p : Parameters()) Set(p, source.Uniform(p.low, p.high), calibration.efficiencies);
  return calibration;
}

// No rate is above that of light, so that no operator is faster either.
TEST(PropertyTest, NoRateIsAboveThatOfLight) {
  RandomScenarios source(15);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = source.NextBatch();
    const Calibration calibration = AnyCalibration(source);
    const Dtype experts = ExpertDtype(*s.model, s.deployment);
    const Machine real = *MakeMachine(*s.hardware, s.deployment, experts, calibration.efficiencies, nullptr);
    const Machine light = *MakeMachine(*s.hardware, s.deployment, experts, SpeedOfLight(), nullptr);
    ASSERT_LE(real.gemm, light.gemm);
    ASSERT_LE(real.expert_gemm, light.expert_gemm);
    ASSERT_LE(real.head_gemm, light.head_gemm);
    ASSERT_LE(real.prefill_attention, light.prefill_attention);
    ASSERT_LE(real.decode_attention, light.decode_attention)
        << Describe(s) << " e_d " << calibration.efficiencies.decode_attention;
    ASSERT_LE(real.weight_read, light.weight_read);
    ASSERT_LE(real.kv_read, light.kv_read);
    ASSERT_LE(real.elementwise, light.elementwise);
  }
}

// Under the generic prior and under every calibration, on every device and not only on that of the calibration.
TEST(PropertyTest, NothingIsFasterThanLight) {
  RandomScenarios source(14);
  ASSERT_GT(Bundled().calibrations.size(), 10u);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    const Calibration calibration = AnyCalibration(source);
    if (!source.OneIn(5)) scenario.calibration = &calibration;
    const absl::StatusOr<Estimate> real = ComputeEstimate(scenario);
    if (!real.ok()) continue;
    scenario.method = Method::kSpeedOfLight;
    const absl::StatusOr<Estimate> light = ComputeEstimate(scenario);
    ASSERT_TRUE(light.ok()) << Describe(scenario) << light.status();
    const double slack = 1 + kRounding;
    ASSERT_LE(light->ttft.time.value(), real->ttft.time.value() * slack) << Describe(scenario);
    ASSERT_LE(light->tpot.time.value(), real->tpot.time.value() * slack)
        << Describe(scenario) << " e_d " << calibration.efficiencies.decode_attention;
    ASSERT_LE(light->e2e.time.value(), real->e2e.time.value() * slack) << Describe(scenario);
  }
}

}  // namespace
}  // namespace foretoken

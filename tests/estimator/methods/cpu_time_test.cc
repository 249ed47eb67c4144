// What an estimate costs is bounded whatever its scenario, and known before it is made. Measured as CPU time of this
// thread, the least of several runs, in units of an ordinary estimate, so that builds and machines do not count.
#include "estimator/methods/cpu_time.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "estimator/methods/estimator.h"
#include "tests/estimator/extreme_scenarios.h"
#include "tests/estimator/fixtures.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double TimeOnce(const Scenario& scenario) {
  const double begin = Now();
  (void)ComputeEstimate(scenario).ok();
  return Now() - begin;
}

// The least of as many runs as it takes to come below `limit`.
double LeastTime(const Scenario& scenario, double limit) {
  constexpr int kRuns = 50;
  double least = TimeOnce(scenario);
  for (int i = 1; i < kRuns && least > limit; ++i) least = std::min(least, TimeOnce(scenario));
  return least;
}

// How much slower than stated this build and machine are, at least 1.
double Slowness() {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1000, 200);
  scenario.deployment.tensor_parallel = 8;
  return std::max(1.0, LeastTime(scenario, 0) / CpuTimeOf(scenario).value());
}

// Before it was bounded, the dearest of these took 50 ms, a thousand times what it takes now.
TEST(CpuTimeTest, NoEstimateTakesLongerThanItsScenarioTells) {
  ExtremeScenarios source(41);
  const double slowness = Slowness();
  for (int i = 0; i < 5000; ++i) {
    const Scenario scenario = i % 3 == 0 ? source.source().Next() : source.Next();
    const double told = 3 * slowness * CpuTimeOf(scenario).value();
    EXPECT_LE(LeastTime(scenario, told), told) << Describe(scenario);
  }
}

TEST(CpuTimeTest, IsBoundedAndOrdinaryForAnOrdinaryQuestion) {
  ExtremeScenarios source(42);
  for (int i = 0; i < 5000; ++i) {
    const Scenario scenario = source.Next();
    EXPECT_GT(CpuTimeOf(scenario).value(), 0);
    EXPECT_LE(CpuTimeOf(scenario), kMostCpuTime) << Describe(scenario);
  }
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1000, 200);
  scenario.deployment.tensor_parallel = 8;
  EXPECT_LT(CpuTimeOf(scenario).value(), 13e-6);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  EXPECT_LT(CpuTimeOf(scenario).value(), 16e-6);
}

// What makes an estimate dear makes its class dear.
TEST(CpuTimeTest, RisesWithWhatIsDear) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  const Scenario plain = MakeScenario(model, hardware, 64, 20000, 200);
  const auto dearer = [&](auto change) {
    Scenario scenario = plain;
    change(scenario);
    return CpuTimeOf(scenario) > CpuTimeOf(plain);
  };
  EXPECT_TRUE(dearer([](Scenario& s) { s.deployment.prefill_chunk_tokens = 512; }));
  EXPECT_TRUE(dearer([](Scenario& s) { s.deployment.pipeline_parallel = 4; }));
  EXPECT_TRUE(dearer([](Scenario& s) { s.deployment.roofline_exponent = 3; }));
  EXPECT_TRUE(dearer([](Scenario& s) { s.live_load = LiveLoad{.running_sequences = 4}; }));
  EXPECT_TRUE(dearer([](Scenario& s) {
    s.workload.batching = BatchingPolicy::kContinuous;
    s.workload.request_rate_per_second = 1;
  }));
  EXPECT_TRUE(dearer([](Scenario& s) {
    s.workload.batching = BatchingPolicy::kDynamic;
    s.workload.request_rate_per_second = 1;
  }));
}

}  // namespace
}  // namespace foretoken

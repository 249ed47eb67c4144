// Scenarios of the simulation's tests.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SIMULATION_FIXTURES_H_
#define FORETOKEN_TESTS_ESTIMATOR_SIMULATION_FIXTURES_H_

#include <gtest/gtest.h>

#include "estimator/simulation/simulation.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {

// Serves `batch` requests by continuous batching.
inline Scenario Served(const Model& model, const Hardware& hardware, int batch, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, batch, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  return scenario;
}

// A device that takes no time: every step takes the 10 ms of its host, whatever it holds.
inline Hardware NoTime() {
  Hardware hardware = ArithmeticOnly();
  hardware.peak.bf16 = FlopsPerSecond(1e30);
  return hardware;
}
inline constexpr double kStep = 0.01;
inline Efficiencies HostOnly() { return {.host_step = Seconds(kStep)}; }

// The result, or a failed check.
inline SimulationResult MustSimulate(const Scenario& scenario, const SimulationSpec& spec,
                                     const Efficiencies& efficiencies = GenericServedPrior()) {
  const absl::StatusOr<SimulationResult> result = Simulate(scenario, spec, efficiencies, NeverCancelled);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : SimulationResult{};
}

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SIMULATION_FIXTURES_H_

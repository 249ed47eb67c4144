// Percentiles of latencies over requests, which no formula of serving gives: from a simulation of the scenario's
// workload, with the constants of its estimate.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_PERCENTILES_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_PERCENTILES_H_

#include "absl/status/status.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Sets estimate.percentiles and adds what the simulation warns of. Equal scenarios have equal percentiles.
// REQUIRES: the SLO states simulated_steps, and `estimate` was made of `scenario`, with these efficiencies. Errors:
// those of Simulate (simulation.h), about fields of the scenario; kNotModelled where the estimate is by a reference
// method.
absl::Status FillPercentiles(const Scenario& scenario, const Efficiencies& efficiencies, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_PERCENTILES_H_

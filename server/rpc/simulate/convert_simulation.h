// Converts between the API's simulation and the core model's.
#ifndef FORETOKEN_SERVER_RPC_SIMULATE_CONVERT_SIMULATION_H_
#define FORETOKEN_SERVER_RPC_SIMULATE_CONVERT_SIMULATION_H_

#include <optional>

#include "absl/status/statusor.h"
#include "estimator/simulation/simulation.h"
#include "foretoken/v1/simulation.pb.h"

namespace foretoken::rpc {

// Rows that a reply may hold: about 2.5 MB.
inline constexpr int kMaxSimulatedRows = 50'000;

// What is absent takes its default. Errors: kInvalidField with every violation, kLimitExceeded for too many rows; paths
// start with "simulation.".
absl::StatusOr<SimulationSpec> ReadSimulation(const v1::SimulateRequest& request);

// Says so where the workload states the run of a closed loop and requests arrive in another way.
std::optional<Warning> UnusedRunWarning(const v1::SimulateRequest& request);

// Fills `message`, which is empty, but for provenance, calibration and catalog.
void WriteSimulation(const SimulationResult& result, v1::SimulateResponse& message);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SIMULATE_CONVERT_SIMULATION_H_

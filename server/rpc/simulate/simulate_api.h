// What Simulate does, without a socket: request in, reply or refusal out. The simulation is the core model's
// (estimator/simulation).
#ifndef FORETOKEN_SERVER_RPC_SIMULATE_SIMULATE_API_H_
#define FORETOKEN_SERVER_RPC_SIMULATE_SIMULATE_API_H_

#include "absl/status/status.h"
#include "foretoken/v1/simulation.pb.h"
#include "server/rpc/estimate/estimator_api.h"

namespace foretoken::rpc {

// The most steps that the request may take, whose work is accounted before the first of them. Of a request that is
// refused any number.
double MostSteps(const v1::SimulateRequest& request);

// Answers a simulation. Errors: as EstimatorService.Simulate; CANCELLED: the caller gave up.
absl::Status AnswerSimulate(const v1::SimulateRequest& request, const Moment& moment, Cancelled cancelled,
                            v1::SimulateResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SIMULATE_SIMULATE_API_H_

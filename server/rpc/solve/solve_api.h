// What Solve does, without a socket: request in, reply or refusal out. The search is the core model's (solve.h).
#ifndef FORETOKEN_SERVER_RPC_SOLVE_SOLVE_API_H_
#define FORETOKEN_SERVER_RPC_SOLVE_SOLVE_API_H_

#include "absl/status/status.h"
#include "foretoken/v1/solve.pb.h"
#include "server/rpc/estimate/estimator_api.h"

namespace foretoken::rpc {

// Answers an inverse question. Errors: as EstimatorService.Solve; CANCELLED: the caller gave up.
absl::Status AnswerSolve(const v1::SolveRequest& request, const Moment& moment, Cancelled cancelled,
                         v1::SolveResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SOLVE_SOLVE_API_H_

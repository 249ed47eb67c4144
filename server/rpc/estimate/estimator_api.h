// What Estimate and BatchEstimate do, without a socket: request in, reply or refusal out.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_ESTIMATOR_API_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_ESTIMATOR_API_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/cancelled.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "server/catalog/entries/snapshot.h"
#include "server/rpc/estimate/cpu_budget.h"

namespace foretoken::rpc {

inline constexpr int kMaxCandidates = 1000;
inline constexpr int kMaxTokenLatencies = 100'000;

// What a call is answered from.
struct Moment {
  const catalog::Snapshot& snapshot;
  absl::Time now;
  absl::Duration max_cpu = kDefaultCpuPerCall;  // of a batch or a search
};

// Answers one scenario. Errors: as EstimatorService.Estimate; paths start with "scenario.".
absl::Status AnswerEstimate(const v1::EstimateRequest& request, const Moment& moment, v1::EstimateResponse& response);

// Answers every candidate, in order. Errors: as EstimatorService.BatchEstimate; CANCELLED: the caller gave up.
absl::Status AnswerBatch(const v1::BatchEstimateRequest& request, const Moment& moment, Cancelled cancelled,
                         v1::BatchEstimateResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_ESTIMATOR_API_H_

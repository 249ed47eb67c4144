#include "server/rpc/estimator_service.h"

#include "server/rpc/call.h"
#include "server/rpc/estimator_api.h"
#include "server/rpc/solve_api.h"
#include "server/rpc/sweep_reactor.h"

namespace foretoken::rpc {
namespace {

// Above these a call computes for about a quarter of a millisecond and leaves the threads that serve the others.
constexpr int kManyCandidates = 64;
constexpr int kManyTokenLatencies = 1'000;

bool IsLarge(const v1::EstimateRequest& request) {
  const v1::Workload& workload = request.scenario().workload();
  const bool many = workload.output_tokens() > kManyTokenLatencies || workload.has_output_length_distribution();
  return request.include_token_latencies() && many;
}

void CountVerdict(const v1::Estimate& estimate, ops::Metrics& metrics) {
  if (estimate.has_slo_verdict()) metrics.SloVerdict(static_cast<Verdict>(estimate.slo_verdict().verdict()));
}

}  // namespace

grpc::ServerUnaryReactor* EstimatorService::Estimate(grpc::CallbackServerContext* context,
                                                     const v1::EstimateRequest* request,
                                                     v1::EstimateResponse* response) {
  ops::WorkerPool* pool = IsLarge(*request) ? deps_.large_calls : nullptr;
  return Serve(context, *deps_.metrics, ops::Rpc::kEstimate, pool, [this, request, response](const Call&) {
    const auto snapshot = deps_.catalog->snapshot();
    absl::Status status = AnswerEstimate(*request, {*snapshot, deps_.clock()}, *response);
    if (status.ok()) CountVerdict(response->estimate(), *deps_.metrics);
    return status;
  });
}

grpc::ServerUnaryReactor* EstimatorService::BatchEstimate(grpc::CallbackServerContext* context,
                                                          const v1::BatchEstimateRequest* request,
                                                          v1::BatchEstimateResponse* response) {
  ops::WorkerPool* pool = request->candidates_size() > kManyCandidates ? deps_.large_calls : nullptr;
  return Serve(context, *deps_.metrics, ops::Rpc::kBatchEstimate, pool, [this, request, response](const Call& call) {
    deps_.metrics->BatchCandidates(request->candidates_size());
    const auto snapshot = deps_.catalog->snapshot();
    const auto abandoned = [&call] { return call.Abandoned(); };
    absl::Status status = AnswerBatch(*request, {*snapshot, deps_.clock()}, abandoned, *response);
    for (const v1::CandidateResult& result : response->results()) CountVerdict(result.estimate(), *deps_.metrics);
    return status;
  });
}

grpc::ServerWriteReactor<v1::SweepResponse>* EstimatorService::Sweep(grpc::CallbackServerContext* context,
                                                                     const v1::SweepRequest* request) {
  return StartSweep(context, request, deps_);
}

// A search estimates up to hundreds of times.
grpc::ServerUnaryReactor* EstimatorService::Solve(grpc::CallbackServerContext* context, const v1::SolveRequest* request,
                                                  v1::SolveResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kSolve, deps_.large_calls,
               [this, request, response](const Call& call) {
                 const auto snapshot = deps_.catalog->snapshot();
                 const auto abandoned = [&call] { return call.Abandoned(); };
                 return AnswerSolve(*request, {*snapshot, deps_.clock()}, abandoned, *response);
               });
}

}  // namespace foretoken::rpc

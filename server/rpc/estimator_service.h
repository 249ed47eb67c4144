// foretoken.v1.EstimatorService over gRPC's callback API: estimator_api.h and sweep_runner.h do the work.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_
#define FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_

#include "foretoken/v1/estimator_service.grpc.pb.h"
#include "server/rpc/wire/service_deps.h"

namespace foretoken::rpc {

// Thread-safe.
class EstimatorService : public v1::EstimatorService::CallbackService {
 public:
  explicit EstimatorService(const ServiceDeps& deps);

  grpc::ServerUnaryReactor* Estimate(grpc::CallbackServerContext* context, const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) override;
  grpc::ServerUnaryReactor* BatchEstimate(grpc::CallbackServerContext* context, const v1::BatchEstimateRequest* request,
                                          v1::BatchEstimateResponse* response) override;
  grpc::ServerWriteReactor<v1::SweepResponse>* Sweep(grpc::CallbackServerContext* context,
                                                     const v1::SweepRequest* request) override;
  grpc::ServerUnaryReactor* Solve(grpc::CallbackServerContext* context, const v1::SolveRequest* request,
                                  v1::SolveResponse* response) override;

 private:
  ServiceDeps deps_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_

// foretoken.v1.EstimatorService over gRPC's callback API: estimator_api.h and sweep_runner.h do the work.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_
#define FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_

#include "foretoken/v1/estimator_service.grpc.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/service_deps.h"

namespace foretoken::rpc {

// A batch comes as bytes, because a parsed one takes 17 times its bytes while it waits, and parsing is most of what it
// costs to refuse one.
using EstimatorHandlers =
    v1::EstimatorService::WithCallbackMethod_Estimate<v1::EstimatorService::WithRawCallbackMethod_BatchEstimate<
        v1::EstimatorService::WithCallbackMethod_Sweep<v1::EstimatorService::WithCallbackMethod_Solve<
            v1::EstimatorService::WithCallbackMethod_Simulate<v1::EstimatorService::Service>>>>>;

// Thread-safe.
class EstimatorService : public EstimatorHandlers {
 public:
  explicit EstimatorService(const ServiceDeps& deps);

  grpc::ServerUnaryReactor* Estimate(grpc::CallbackServerContext* context, const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) override;
  grpc::ServerUnaryReactor* BatchEstimate(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<v1::SweepResponse>* Sweep(grpc::CallbackServerContext* context,
                                                     const v1::SweepRequest* request) override;
  grpc::ServerUnaryReactor* Solve(grpc::CallbackServerContext* context, const v1::SolveRequest* request,
                                  v1::SolveResponse* response) override;
  grpc::ServerUnaryReactor* Simulate(grpc::CallbackServerContext* context, const v1::SimulateRequest* request,
                                     v1::SimulateResponse* response) override;

 private:
  // `large`: the reply counts as held until the caller has read it.
  absl::Status AnswerBatchBytes(const Call& call, grpc::CallbackServerContext& context, bool large,
                                const grpc::ByteBuffer& request, grpc::ByteBuffer& response);

  ServiceDeps deps_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATOR_SERVICE_H_

// An empty unary call, one of any length and a stream of constant columns: what transport and codec cost without any
// work of ours. Ratios of tests/bench are to these, taken in the same run from the same binary.
#ifndef FORETOKEN_SERVER_RPC_BASELINE_SERVICE_H_
#define FORETOKEN_SERVER_RPC_BASELINE_SERVICE_H_

#include "server/rpc/baseline.grpc.pb.h"

namespace foretoken::rpc {

// Thread-safe.
class BaselineService : public baseline::BaselineService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Empty(grpc::CallbackServerContext* context, const google::protobuf::Empty* request,
                                  google::protobuf::Empty* response) override;
  grpc::ServerUnaryReactor* Payload(grpc::CallbackServerContext* context, const baseline::PayloadRequest* request,
                                    baseline::PayloadReply* reply) override;
  grpc::ServerWriteReactor<v1::SweepResponse>* Columns(grpc::CallbackServerContext* context,
                                                       const baseline::ColumnsRequest* request) override;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_BASELINE_SERVICE_H_

// How much work a BatchEstimate is, read from its bytes: a request is parsed only once it is known where it runs.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_BATCH_SIZE_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_BATCH_SIZE_H_

#include "grpcpp/support/byte_buffer.h"

namespace foretoken::rpc {

struct BatchSize {
  int candidates = 0;
  double simulated_steps = 0;  // that finding the percentiles of all candidates may take
};

// Of a malformed request, what stands before the fault.
BatchSize SizeOf(const grpc::ByteBuffer& request);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_BATCH_SIZE_H_

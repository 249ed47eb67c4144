// Streams a sweep: header, chunks, summary, one message in flight. The next chunk is computed when the transport has
// taken the last one, so a slow reader holds one chunk and no more.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_REACTOR_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_REACTOR_H_

#include "foretoken/v1/estimator_service.pb.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/wire/service_deps.h"

namespace foretoken::rpc {

// Starts the sweep on deps.work, or refuses it there; the reactor deletes itself when the call is done.
grpc::ServerWriteReactor<v1::SweepResponse>* StartSweep(grpc::CallbackServerContext* context,
                                                        const v1::SweepRequest* request, const ServiceDeps& deps);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_REACTOR_H_

// The one wrapper around every handler. It times and counts the call, turns its status into the wire's, and logs writes
// and faults. What is left of a handler is: parse, call, reply.
#ifndef FORETOKEN_SERVER_RPC_WIRE_CALL_H_
#define FORETOKEN_SERVER_RPC_WIRE_CALL_H_

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/ops/metrics.h"
#include "server/ops/rpcs.h"
#include "server/ops/worker_pool.h"

namespace foretoken::rpc {

// One call, from its start to its end. Copies stand for the same call: End is called once among them.
class Call {
 public:
  Call(const grpc::CallbackServerContext& context, ops::Metrics& metrics, const ops::Rpc& rpc);

  // Whether the caller cancelled or its deadline passed. Cheap, to be called between units of work. Thread-safe.
  bool Cancelled() const;

  // Counts the call and gives the status to finish it with. A cancelled call past its deadline is DEADLINE_EXCEEDED.
  grpc::Status End(absl::Status status) const;

 private:
  const grpc::CallbackServerContext* context_;
  ops::Metrics* metrics_;
  const ops::Rpc* rpc_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Answers the unary call of `request` with `body(call)`, which gives an absl::Status: on `pool`, or at once where it is
// null.
template <typename Request, typename Body>
grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, const Request*, ops::Metrics& metrics,
                                ops::WorkerPool* pool, Body body) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  auto run = [reactor, call = Call(*context, metrics, ops::RpcOf<Request>()), body = std::move(body)] {
    reactor->Finish(call.End(body(call)));
  };
  if (pool == nullptr) {
    run();
  } else {
    pool->Run(std::move(run));
  }
  return reactor;
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_CALL_H_

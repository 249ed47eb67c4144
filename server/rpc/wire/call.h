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
#include "server/work/fair_scheduler.h"

namespace foretoken::rpc {

// One call, from its start to its end. Copies stand for the same call: End is called once among them.
class Call {
 public:
  Call(const grpc::CallbackServerContext& context, ops::Metrics& metrics, const ops::Rpc& rpc);

  // Whether the caller cancelled or its deadline passed. Cheap, to be called between units of work: in a call that has
  // turns, others get theirs meanwhile. Thread-safe, but for that.
  bool Cancelled() const;

  // The call has a turn of `ticket` from now on; null: none.
  void SetTurn(const work::Ticket* ticket) { ticket_ = ticket; }

  // How long the caller still waits.
  absl::Duration TimeLeft() const;

  // Counts the call and gives the status to finish it with. A cancelled call past its deadline is DEADLINE_EXCEEDED.
  grpc::Status End(absl::Status status) const;

 private:
  const grpc::CallbackServerContext* context_;
  ops::Metrics* metrics_;
  const ops::Rpc* rpc_;
  const work::Ticket* ticket_ = nullptr;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Tells gRPC's own retries of the caller when to come again, where `refusal` says so.
void AddPushback(grpc::CallbackServerContext& context, const absl::Status& refusal);

// Answers the unary call of `request` with `body(call)`, which gives an absl::Status, at once.
template <typename Request, typename Body>
grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, const Request*, ops::Metrics& metrics,
                                Body body) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const Call call(*context, metrics, ops::RpcOf<Request>());
  reactor->Finish(call.End(body(call)));
  return reactor;
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_CALL_H_

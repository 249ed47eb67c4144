// Who may call what: tokens of the metadata "authorization" against what the server asks for (ops/write_tokens.h).
// Where no tokens are in force, whoever reaches the server may do everything.
#ifndef FORETOKEN_SERVER_RPC_WIRE_ACCESS_H_
#define FORETOKEN_SERVER_RPC_WIRE_ACCESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/ops/write_tokens.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/service_deps.h"

namespace foretoken::rpc {

// Whether the caller may ask: anyone, unless deps.require_token_to_read. Errors: UNAUTHENTICATED.
absl::Status CheckReader(const grpc::CallbackServerContext& context, const ServiceDeps& deps);

// The name of a caller who may write: that goes with the token, else with the certificate, else the one that the caller
// gives. Errors: WRITE_NOT_ALLOWED; UNAVAILABLE: the file of tokens cannot be used.
absl::StatusOr<std::string> AuthorOf(const grpc::CallbackServerContext& context, const ServiceDeps& deps);

// What the caller may see: kAdmin where no tokens are in force, kRead where there is none of the caller's.
ops::Role RoleOf(const grpc::CallbackServerContext& context, const ServiceDeps& deps);

// Ends the call of one who may not ask, counted and logged as any other. Null: the caller may.
template <typename Request>
grpc::ServerUnaryReactor* RefusedReader(grpc::CallbackServerContext* context, const Request*, const ServiceDeps& deps) {
  const absl::Status status = CheckReader(*context, deps);
  if (status.ok()) return nullptr;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(Call(*context, *deps.metrics, ops::RpcOf<Request>()).End(status));
  return reactor;
}

// Ends the call of a stream of `Response` before it begins, counted and logged as any other.
template <typename Response, typename Request>
grpc::ServerWriteReactor<Response>* EndStream(grpc::CallbackServerContext* context, const Request*,
                                              const ServiceDeps& deps, const absl::Status& status) {
  struct Ended : grpc::ServerWriteReactor<Response> {
    void OnDone() override { delete this; }
  };
  auto* ended = new Ended;
  ended->Finish(Call(*context, *deps.metrics, ops::RpcOf<Request>()).End(status));
  return ended;
}

// As RefusedReader, for a stream of `Response`.
template <typename Response, typename Request>
grpc::ServerWriteReactor<Response>* RefusedStreamReader(grpc::CallbackServerContext* context, const Request* request,
                                                        const ServiceDeps& deps) {
  const absl::Status status = CheckReader(*context, deps);
  return status.ok() ? nullptr : EndStream<Response>(context, request, deps, status);
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_ACCESS_H_

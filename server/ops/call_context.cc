#include "server/ops/call_context.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"

namespace foretoken::ops {
namespace {

struct CallContext : grpc::CallbackServerContext {
  explicit CallContext(guard::HeldBytes* bytes) : held(bytes) {}
  guard::HeldBytes* const held;
  bool holds = false;
};

}  // namespace

grpc::CallbackServerContext* HoldingContexts::NewCallbackServerContext() { return new CallContext(held_); }

void HoldingContexts::Release(grpc::CallbackServerContext* context) {
  auto* const call = dynamic_cast<CallContext*>(context);  // null: of a method that there is not
  if (call != nullptr && call->holds) held_->Release(call);
  delete context;
}

grpc::GenericCallbackServerContext* HoldingContexts::NewGenericCallbackServerContext() {
  return new grpc::GenericCallbackServerContext;
}

void HoldingContexts::Release(grpc::GenericCallbackServerContext* context) { delete context; }

absl::Status CheckRoom(const grpc::CallbackServerContext& context) {
  const auto* const call = dynamic_cast<const CallContext*>(&context);
  if (call == nullptr) return absl::OkStatus();
  return call->held->Check(HostOfPeer(context.peer()), absl::Now());
}

absl::Status HoldBytes(grpc::CallbackServerContext& context, int64_t bytes, absl::Duration patience) {
  auto* const call = dynamic_cast<CallContext*>(&context);
  if (call == nullptr) return absl::OkStatus();
  absl::Status status = call->held->Hold({.call = call,
                                          .caller = HostOfPeer(context.peer()),
                                          .bytes = bytes,
                                          .patience = patience,
                                          .cancel = [call] { call->TryCancel(); }},
                                         absl::Now());
  call->holds = call->holds || status.ok();
  return status;
}

std::string HostOfPeer(const std::string& peer) {
  if (absl::StartsWith(peer, "unix:")) return "unix";
  const size_t begin = peer.find(':') + 1;
  return peer.substr(begin, peer.rfind(':') - begin);
}

}  // namespace foretoken::ops

// What a call holds while its caller has not taken the reply: bytes that end with the call, however that ends.
//
// gRPC makes the context of every call through HoldingContexts and gives it back when the call is done: the reply was
// written, or the caller left. So what was held is let go of in one place.
#ifndef FORETOKEN_SERVER_OPS_CALL_CONTEXT_H_
#define FORETOKEN_SERVER_OPS_CALL_CONTEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server_context.h"
#include "server/guard/held_bytes.h"

namespace foretoken::ops {

// For ServerBuilder::SetContextAllocator. Thread-safe.
class HoldingContexts : public grpc::ContextAllocator {
 public:
  explicit HoldingContexts(guard::HeldBytes* held) : held_(held) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override;
  // Of calls to methods that there are not. gRPC 1.51 gives these back as the others, and would have its own deleted.
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override;
  void Release(grpc::CallbackServerContext* context) override;
  void Release(grpc::GenericCallbackServerContext* context) override;

 private:
  guard::HeldBytes* const held_;
};

// Whether more may be held for the caller of `context`. OK for a context of another server, as in tests.
// Errors: RESOURCE_EXHAUSTED.
absl::Status CheckRoom(const grpc::CallbackServerContext& context);

// Holds `bytes` for the call until it is done. After `patience` the call may be cancelled to make room for others.
// Errors: RESOURCE_EXHAUSTED.
absl::Status HoldBytes(grpc::CallbackServerContext& context, int64_t bytes, absl::Duration patience);

// "ipv4:10.0.0.7:1234" is 10.0.0.7, whatever the port; "unix:..." is "unix".
std::string HostOfPeer(const std::string& peer);

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_CALL_CONTEXT_H_

// Large replies and sweeps count against what the process holds for callers who have not read yet (guard/held_bytes.h).
// Small replies do not, because counting costs more than it saves: a plain estimate has about 500 bytes.
#ifndef FORETOKEN_SERVER_RPC_WIRE_HOLD_REPLY_H_
#define FORETOKEN_SERVER_RPC_WIRE_HOLD_REPLY_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"

namespace foretoken::rpc {

// Replies below this are not counted.
inline constexpr int64_t kSmallReplyBytes = 16 << 10;
// What a reply takes while it waits, as a multiple of its bytes on the wire: the message, and its serialised form.
inline constexpr int64_t kCopiesOfReply = 3;
// What an open sweep takes: its plan, one chunk of results and its serialised form. Measured: 0.3 to 1.4 MB.
inline constexpr int64_t kSweepBytes = 1 << 20;

// Before the work: whether there is room for another large reply of this caller. Errors: kOverloaded.
absl::Status CheckRoomForReply(const grpc::CallbackServerContext& context);

// After the work: counts `response` until the call is done. Errors: kOverloaded; `response` is then empty.
absl::Status HoldReply(grpc::CallbackServerContext& context, google::protobuf::Message& response);

// Counts a sweep until the call is done. Errors: kOverloaded.
absl::Status HoldSweep(grpc::CallbackServerContext& context);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_HOLD_REPLY_H_

#include "server/rpc/wire/hold_reply.h"

#include "server/ops/call_context.h"

namespace foretoken::rpc {
namespace {

// How long a caller may take to read before the call can be ended to make room for others.
constexpr auto kReplyPatience = absl::Seconds(10);
constexpr auto kSweepPatience = absl::Minutes(10);

}  // namespace

absl::Status CheckRoomForReply(const grpc::CallbackServerContext& context) { return ops::CheckRoom(context); }

absl::Status HoldReply(grpc::CallbackServerContext& context, google::protobuf::Message& response) {
  const auto bytes = static_cast<int64_t>(response.ByteSizeLong());
  if (bytes < kSmallReplyBytes) return absl::OkStatus();
  absl::Status status = ops::HoldBytes(context, bytes * kCopiesOfReply, kReplyPatience);
  if (!status.ok()) response.Clear();
  return status;
}

absl::Status HoldSweep(grpc::CallbackServerContext& context) {
  return ops::HoldBytes(context, kSweepBytes, kSweepPatience);
}

}  // namespace foretoken::rpc

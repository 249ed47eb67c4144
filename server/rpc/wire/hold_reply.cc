#include "server/rpc/wire/hold_reply.h"

#include <string_view>

#include "estimator/base/errors.h"
#include "server/ops/call_context.h"
#include "server/work/retry_after.h"

namespace foretoken::rpc {
namespace {

// How long a caller may take to read before the call can be ended to make room for others.
constexpr auto kReplyPatience = absl::Seconds(10);
constexpr auto kSweepPatience = absl::Minutes(10);
// When a refused caller should try again: memory is looked at and given back within seconds.
constexpr double kRetrySeconds = 1;

// A refusal of the guard, with its reason and when to try again.
absl::Status AsOverload(const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status refusal =
      Refusal(Reason::kOverloaded, "", std::string_view(status.message().data(), status.message().size()));
  work::SetRetryAfter(kRetrySeconds, refusal);
  return refusal;
}

}  // namespace

absl::Status CheckRoomForReply(const grpc::CallbackServerContext& context) {
  return AsOverload(ops::CheckRoom(context));
}

absl::Status HoldReply(grpc::CallbackServerContext& context, google::protobuf::Message& response) {
  const auto bytes = static_cast<int64_t>(response.ByteSizeLong());
  if (bytes < kSmallReplyBytes) return absl::OkStatus();
  absl::Status status = ops::HoldBytes(context, bytes * kCopiesOfReply, kReplyPatience);
  status = AsOverload(status);
  if (!status.ok()) response.Clear();
  return status;
}

absl::Status HoldSweep(grpc::CallbackServerContext& context) {
  return AsOverload(ops::HoldBytes(context, kSweepBytes, kSweepPatience));
}

}  // namespace foretoken::rpc

#include "server/rpc/wire/call.h"

#include <string>

#include "server/ops/log.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {
namespace {

// Faults of ours or of the store, and every write: few lines, each worth reading.
void LogIfNotable(const ops::Rpc& rpc, const absl::Status& status) {
  const bool fault = absl::IsInternal(status) || absl::IsUnknown(status) || absl::IsUnavailable(status);
  if (!fault && !rpc.writes) return;
  ops::Log(
      fault ? ops::LogLevel::kError : ops::LogLevel::kInfo, "call",
      {{"method", rpc.method},
       {"code", absl::StatusCodeToString(status.code())},
       {"message", Truncate(std::string_view(status.message().data(), status.message().size()), kMaxMessageBytes)}});
}

}  // namespace

Call::Call(const grpc::CallbackServerContext& context, ops::Metrics& metrics, const ops::Rpc& rpc)
    : context_(&context), metrics_(&metrics), rpc_(&rpc) {
  metrics.CallStarted(rpc);
}

bool Call::Cancelled() const {
  return context_->IsCancelled() || std::chrono::system_clock::now() > context_->deadline();
}

grpc::Status Call::End(absl::Status status) const {
  if (absl::IsCancelled(status) && std::chrono::system_clock::now() > context_->deadline()) {
    status = absl::DeadlineExceededError(status.message());
  }
  grpc::Status result = ToGrpcStatus(status);
  metrics_->CallHandled(*rpc_, result.error_code(), std::chrono::steady_clock::now() - start_);
  LogIfNotable(*rpc_, status);
  return result;
}

}  // namespace foretoken::rpc

#include "server/rpc/wire/call.h"

#include "server/rpc/wire/call_log.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {

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
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start_;
  metrics_->CallHandled(*rpc_, result.error_code(), time);
  LogCall(*context_, *rpc_, status, time);
  return result;
}

}  // namespace foretoken::rpc

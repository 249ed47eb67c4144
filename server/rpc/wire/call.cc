#include "server/rpc/wire/call.h"

#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/rpc/wire/call_log.h"
#include "server/rpc/wire/status.h"
#include "server/work/retry_after.h"

namespace foretoken::rpc {

Call::Call(const grpc::CallbackServerContext& context, ops::Metrics& metrics, const ops::Rpc& rpc)
    : context_(&context), metrics_(&metrics), rpc_(&rpc) {
  metrics.CallStarted(rpc);
}

absl::Duration Call::TimeLeft() const { return absl::FromChrono(context_->deadline()) - absl::Now(); }

bool Call::Cancelled() const {
  if (ticket_ != nullptr) ticket_->GiveWay();
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

void AddPushback(grpc::CallbackServerContext& context, const absl::Status& refusal) {
  const std::optional<double> seconds = work::RetryAfterOf(refusal);
  if (seconds) context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(std::lround(*seconds * 1e3)));
}

}  // namespace foretoken::rpc

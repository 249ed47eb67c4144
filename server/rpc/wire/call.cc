#include "server/rpc/wire/call.h"

#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/ops/log.h"
#include "server/rpc/wire/status.h"
#include "server/work/retry_after.h"

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
  metrics_->CallHandled(*rpc_, result.error_code(), std::chrono::steady_clock::now() - start_);
  LogIfNotable(*rpc_, status);
  return result;
}

void AddPushback(grpc::CallbackServerContext& context, const absl::Status& refusal) {
  const std::optional<double> seconds = work::RetryAfterOf(refusal);
  if (seconds) context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(std::lround(*seconds * 1e3)));
}

}  // namespace foretoken::rpc

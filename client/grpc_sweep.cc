#include "client/grpc_sweep.h"

#include <utility>

#include "client/request_text.h"
#include "client/status_details.h"

namespace foretoken::client {

GrpcSweep::GrpcSweep(v1::EstimatorService::StubInterface& stub, const v1::SweepRequest& request, RetryLoop retry,
                     Metadata metadata)
    : stub_(stub), request_(request), retry_(std::move(retry)), metadata_(std::move(metadata)) {}

GrpcSweep::~GrpcSweep() {
  if (reader_ == nullptr || finished_) return;
  Cancel();
  Finish().IgnoreError();
}

void GrpcSweep::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

absl::Status GrpcSweep::Finish() {
  // A reader must be drained before Finish, or Finish waits for messages that are never read.
  v1::SweepResponse rest;
  while (reader_->Read(&rest)) {
  }
  finished_ = true;
  const grpc::Status status = reader_->Finish();
  absl::MutexLock lock(&mutex_);
  const absl::Status known =
      cancelled_ ? FromWire(status.error_code(), status.error_message(), status.error_details()) : FromCall(status);
  return NameUnsendable(known, request_);
}

absl::Status GrpcSweep::Open() {
  reader_.reset();
  {
    absl::MutexLock lock(&mutex_);
    if (cancelled_) return absl::CancelledError("the sweep was cancelled before it began");
    context_ = std::make_unique<grpc::ClientContext>();
    for (const auto& [key, value] : metadata_) context_->AddMetadata(key, value);
    if (retry_.deadline != absl::InfiniteFuture()) context_->set_deadline(absl::ToChronoTime(retry_.deadline));
  }
  finished_ = false;
  reader_ = stub_.Sweep(context_.get(), request_);
  v1::SweepResponse first;
  if (!reader_->Read(&first)) {
    const absl::Status status = Finish();
    return status.ok() ? absl::DataLossError("the sweep ended without a header") : status;
  }
  if (!first.has_header()) return absl::DataLossError("the sweep does not begin with a header");
  header_ = std::move(*first.mutable_header());
  return absl::OkStatus();
}

absl::StatusOr<v1::SweepHeader> GrpcSweep::ReadHeader() {
  if (!header_.has_value()) {
    const absl::Status status = CallWithRetry(retry_, [this] { return Open(); });
    if (!status.ok()) return status;
  }
  return *header_;
}

absl::StatusOr<std::optional<v1::SweepChunk>> GrpcSweep::ReadChunk() {
  if (!header_.has_value()) return absl::FailedPreconditionError("ReadChunk before ReadHeader");
  if (finished_) return std::nullopt;
  v1::SweepResponse message;
  while (reader_->Read(&message)) {
    if (message.has_chunk()) return std::move(*message.mutable_chunk());
    if (!message.has_summary()) continue;
    summary_ = std::move(*message.mutable_summary());
    const absl::Status status = Finish();
    if (!status.ok()) return status;
    return std::nullopt;
  }
  const absl::Status status = Finish();
  return status.ok() ? absl::DataLossError("the sweep ended without a summary") : status;
}

}  // namespace foretoken::client

// The sweep stream over gRPC.
#ifndef FORETOKEN_CLIENT_GRPC_SWEEP_H_
#define FORETOKEN_CLIENT_GRPC_SWEEP_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/grpc_call.h"
#include "client/retry.h"
#include "client/sweep.h"
#include "foretoken/v1/estimator_service.grpc.pb.h"

namespace foretoken::client {

// See SweepStream. REQUIRES: `stub` outlives the stream.
class GrpcSweep : public SweepStream {
 public:
  GrpcSweep(v1::EstimatorService::StubInterface& stub, const v1::SweepRequest& request, RetryLoop retry,
            Metadata metadata);
  ~GrpcSweep() override;

  absl::StatusOr<v1::SweepHeader> ReadHeader() override;
  absl::StatusOr<std::optional<v1::SweepChunk>> ReadChunk() override;
  const v1::SweepSummary& summary() const override { return summary_; }
  void Cancel() override;

 private:
  // Opens the call and reads its first message.
  absl::Status Open();
  // The status of a call that has no more messages.
  absl::Status Finish();

  v1::EstimatorService::StubInterface& stub_;
  const v1::SweepRequest request_;
  const RetryLoop retry_;
  const Metadata metadata_;
  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::ClientContext> context_;  // replaced under mutex_; the reader dies before it
  std::unique_ptr<grpc::ClientReaderInterface<v1::SweepResponse>> reader_;
  std::optional<v1::SweepHeader> header_;
  v1::SweepSummary summary_;
  bool finished_ = false;
};

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_GRPC_SWEEP_H_

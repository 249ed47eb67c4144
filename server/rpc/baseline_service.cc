#include "server/rpc/baseline_service.h"

#include <algorithm>

namespace foretoken::rpc {
namespace {

constexpr int kMostPayload = 1 << 20;

class ColumnsReactor : public grpc::ServerWriteReactor<v1::SweepResponse> {
 public:
  explicit ColumnsReactor(const baseline::ColumnsRequest& request)
      : points_(std::clamp(request.chunk_points(), 1, 4096)), left_(request.total_points()) {
    v1::SweepChunk& chunk = *response_.mutable_chunk();
    chunk.set_num_points(points_);
    for (int metric = 1; metric <= std::min<int>(request.metrics(), v1::Metric_MAX); ++metric) {
      v1::SweepColumn* column = chunk.add_columns();
      column->set_metric(static_cast<v1::Metric>(metric));
      column->mutable_values()->Resize(points_, metric / 3.0);
    }
    chunk.add_statuses(0);
    chunk.add_reasons(v1::REASON_UNSPECIFIED);
    chunk.add_provenances(v1::PROVENANCE_CALIBRATED);
    Next();
  }

  void OnWriteDone(bool ok) override { ok ? Next() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (left_ <= 0) return Finish(grpc::Status::OK);
    left_ -= points_;
    StartWrite(&response_);
  }

  const int points_;  // of a chunk
  int64_t left_;
  v1::SweepResponse response_;
};

}  // namespace

grpc::ServerUnaryReactor* BaselineService::Empty(grpc::CallbackServerContext* context, const google::protobuf::Empty*,
                                                 google::protobuf::Empty*) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* BaselineService::Payload(grpc::CallbackServerContext* context,
                                                   const baseline::PayloadRequest* request,
                                                   baseline::PayloadReply* reply) {
  reply->mutable_payload()->assign(std::clamp(request->reply_bytes(), 0, kMostPayload), 'x');
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::SweepResponse>* BaselineService::Columns(grpc::CallbackServerContext*,
                                                                      const baseline::ColumnsRequest* request) {
  return new ColumnsReactor(*request);
}

}  // namespace foretoken::rpc

#include "server/rpc/sweep/sweep_reactor.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/sweep/sweep_plan.h"
#include "server/rpc/sweep/sweep_runner.h"
#include "server/rpc/wire/call.h"

namespace foretoken::rpc {
namespace {

// Work and writes follow one another, so no two threads are in here at once.
class SweepReactor : public grpc::ServerWriteReactor<v1::SweepResponse> {
 public:
  SweepReactor(grpc::CallbackServerContext* context, const v1::SweepRequest* request, const ServiceDeps& deps)
      : request_(request), deps_(deps), call_(*context, *deps.metrics, ops::RpcOf<v1::SweepRequest>()) {
    deps_.sweeps->Run([this] { Begin(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the caller left"));
    deps_.sweeps->Run([this] { Continue(); });
  }
  void OnDone() override { delete this; }

 private:
  void Begin() {
    if (call_.Cancelled()) return End(absl::CancelledError("the caller gave up before the first point"));
    absl::StatusOr<SweepPlan> plan =
        PlanSweep(*request_, deps_.catalog->snapshot(), deps_.clock(), deps_.max_sweep_points, deps_.max_cpu_per_call);
    if (!plan.ok()) return End(plan.status());
    runner_ = std::make_unique<SweepRunner>(*std::move(plan));
    *response_.mutable_header() = runner_->plan().Header();
    StartWrite(&response_);
  }

  void Continue() {
    if (runner_->done()) return Summarise();
    const int64_t before = runner_->points_done();
    const bool complete = runner_->NextChunk([this] { return call_.Cancelled(); }, *response_.mutable_chunk());
    deps_.metrics->SweepPoints(runner_->points_done() - before);
    if (complete) return StartWrite(&response_);
    End(absl::CancelledError(absl::StrCat("the caller gave up after ", runner_->points_done(), " points")));
  }

  void Summarise() {
    *response_.mutable_summary() = runner_->Summary();
    StartWriteAndFinish(&response_, grpc::WriteOptions(), call_.End(absl::OkStatus()));
  }

  void End(const absl::Status& status) { Finish(call_.End(status)); }

  const v1::SweepRequest* request_;
  const ServiceDeps& deps_;
  Call call_;
  std::unique_ptr<SweepRunner> runner_;
  v1::SweepResponse response_;
};

}  // namespace

grpc::ServerWriteReactor<v1::SweepResponse>* StartSweep(grpc::CallbackServerContext* context,
                                                        const v1::SweepRequest* request, const ServiceDeps& deps) {
  return new SweepReactor(context, request, deps);
}

}  // namespace foretoken::rpc

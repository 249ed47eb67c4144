#include "server/rpc/sweep/sweep_reactor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/estimate/cpu_budget.h"
#include "server/rpc/sweep/sweep_plan.h"
#include "server/rpc/sweep/sweep_runner.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/large_call.h"

namespace foretoken::rpc {
namespace {

// The points of a request's grid as it states them, before anything is checked.
double PointsAsked(const v1::SweepRequest& request, int64_t most) {
  double points = 1;
  for (const v1::SweepAxis& axis : request.axes()) {
    const double values = axis.numbers().values_size() + axis.texts().values_size() + axis.dtypes().values_size() +
                          axis.linear().count() + axis.logarithmic().count();
    points *= std::max(1.0, values);
  }
  return std::min(points, static_cast<double>(most));
}

// Work and writes follow one another, so no two threads are in here at once, except for OnCancel. Every chunk is a
// turn, which the runner interrupts between points.
class SweepReactor : public grpc::ServerWriteReactor<v1::SweepResponse> {
 public:
  SweepReactor(grpc::CallbackServerContext* context, const v1::SweepRequest* request, const ServiceDeps& deps)
      : request_(request), deps_(deps), call_(*context, *deps.metrics, ops::RpcOf<v1::SweepRequest>()) {
    work::JobSpec job = JobOf(*context, call_, deps_, MemoryOf(*request_));
    job.kind = steps_ > 0 ? work::JobKind::kSimulate : work::JobKind::kSweep;
    job.units = UnitsOf(PointsAsked(*request_, deps_.max_sweep_points));
    absl::StatusOr<std::unique_ptr<work::Ticket>> ticket = deps_.work->Admit(std::move(job));
    if (!ticket.ok()) {
      AddPushback(*context, ticket.status());
      End(ticket.status());
      return;
    }
    ticket_ = *std::move(ticket);
    call_.SetTurn(ticket_.get());
    ticket_->Run([this] { Begin(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the caller left"));
    ticket_->Run([this] { Continue(); });
  }
  void OnCancel() override {
    if (ticket_ != nullptr && ticket_->Withdraw()) End(absl::CancelledError("the caller gave up while it waited"));
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
    ticket_->Did(UnitsOf(static_cast<double>(runner_->points_done() - before)));
    if (complete) return StartWrite(&response_);
    End(absl::CancelledError(absl::StrCat("the caller gave up after ", runner_->points_done(), " points")));
  }

  void Summarise() {
    *response_.mutable_summary() = runner_->Summary();
    StartWriteAndFinish(&response_, grpc::WriteOptions(), call_.End(absl::OkStatus()));
  }

  void End(const absl::Status& status) { Finish(call_.End(status)); }
  // Points, or the steps that finding their percentiles may take.
  double UnitsOf(double points) const { return steps_ > 0 ? points * steps_ : points; }

  const v1::SweepRequest* request_;
  const ServiceDeps& deps_;
  const double steps_ = SimulatedSteps(request_->base().slo());
  Call call_;
  std::unique_ptr<work::Ticket> ticket_;  // null: refused
  std::unique_ptr<SweepRunner> runner_;
  v1::SweepResponse response_;
};

}  // namespace

grpc::ServerWriteReactor<v1::SweepResponse>* StartSweep(grpc::CallbackServerContext* context,
                                                        const v1::SweepRequest* request, const ServiceDeps& deps) {
  return new SweepReactor(context, request, deps);
}

}  // namespace foretoken::rpc

#include "server/rpc/wire/large_call.h"

#include <map>
namespace foretoken::rpc {
namespace {

absl::Status GaveUp() { return absl::CancelledError("the caller gave up before the call had its turn"); }

// Stages follow one another, so no two threads are in here at once, except for OnCancel. Deletes itself when the call
// is done.
class StagedCall : public grpc::ServerUnaryReactor {
 public:
  explicit StagedCall(const Call& call) : call_(call) {}

  // Errors: kOverloaded.
  absl::Status Admit(const work::JobSpec& job, std::vector<CallStage> stages) {
    for (CallStage& stage : stages) {
      const absl::StatusOr<work::Ticket*> ticket = TicketOf(stage, job);
      if (!ticket.ok()) return ticket.status();
      stages_.push_back({*ticket, stage.units, std::move(stage.body)});
    }
    return absl::OkStatus();
  }

  void Begin() {
    stages_[0].ticket->Run([this] { RunStage(0); });
  }
  void Refuse(const absl::Status& status) { Finish(call_.End(status)); }

  void OnCancel() override {
    bool taken_back = false;
    for (const auto& [scheduler, ticket] : tickets_) taken_back = taken_back || ticket->Withdraw();
    if (taken_back) Finish(call_.End(GaveUp()));
  }
  void OnDone() override { delete this; }

 private:
  struct Stage {
    work::Ticket* ticket;
    double units;
    std::function<absl::Status(const Call&)> body;
  };

  // One for all stages of a scheduler. What is refused leaves none behind, because OnCancel takes all of them back.
  absl::StatusOr<work::Ticket*> TicketOf(const CallStage& stage, const work::JobSpec& job) {
    const auto found = tickets_.find(stage.scheduler);
    if (found != tickets_.end()) return found->second.get();
    work::JobSpec spec = job;
    spec.kind = stage.kind;
    spec.units = stage.units;
    absl::StatusOr<std::unique_ptr<work::Ticket>> admitted = stage.scheduler->Admit(std::move(spec));
    if (!admitted.ok()) return admitted.status();
    return tickets_.emplace(stage.scheduler, *std::move(admitted)).first->second.get();
  }

  void RunStage(size_t index) {
    const Stage& stage = stages_[index];
    call_.SetTurn(stage.ticket);
    const absl::Status status = call_.Cancelled() ? GaveUp() : stage.body(call_);
    if (status.ok()) stage.ticket->Did(stage.units);
    if (!status.ok() || index + 1 == stages_.size()) return Finish(call_.End(status));
    stages_[index + 1].ticket->Run([this, index] { RunStage(index + 1); });
  }

  Call call_;
  std::map<work::FairScheduler*, std::unique_ptr<work::Ticket>> tickets_;
  std::vector<Stage> stages_;
};

}  // namespace

int64_t MemoryOf(const google::protobuf::Message& request) {
  constexpr int64_t kMemoryPerByte = 16;
  return kMemoryPerByte * static_cast<int64_t>(request.ByteSizeLong());
}

work::JobSpec JobOf(const grpc::CallbackServerContext& context, const Call& call, const ServiceDeps& deps,
                    int64_t request_bytes) {
  return {.caller = deps.caller_names != nullptr ? deps.caller_names->NameOf(context) : AddressOfPeer(context.peer()),
          .bytes = request_bytes,
          .time_left = call.TimeLeft()};
}

grpc::ServerUnaryReactor* StartStages(grpc::CallbackServerContext* context, const Call& call, const work::JobSpec& job,
                                      std::vector<CallStage> stages) {
  auto* reactor = new StagedCall(call);
  const absl::Status admitted = reactor->Admit(job, std::move(stages));
  if (admitted.ok()) {
    reactor->Begin();
  } else {
    AddPushback(*context, admitted);
    reactor->Refuse(admitted);
  }
  return reactor;
}

}  // namespace foretoken::rpc

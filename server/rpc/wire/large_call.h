// Unary calls that must not run on the threads that serve the others: they take turns on a scheduler, or several one
// after the other.
#ifndef FORETOKEN_SERVER_RPC_WIRE_LARGE_CALL_H_
#define FORETOKEN_SERVER_RPC_WIRE_LARGE_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/service_deps.h"
#include "server/work/fair_scheduler.h"

namespace foretoken::rpc {

// One part of a call, and where it runs. The next part follows where this one is OK.
struct CallStage {
  work::FairScheduler* scheduler = nullptr;
  work::JobKind kind = work::JobKind::kSolve;
  double units = 1;
  std::function<absl::Status(const Call&)> body;
};

// What the scheduler is told of a call: its caller, its deadline, and the bytes of memory that its request holds.
work::JobSpec JobOf(const grpc::CallbackServerContext& context, const Call& call, const ServiceDeps& deps,
                    int64_t request_bytes);

// Memory of a parsed request, by its size on the wire. A list of small messages takes the most: measured 17 times the
// wire's bytes for a batch.
int64_t MemoryOf(const google::protobuf::Message& request);

// Answers with the status of the last stage, or of the first that is not OK. Refuses at once where the scheduler of a
// stage refuses. A caller who gives up before a stage has its turn is answered then, without the stage.
grpc::ServerUnaryReactor* StartStages(grpc::CallbackServerContext* context, const Call& call, const work::JobSpec& job,
                                      std::vector<CallStage> stages);

template <typename Request>
grpc::ServerUnaryReactor* ServeInStages(grpc::CallbackServerContext* context, const Request* request,
                                        const ServiceDeps& deps, std::vector<CallStage> stages) {
  const Call call(*context, *deps.metrics, ops::RpcOf<Request>());
  return StartStages(context, call, JobOf(*context, call, deps, MemoryOf(*request)), std::move(stages));
}

// The same with one stage.
template <typename Request>
grpc::ServerUnaryReactor* ServeLarge(grpc::CallbackServerContext* context, const Request* request,
                                     const ServiceDeps& deps, CallStage stage) {
  std::vector<CallStage> stages;
  stages.push_back(std::move(stage));
  return ServeInStages(context, request, deps, std::move(stages));
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_LARGE_CALL_H_

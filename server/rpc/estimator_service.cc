#include "server/rpc/estimator_service.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "google/protobuf/arena.h"
#include "grpcpp/support/message_allocator.h"
#include "server/rpc/estimate/batch_size.h"
#include "server/rpc/estimate/cpu_budget.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/simulate/simulate_api.h"
#include "server/rpc/solve/solve_api.h"
#include "server/rpc/sweep/sweep_reactor.h"
#include "server/rpc/wire/access.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/hold_reply.h"
#include "server/rpc/wire/large_call.h"

namespace foretoken::rpc {
namespace {

// Above these a call computes for about a quarter of a millisecond and leaves the threads that serve the others.
constexpr int kManyCandidates = 64;
constexpr int kManyTokenLatencies = 1'000;
constexpr int kEstimatesOfASearch = 40;

bool HasManyLatencies(const v1::EstimateRequest& request) {
  const v1::Workload& workload = request.scenario().workload();
  const bool many = workload.output_tokens() > kManyTokenLatencies || workload.has_output_length_distribution();
  return request.include_token_latencies() && many;
}

// Keeps the messages of one call in one arena, because a reply is dozens of small messages. A thread reuses the arenas
// of its last calls.
template <typename Request, typename Response>
class ArenaAllocator : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override {
    std::vector<std::unique_ptr<Holder>>& kept = Kept();
    std::unique_ptr<Holder> holder;
    if (kept.empty()) {
      holder = std::make_unique<Holder>();
    } else {
      holder = std::move(kept.back());
      kept.pop_back();
    }
    holder->Fill();
    return holder.release();
  }

 private:
  static constexpr size_t kMostKept = 64;

  struct Holder : grpc::MessageHolder<Request, Response> {
    Holder() : arena(Options(first_block.data(), first_block.size())) {}
    static google::protobuf::ArenaOptions Options(char* block, size_t size) {
      google::protobuf::ArenaOptions options;
      options.initial_block = block;
      options.initial_block_size = size;
      options.max_block_size = 64 << 10;  // a reply of a thousand candidates is half a megabyte
      return options;
    }
    void Fill() {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena));
    }
    void Release() override {
      arena.Reset();  // all but the first block is given back
      if (Kept().size() < kMostKept) {
        Kept().emplace_back(this);
      } else {
        delete this;
      }
    }

    alignas(8) std::array<char, 4096> first_block;  // enough for one estimate
    google::protobuf::Arena arena;
  };

  static std::vector<std::unique_ptr<Holder>>& Kept() {
    static thread_local std::vector<std::unique_ptr<Holder>> kept;
    return kept;
  }
};

using BatchMessages = grpc::MessageHolder<v1::BatchEstimateRequest, v1::BatchEstimateResponse>;

struct ReleaseMessages {
  void operator()(BatchMessages* messages) const { messages->Release(); }
};

ArenaAllocator<v1::BatchEstimateRequest, v1::BatchEstimateResponse>& Batches() {
  static ArenaAllocator<v1::BatchEstimateRequest, v1::BatchEstimateResponse> batches;
  return batches;
}

bool ParseBytes(const grpc::ByteBuffer& bytes, v1::BatchEstimateRequest& request) {
  grpc::ByteBuffer shared = bytes;
  return grpc::SerializationTraits<v1::BatchEstimateRequest>::Deserialize(&shared, &request).ok();
}

void WriteBytes(const v1::BatchEstimateResponse& response, grpc::ByteBuffer& bytes) {
  bool own_buffer = false;
  grpc::SerializationTraits<v1::BatchEstimateResponse>::Serialize(response, &bytes, &own_buffer);
}

void CountVerdict(const v1::Estimate& estimate, ops::Metrics& metrics) {
  if (estimate.has_slo_verdict()) metrics.SloVerdict(static_cast<Verdict>(estimate.slo_verdict().verdict()));
}

// Answers from the snapshot in turn with other large calls, until the caller gives up. The reply is counted until the
// caller has it. `stage`: where and as how much work; its body is the answer.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* ServeSearch(const ServiceDeps& deps, grpc::CallbackServerContext* context,
                                      const Request* request, Response* response, CallStage stage,
                                      absl::Status (*answer)(const Request&, const Moment&, Cancelled, Response&)) {
  if (auto* refused = RefusedReader(context, request, deps)) return refused;
  stage.body = [=, &deps](const Call& call) {
    if (absl::Status full = CheckRoomForReply(*context); !full.ok()) return full;
    const auto snapshot = deps.catalog->snapshot();
    const auto cancelled = [&call] { return call.Cancelled(); };
    absl::Status status = answer(*request, {*snapshot, deps.clock(), deps.max_cpu_per_call}, cancelled, *response);
    return status.ok() ? HoldReply(*context, *response) : status;
  };
  return ServeLarge(context, request, deps, std::move(stage));
}

}  // namespace

EstimatorService::EstimatorService(const ServiceDeps& deps) : deps_(deps) {
  static ArenaAllocator<v1::EstimateRequest, v1::EstimateResponse> estimates;
  SetMessageAllocatorFor_Estimate(&estimates);
}

grpc::ServerUnaryReactor* EstimatorService::Estimate(grpc::CallbackServerContext* context,
                                                     const v1::EstimateRequest* request,
                                                     v1::EstimateResponse* response) {
  if (auto* refused = RefusedReader(context, request, deps_)) return refused;
  const auto answer = [this, context, request, response](const Call&) {
    const auto snapshot = deps_.catalog->snapshot();
    absl::Status status = AnswerEstimate(*request, {*snapshot, deps_.clock()}, *response);
    if (status.ok()) CountVerdict(response->estimate(), *deps_.metrics);
    if (status.ok() && request->include_token_latencies()) status = HoldReply(*context, *response);
    return status;
  };
  const double steps = SimulatedSteps(request->scenario().slo());
  if (steps > 0) return ServeLarge(context, request, deps_, {deps_.work, work::JobKind::kSimulate, steps, answer});
  if (!HasManyLatencies(*request)) return Serve(context, request, *deps_.metrics, answer);
  const double tokens = std::max(kManyTokenLatencies, request->scenario().workload().output_tokens());
  return ServeLarge(context, request, deps_, {deps_.work, work::JobKind::kEstimate, tokens, answer});
}

absl::Status EstimatorService::AnswerBatchBytes(const Call& call, grpc::CallbackServerContext& context, bool large,
                                                const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
  if (large) {
    if (absl::Status full = CheckRoomForReply(context); !full.ok()) return full;
  }
  const std::unique_ptr<BatchMessages, ReleaseMessages> messages(Batches().AllocateMessages());
  if (!ParseBytes(request, *messages->request())) {
    return absl::InvalidArgumentError("the message is no foretoken.v1.BatchEstimateRequest");
  }
  v1::BatchEstimateResponse& reply = *messages->response();
  deps_.metrics->BatchCandidates(messages->request()->candidates_size());
  const auto snapshot = deps_.catalog->snapshot();
  const auto cancelled = [&call] { return call.Cancelled(); };
  absl::Status status =
      AnswerBatch(*messages->request(), {*snapshot, deps_.clock(), deps_.max_cpu_per_call}, cancelled, reply);
  for (const v1::CandidateResult& result : reply.results()) CountVerdict(result.estimate(), *deps_.metrics);
  if (status.ok() && large) status = HoldReply(context, reply);
  if (status.ok()) WriteBytes(reply, response);
  return status;
}

grpc::ServerUnaryReactor* EstimatorService::BatchEstimate(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  constexpr const v1::BatchEstimateRequest* kType = nullptr;
  if (auto* refused = RefusedReader(context, kType, deps_)) return refused;
  const BatchSize size = SizeOf(*request);
  const bool large = size.candidates > kManyCandidates || size.simulated_steps > 0;
  const auto answer = [=, this](const Call& call) {
    return AnswerBatchBytes(call, *context, large, *request, *response);
  };
  if (!large) return Serve(context, kType, *deps_.metrics, answer);
  const Call call(*context, *deps_.metrics, ops::RpcOf<v1::BatchEstimateRequest>());
  const work::JobSpec job = JobOf(*context, call, deps_, static_cast<int64_t>(request->Length()));
  if (size.simulated_steps > 0) {
    return StartStages(context, call, job, {{deps_.work, work::JobKind::kSimulate, size.simulated_steps, answer}});
  }
  return StartStages(context, call, job,
                     {{deps_.work, work::JobKind::kBatch, static_cast<double>(size.candidates), answer}});
}

grpc::ServerWriteReactor<v1::SweepResponse>* EstimatorService::Sweep(grpc::CallbackServerContext* context,
                                                                     const v1::SweepRequest* request) {
  if (auto* refused = RefusedStreamReader<v1::SweepResponse>(context, request, deps_)) return refused;
  if (absl::Status full = HoldSweep(*context); !full.ok()) {
    return EndStream<v1::SweepResponse>(context, request, deps_, full);
  }
  return StartSweep(context, request, deps_);
}

// A search estimates up to hundreds of times.
grpc::ServerUnaryReactor* EstimatorService::Solve(grpc::CallbackServerContext* context, const v1::SolveRequest* request,
                                                  v1::SolveResponse* response) {
  const double estimates = std::max(kEstimatesOfASearch, request->candidates_size());
  return ServeSearch(deps_, context, request, response, {deps_.work, work::JobKind::kSolve, estimates, {}},
                     AnswerSolve);
}

// A simulation takes up to seconds. It is admitted as if it took every step that it may.
grpc::ServerUnaryReactor* EstimatorService::Simulate(grpc::CallbackServerContext* context,
                                                     const v1::SimulateRequest* request,
                                                     v1::SimulateResponse* response) {
  return ServeSearch(deps_, context, request, response, {deps_.work, work::JobKind::kSimulate, MostSteps(*request), {}},
                     AnswerSimulate);
}

}  // namespace foretoken::rpc

#include "server/rpc/wire/large_call.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "foretoken/v1/estimator_service.pb.h"
#include "server/ops/metrics.h"
#include "server/work/fair_scheduler.h"

namespace foretoken::rpc {
namespace {

// A deadline that passes, or a caller who leaves, before the refusal has reached the caller.
TEST(LargeCallTest, ARefusedCallCanBeCancelled) {
  work::FairScheduler open({.name = "open"});
  work::FairScheduler full({.name = "full", .limits = {.max_jobs = 0}});
  ops::Metrics metrics("test");
  grpc::CallbackServerContext context;
  const Call call(context, metrics, ops::RpcOf<v1::SolveRequest>());
  const auto body = [](const Call&) {
    ADD_FAILURE() << "was refused";
    return absl::OkStatus();
  };
  std::vector<CallStage> stages = {{.scheduler = &open, .body = body}, {.scheduler = &full, .body = body}};
  grpc::ServerUnaryReactor* const reactor = StartStages(&context, call, {.caller = "a"}, std::move(stages));
  EXPECT_EQ(full.statistics().refused[static_cast<size_t>(work::RefusalCause::kJobs)], 1U);
  reactor->OnCancel();
  reactor->OnDone();
  EXPECT_EQ(open.statistics().jobs, 0);
}

}  // namespace
}  // namespace foretoken::rpc

// Simulations over the wire.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "estimator/base/errors.h"
#include "server/rpc/simulate/simulate_api.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SimulateTest : public ServiceTest {
 protected:
  static v1::SimulateRequest Question(int concurrency, int requests) {
    v1::SimulateRequest request;
    *request.mutable_scenario() = Scenario(concurrency, 1000, 100);
    request.mutable_scenario()->mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    request.mutable_simulation()->set_requests(requests);
    return request;
  }

  grpc::Status Simulate(const v1::SimulateRequest& request, v1::SimulateResponse* response) {
    return Call(&v1::EstimatorService::Stub::Simulate, request, response);
  }
  v1::SimulateResponse MustSimulate(const v1::SimulateRequest& request) {
    return Must(&v1::EstimatorService::Stub::Simulate, request);
  }
};

// A request alone is what Estimate says, by the same constants.
TEST_F(SimulateTest, ARequestAloneIsItsEstimate) {
  const v1::SimulateRequest request = Question(1, 100);
  const v1::SimulateResponse simulated = MustSimulate(request);
  v1::EstimateResponse estimated;
  ASSERT_TRUE(Estimate(request.scenario(), &estimated).ok());
  const v1::Estimate& estimate = estimated.estimate();
  EXPECT_NEAR(simulated.ttft().mean().seconds() / estimate.ttft().seconds(), 1, 1e-3);
  EXPECT_NEAR(simulated.tpot().p90().seconds() / estimate.tpot().seconds(), 1, 1e-3);
  EXPECT_NEAR(simulated.e2e().p99().seconds() / estimate.e2e().seconds(), 1, 1e-3);
  EXPECT_NEAR(simulated.ttft().mean().standard_error_seconds(), 0, 1e-12);
  EXPECT_EQ(simulated.provenance(), estimate.decode().provenance());
  EXPECT_EQ(simulated.calibration_id(), estimate.calibration_id());
  EXPECT_EQ(simulated.catalog_revision().SerializeAsString(), estimated.catalog_revision().SerializeAsString());
}

TEST_F(SimulateTest, EveryFieldOfTheReplyIsFilled) {
  v1::SimulateRequest request = Question(32, 400);
  request.mutable_scenario()->mutable_slo()->set_max_ttft_seconds(0.2);
  request.mutable_simulation()->mutable_output_lengths()->mutable_log_normal()->set_mean_tokens(100);
  request.mutable_simulation()->mutable_output_lengths()->mutable_log_normal()->set_coefficient_of_variation(0.8);
  request.mutable_simulation()->mutable_scheduler()->set_kv_tokens(20'000);
  request.mutable_simulation()->set_max_steps(2'000);
  request.mutable_simulation()->set_include_requests(true);
  const v1::SimulateResponse r = MustSimulate(request);
  const google::protobuf::Reflection& reflection = *r.GetReflection();
  for (int i = 0; i < r.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *r.GetDescriptor()->field(i);
    if (field.name() == "calibration_id" || field.name() == "warnings") continue;  // there are none here
    EXPECT_TRUE(field.is_repeated() ? reflection.FieldSize(r, &field) > 0 : reflection.HasField(r, &field))
        << field.name();
  }
  EXPECT_EQ(r.request_rows_size(), r.requests());
  EXPECT_GT(r.ttft().p99().seconds(), r.ttft().p50().seconds());
  EXPECT_GT(r.preemptions(), 0);
  EXPECT_EQ(r.scheduler().policy(), v1::SCHEDULER_POLICY_MIXED);
  EXPECT_EQ(r.scheduler().max_num_seqs(), 1024);
  EXPECT_EQ(r.scheduler().max_num_batched_tokens(), 8192);
  EXPECT_EQ(r.scheduler().kv_tokens(), 20'000);
}

// Each field of the request that changes the answer, against the answer without it.
TEST_F(SimulateTest, EveryFieldOfTheRequestChangesTheAnswer) {
  using S = v1::Simulation;
  const std::pair<const char*, std::function<void(S&)>> cases[] = {
      {"seed", [](S& s) { s.set_seed(7); }},
      {"closed_loop", [](S& s) { s.mutable_closed_loop()->set_concurrency(16); }},
      {"staggered", [](S& s) { s.mutable_closed_loop()->set_staggered(true); }},
      {"open_loop", [](S& s) { s.mutable_open_loop()->set_requests_per_second(3); }},
      {"trace", [](S& s) { s.mutable_trace()->add_requests()->set_prompt_tokens(1); }},
      {"prompt_lengths", [](S& s) { s.mutable_prompt_lengths()->set_fixed_tokens(10); }},
      {"output_lengths", [](S& s) { s.mutable_output_lengths()->mutable_distribution()->set_mean_tokens(50); }},
      {"policy", [](S& s) { s.mutable_scheduler()->set_policy(v1::SCHEDULER_POLICY_PREFILL_FIRST); }},
      {"max_num_batched_tokens", [](S& s) { s.mutable_scheduler()->set_max_num_batched_tokens(512); }},
      {"max_num_seqs", [](S& s) { s.mutable_scheduler()->set_max_num_seqs(2); }},
      {"kv_block_tokens", [](S& s) { s.mutable_scheduler()->set_kv_block_tokens(64); }},
      {"kv_tokens", [](S& s) { s.mutable_scheduler()->set_kv_tokens(5000); }},
      {"requests", [](S& s) { s.set_requests(60); }},
      {"warmup_requests", [](S& s) { s.set_warmup_requests(3); }},
      {"whole_run", [](S& s) { s.set_whole_run(true); }},
      {"max_steps", [](S& s) { s.set_max_steps(50); }},
      {"include_requests", [](S& s) { s.set_include_requests(true); }},
  };
  v1::SimulateRequest base = Question(8, 100);
  base.mutable_simulation()->mutable_output_lengths()->mutable_uniform()->set_low_tokens(10);
  base.mutable_simulation()->mutable_output_lengths()->mutable_uniform()->set_high_tokens(200);
  const std::string without = MustSimulate(base).SerializeAsString();
  for (const auto& [name, change] : cases) {
    v1::SimulateRequest request = base;
    change(*request.mutable_simulation());
    if (request.simulation().has_trace()) {
      request.mutable_simulation()->mutable_trace()->mutable_requests(0)->set_output_tokens(2);
    }
    EXPECT_NE(MustSimulate(request).SerializeAsString(), without) << name;
  }
}

TEST_F(SimulateTest, AStatedRunIsSimulatedWhole) {
  v1::SimulateRequest request = Question(8, 100);
  request.mutable_simulation()->clear_requests();
  request.mutable_scenario()->mutable_workload()->set_closed_loop_requests(40);
  EXPECT_EQ(MustSimulate(request).requests(), 40);
  request.mutable_simulation()->set_requests(40);
  request.mutable_simulation()->set_whole_run(true);
  v1::SimulateRequest spelled = request;
  spelled.mutable_scenario()->mutable_workload()->clear_closed_loop_requests();
  request.mutable_simulation()->clear_requests();
  request.mutable_simulation()->clear_whole_run();
  EXPECT_EQ(MustSimulate(request).SerializeAsString(), MustSimulate(spelled).SerializeAsString());
}

TEST_F(SimulateTest, ARunIsOfAClosedLoopAndNotTooLong) {
  v1::SimulateRequest request = Question(8, 100);
  request.mutable_scenario()->mutable_workload()->set_closed_loop_requests(40);
  EXPECT_EQ(MustSimulate(request).warnings_size(), 0);
  request.mutable_simulation()->clear_requests();
  request.mutable_simulation()->mutable_open_loop()->set_requests_per_second(3);
  const v1::SimulateResponse open = MustSimulate(request);
  EXPECT_EQ(open.requests(), 2000);
  ASSERT_EQ(open.warnings_size(), 1);
  EXPECT_EQ(open.warnings(0).code(), v1::WARNING_CODE_NOT_USED);
  EXPECT_EQ(open.warnings(0).field(), "workload.closed_loop_requests");
  request.mutable_simulation()->clear_open_loop();
  request.mutable_scenario()->mutable_workload()->set_closed_loop_requests(100'001);
  v1::SimulateResponse none;
  EXPECT_EQ(Simulate(request, &none).error_message(),
            "closed_loop_requests 100001; allowed 1 to 100000 in a simulation");
}

TEST_F(SimulateTest, PoliciesHaveTheirSwitches) {
  v1::SimulateRequest request = Question(8, 100);
  v1::Scheduler& scheduler = *request.mutable_simulation()->mutable_scheduler();
  scheduler.set_policy(v1::SCHEDULER_POLICY_PREFILL_FIRST);
  EXPECT_FALSE(MustSimulate(request).scheduler().mixed_chunk());
  scheduler.set_mixed_chunk(true);
  EXPECT_TRUE(MustSimulate(request).scheduler().mixed_chunk());
  scheduler.Clear();
  scheduler.set_policy(v1::SCHEDULER_POLICY_IN_FLIGHT);
  EXPECT_FALSE(MustSimulate(request).scheduler().max_utilization());
  scheduler.set_max_utilization(true);
  scheduler.set_chunked_prompt(true);
  const v1::Scheduler answered = MustSimulate(request).scheduler();
  EXPECT_TRUE(answered.max_utilization() && answered.chunked_prompt());
}

TEST_F(SimulateTest, EndsEarlyWhereItKnowsEnough) {
  v1::SimulateRequest request = Question(8, 50'000);
  request.mutable_simulation()->mutable_prompt_lengths()->mutable_uniform()->set_low_tokens(10);
  request.mutable_simulation()->mutable_prompt_lengths()->mutable_uniform()->set_high_tokens(2000);
  request.mutable_simulation()->set_relative_error(0.1);
  const v1::SimulateResponse response = MustSimulate(request);
  EXPECT_EQ(response.end(), v1::SIMULATION_END_PRECISION);
  EXPECT_LT(response.requests(), 5'000);
}

struct Bad {
  const char* field;
  grpc::StatusCode code;
  std::function<void(v1::SimulateRequest&)> change;
};

TEST_F(SimulateTest, BadQuestionsNameTheField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto invalid = grpc::StatusCode::INVALID_ARGUMENT;
  const Bad cases[] = {
      {"scenario.model_id", invalid, [](v1::SimulateRequest& r) { r.mutable_scenario()->clear_model_id(); }},
      {"scenario.deployment.tensor_parallel", invalid,
       [](v1::SimulateRequest& r) { r.mutable_scenario()->mutable_deployment()->set_tensor_parallel(0); }},
      {"scenario.workload.batching_policy", grpc::StatusCode::UNIMPLEMENTED,
       [](v1::SimulateRequest& r) { r.mutable_scenario()->mutable_workload()->clear_batching_policy(); }},
      {"scenario.deployment.pipeline_parallel", grpc::StatusCode::UNIMPLEMENTED,
       [](v1::SimulateRequest& r) { r.mutable_scenario()->mutable_deployment()->set_pipeline_parallel(2); }},
      {"simulation.prompt_lengths", invalid,
       [](v1::SimulateRequest& r) { r.mutable_simulation()->mutable_prompt_lengths(); }},
      {"simulation.output_lengths.uniform.high_tokens", invalid,
       [](v1::SimulateRequest& r) {
         r.mutable_simulation()->mutable_output_lengths()->mutable_uniform()->set_low_tokens(5);
       }},
      {"simulation.scheduler.policy", invalid,
       [](v1::SimulateRequest& r) {
         r.mutable_simulation()->mutable_scheduler()->set_policy(static_cast<v1::SchedulerPolicy>(9));
       }},
      {"simulation.scheduler.max_num_seqs", invalid,
       [](v1::SimulateRequest& r) {
         r.mutable_simulation()->mutable_scheduler()->set_max_num_batched_tokens(10);
         r.mutable_simulation()->mutable_scheduler()->set_max_num_seqs(11);
       }},
      {"simulation.open_loop.requests_per_second", invalid,
       [=](v1::SimulateRequest& r) { r.mutable_simulation()->mutable_open_loop()->set_requests_per_second(nan); }},
      {"simulation.trace.requests", invalid, [](v1::SimulateRequest& r) { r.mutable_simulation()->mutable_trace(); }},
      {"simulation.requests", invalid, [](v1::SimulateRequest& r) { r.mutable_simulation()->set_requests(-1); }},
      {"simulation.max_steps", invalid,
       [](v1::SimulateRequest& r) { r.mutable_simulation()->set_max_steps(int64_t{1} << 60); }},
      {"simulation.include_requests", invalid,
       [](v1::SimulateRequest& r) {
         r.mutable_simulation()->set_requests(50'001);
         r.mutable_simulation()->set_include_requests(true);
       }},
      {"simulation.scheduler.kv_tokens", grpc::StatusCode::FAILED_PRECONDITION,
       [](v1::SimulateRequest& r) { r.mutable_simulation()->mutable_scheduler()->set_kv_tokens(100); }},
  };
  for (const Bad& bad : cases) {
    v1::SimulateRequest request = Question(8, 100);
    bad.change(request);
    v1::SimulateResponse response;
    const grpc::Status status = Simulate(request, &response);
    EXPECT_EQ(status.error_code(), bad.code) << bad.field << " " << status.error_message();
    EXPECT_THAT(PartsOf(status).fields, ElementsAre(bad.field)) << status.error_message();
  }
}

TEST_F(SimulateTest, AllFaultsAreTold) {
  v1::SimulateRequest request = Question(8, 0);
  request.mutable_simulation()->mutable_scheduler()->set_kv_block_tokens(0);
  v1::SimulateResponse response;
  EXPECT_THAT(PartsOf(Simulate(request, &response)).fields,
              ElementsAre("simulation.scheduler.kv_block_tokens", "simulation.requests"));
}

TEST_F(SimulateTest, AnEngineThatWasNotMeasuredIsToldOf) {
  v1::SimulateRequest request = Question(4, 50);
  request.mutable_scenario()->mutable_deployment()->set_engine("sglang@0.0.1");
  const v1::SimulateResponse response = MustSimulate(request);
  EXPECT_EQ(response.scheduler().policy(), v1::SCHEDULER_POLICY_PREFILL_FIRST);
  ASSERT_GE(response.warnings_size(), 1);
  EXPECT_EQ(response.warnings(0).field(), "deployment.engine");
}

// The work of max_steps is accounted before it begins: a million steps of 1 us.
TEST_F(SimulateTest, StepsHaveABudget) {
  const auto snapshot = catalog_->snapshot();
  const auto never = [] { return false; };
  const v1::SimulateRequest request = Question(8, 100);
  EXPECT_EQ(MostSteps(request), 1e6);
  v1::SimulateResponse response;
  const absl::Status refused = AnswerSimulate(request, {*snapshot, now_, absl::Milliseconds(500)}, never, response);
  EXPECT_EQ(DetailOf(refused).reason, Reason::kLimitExceeded);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("1000000 steps need about 1 s of CPU"));
  EXPECT_TRUE(AnswerSimulate(request, {*snapshot, now_, absl::Seconds(2)}, never, response).ok());
}

TEST_F(SimulateTest, StopsWhereItsCallerGivesUp) {
  const auto snapshot = catalog_->snapshot();
  v1::SimulateResponse response;
  const auto gone = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(AnswerSimulate(Question(8, 100), {*snapshot, now_}, gone, response)));
}

}  // namespace
}  // namespace foretoken::rpc

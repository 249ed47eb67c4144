// A call whose estimates take more CPU time than its budget is refused before the first of them, naming the budget.
#include "server/rpc/estimate/cpu_budget.h"

#include <gmock/gmock.h>

#include <string>

#include "estimator/base/errors.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/solve/solve_api.h"
#include "server/rpc/sweep/sweep_plan.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::HasSubstr;

class CpuBudgetTest : public ServiceTest {
 protected:
  // A grid of `batches` times `prompts` points.
  static v1::SweepRequest Grid(const v1::Scenario& base, int batches, int prompts) {
    v1::SweepRequest request;
    *request.mutable_base() = base;
    v1::SweepAxis* batch = request.add_axes();
    batch->set_field("workload.batch_size");
    for (int i = 1; i <= batches; ++i) batch->mutable_numbers()->add_values(i);
    v1::SweepAxis* prompt = request.add_axes();
    prompt->set_field("workload.prompt_tokens");
    for (int i = 1; i <= prompts; ++i) prompt->mutable_numbers()->add_values(100 + i);
    return request;
  }

  absl::Status Plan(const v1::SweepRequest& request, absl::Duration budget = kDefaultCpuPerCall) {
    return PlanSweep(request, catalog_->snapshot(), absl::UnixEpoch(), 100'000'000, budget).status();
  }

  static v1::Scenario Dear() {
    v1::Scenario scenario = Scenario(4, 100'000, 100);
    scenario.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    scenario.mutable_workload()->set_request_rate_per_second(0.1);
    scenario.mutable_deployment()->set_prefill_chunk_tokens(4096);
    scenario.mutable_deployment()->set_roofline_exponent(3);
    return scenario;
  }

  static void ExpectRefused(const absl::Status& status, const std::string& field) {
    EXPECT_EQ(DetailOf(status).reason, Reason::kLimitExceeded) << status;
    ASSERT_EQ(DetailOf(status).violations.size(), 1u) << status;
    EXPECT_EQ(DetailOf(status).violations[0].field, field);
    EXPECT_THAT(std::string(status.message()), HasSubstr("--max_cpu_per_call"));
  }
};

TEST_F(CpuBudgetTest, TheDefaultAdmitsTenMillionOrdinaryPoints) {
  EXPECT_TRUE(Plan(Grid(Scenario(1, 1000, 200), 2500, 4000)).ok()) << Plan(Grid(Scenario(1, 1000, 200), 2500, 4000));
  v1::Scenario routed = Scenario(1, 1000, 200);
  routed.mutable_live_load()->set_running_sequences(16);
  routed.mutable_live_load()->set_remaining_output_tokens(100);
  routed.mutable_live_load()->set_running_context_tokens(1000);
  EXPECT_TRUE(Plan(Grid(routed, 2500, 4000)).ok()) << Plan(Grid(routed, 2500, 4000));
}

TEST_F(CpuBudgetTest, RefusesTenMillionDearPoints) {
  v1::SweepRequest request = Grid(Dear(), 2500, 4000);
  for (double& tokens : *request.mutable_axes(1)->mutable_numbers()->mutable_values()) tokens += 1e6;
  const absl::Status refused = Plan(request);
  ExpectRefused(refused, "axes");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("10000000 points need about "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("allowed 3m20s"));
  EXPECT_TRUE(Plan(request, absl::Hours(2)).ok());
}

// A value of an axis that makes its points dear counts with its share of the points.
TEST_F(CpuBudgetTest, CountsTheMixOfAnAxis) {
  v1::SweepRequest request = Grid(Dear(), 1000, 2);
  for (double& tokens : *request.mutable_axes(1)->mutable_numbers()->mutable_values()) tokens += 1e6;
  v1::SweepAxis* exponent = request.add_axes();
  exponent->set_field("deployment.roofline_exponent");
  exponent->mutable_numbers()->add_values(2);
  const absl::Duration budget = absl::Milliseconds(250);
  EXPECT_TRUE(Plan(request, budget).ok()) << Plan(request, budget);
  exponent->mutable_numbers()->set_values(0, 3);
  ExpectRefused(Plan(request, budget), "axes");
}

TEST_F(CpuBudgetTest, ABatchAndASearchHaveTheSameBudget) {
  const auto snapshot = catalog_->snapshot();
  const Moment tight{*snapshot, absl::UnixEpoch(), absl::Milliseconds(1)};
  const Moment roomy{*snapshot, absl::UnixEpoch()};
  const auto never = [] { return false; };
  v1::BatchEstimateRequest batch;
  *batch.mutable_base() = Dear();
  for (int i = 0; i < 100; ++i) batch.add_candidates();
  v1::BatchEstimateResponse results;
  ExpectRefused(AnswerBatch(batch, tight, never, results), "candidates");
  EXPECT_EQ(results.results_size(), 0);
  EXPECT_TRUE(AnswerBatch(batch, roomy, never, results).ok());

  v1::SolveRequest solve;
  *solve.mutable_base() = Dear();
  solve.set_solve_for(v1::SOLVE_FOR_BATCH_SIZE);
  v1::SolveResponse solution;
  ExpectRefused(AnswerSolve(solve, tight, never, solution), "base");
  EXPECT_TRUE(AnswerSolve(solve, roomy, never, solution).ok());
  solve.set_solve_for(v1::SOLVE_FOR_HARDWARE);
  for (int i = 0; i < 100; ++i) {
    v1::HardwareCandidate* candidate = solve.add_candidates();
    candidate->set_hardware_id("nvidia-h100-sxm-80gb");
    candidate->set_price_per_device_hour(1);
  }
  ExpectRefused(AnswerSolve(solve, tight, never, solution), "candidates");
}

}  // namespace
}  // namespace foretoken::rpc

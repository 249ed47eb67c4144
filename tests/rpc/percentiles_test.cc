// Percentiles over the wire: found by a simulation that the caller allows, bounded by an SLO, swept and solved for.
#include <gmock/gmock.h>

#include "estimator/scenario/scenario.h"
#include "server/rpc/estimate/batch_size.h"
#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PercentilesTest : public SecondaryTest {
 protected:
  static constexpr int kSteps = 200'000;

  static v1::Scenario Served(double rate) {
    v1::Scenario scenario = Scenario(1, 1000, 50);
    scenario.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    scenario.mutable_workload()->set_request_rate_per_second(rate);
    scenario.mutable_slo()->set_simulated_steps(kSteps);
    return scenario;
  }

  void ExpectRefused(const v1::Scenario& scenario, const std::string& reason, const std::string& field) {
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_EQ(PartsOf(status).reason, reason) << status.error_message();
    EXPECT_THAT(PartsOf(status).fields, ElementsAre(field)) << status.error_message();
  }
};

TEST_F(PercentilesTest, AreThoseOfSimulate) {
  v1::SimulateRequest request;
  *request.mutable_scenario() = Served(10);
  request.mutable_simulation()->set_max_steps(kSteps);
  request.mutable_simulation()->set_relative_error(0.01);
  const v1::SimulateResponse simulated = Must(&v1::EstimatorService::Stub::Simulate, request);
  const v1::Percentiles found = MustEstimate(Served(10)).percentiles();
  EXPECT_EQ(found.ttft().SerializeAsString(), simulated.ttft().SerializeAsString());
  EXPECT_EQ(found.tpot().SerializeAsString(), simulated.tpot().SerializeAsString());
  EXPECT_EQ(found.itl().SerializeAsString(), simulated.itl().SerializeAsString());
  EXPECT_EQ(found.e2e().SerializeAsString(), simulated.e2e().SerializeAsString());
  EXPECT_EQ(found.requests(), simulated.requests());
  EXPECT_GT(found.ttft().p99().seconds(), found.ttft().p50().seconds());
}

TEST_F(PercentilesTest, WithoutLeaveThereAreNoneAndNothingElseDiffers) {
  v1::Estimate with = MustEstimate(Served(10));
  v1::Scenario without = Served(10);
  without.mutable_slo()->clear_simulated_steps();
  v1::Estimate plain = MustEstimate(without);
  EXPECT_FALSE(plain.has_percentiles());
  with.clear_percentiles();
  EXPECT_EQ(with.SerializeAsString(), plain.SerializeAsString());
}

TEST_F(PercentilesTest, AnSloBoundsThem) {
  const v1::Percentiles found = MustEstimate(Served(10)).percentiles();
  v1::Scenario scenario = Served(10);
  scenario.mutable_slo()->set_max_ttft_p90_seconds(2 * found.ttft().p90().seconds());
  v1::SloVerdict verdict = MustEstimate(scenario).slo_verdict();
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_FEASIBLE);
  EXPECT_NEAR(verdict.headroom(), 0.5, 1e-12);
  scenario.mutable_slo()->set_max_itl_p99_seconds(found.itl().p99().seconds() / 2);
  verdict = MustEstimate(scenario).slo_verdict();
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_INFEASIBLE);
  EXPECT_NEAR(verdict.headroom(), -1, 1e-12);
}

TEST_F(PercentilesTest, EveryBoundIsReadIntoItsOwn) {
  const v1::Percentiles found = MustEstimate(Served(10)).percentiles();
  const google::protobuf::Descriptor& slo = *v1::Slo::descriptor();
  int bounds = 0;
  for (const char* time : {"ttft", "tpot", "itl", "e2e"}) {
    for (const char* rank : {"p50", "p90", "p95", "p99"}) {
      const auto* times = found.GetDescriptor()->FindFieldByName(time);
      const google::protobuf::Message& of = found.GetReflection()->GetMessage(found, times);
      const auto* value = of.GetDescriptor()->FindFieldByName(rank);
      const double seconds =
          dynamic_cast<const v1::SimulatedTime&>(of.GetReflection()->GetMessage(of, value)).seconds();
      const auto* bound = slo.FindFieldByName(absl::StrCat("max_", time, "_", rank, "_seconds"));
      ASSERT_NE(bound, nullptr) << time << rank;
      v1::Scenario scenario = Served(10);
      scenario.slo().GetReflection()->SetDouble(scenario.mutable_slo(), bound, seconds / 3);
      EXPECT_NEAR(MustEstimate(scenario).slo_verdict().headroom(), -2, 1e-9) << bound->name();
      ++bounds;
    }
  }
  EXPECT_EQ(bounds, static_cast<int>(kServedTimes * kPercentiles));
}

TEST_F(PercentilesTest, WhatTheyNeedIsAskedFor) {
  v1::Scenario scenario = Served(10);
  scenario.mutable_slo()->set_max_ttft_p90_seconds(1);
  scenario.mutable_slo()->clear_simulated_steps();
  ExpectRefused(scenario, "INVALID_FIELD", "scenario.slo.simulated_steps");
  scenario.mutable_slo()->set_simulated_steps(1'000'001);
  ExpectRefused(scenario, "INVALID_FIELD", "scenario.slo.simulated_steps");
  scenario = Served(10);
  scenario.mutable_slo()->set_max_e2e_p99_seconds(0);
  ExpectRefused(scenario, "INVALID_FIELD", "scenario.slo.max_e2e_p99_seconds");
  scenario = Scenario(4, 1000, 50);
  scenario.mutable_slo()->set_simulated_steps(kSteps);
  ExpectRefused(scenario, "NOT_MODELLED", "scenario.workload.batching_policy");
  scenario.mutable_workload()->set_batch_size(1);
  scenario.set_method(v1::METHOD_KPI);
  ExpectRefused(scenario, "NOT_MODELLED", "scenario.method");
  scenario = Served(10);
  scenario.mutable_workload()->clear_request_rate_per_second();
  scenario.mutable_live_load()->set_running_sequences(4);
  scenario.mutable_live_load()->set_running_context_tokens(100);
  scenario.mutable_live_load()->set_remaining_output_tokens(100);
  ExpectRefused(scenario, "NOT_MODELLED", "scenario.live_load");
}

TEST_F(PercentilesTest, TooFewStepsLeaveThemUnknownWithAWarning) {
  v1::Scenario scenario = Served(10);
  scenario.mutable_slo()->set_simulated_steps(20);
  scenario.mutable_slo()->set_max_ttft_p90_seconds(1);
  const v1::Estimate estimate = MustEstimate(scenario);
  EXPECT_FALSE(estimate.has_percentiles());
  EXPECT_EQ(estimate.slo_verdict().verdict(), v1::VERDICT_UNKNOWN);
  ASSERT_GE(estimate.warnings_size(), 1);
  const v1::Warning& last = estimate.warnings(estimate.warnings_size() - 1);
  EXPECT_EQ(last.field(), "slo.simulated_steps");
  EXPECT_THAT(last.message(), HasSubstr("after 20 steps 0 of 2000 requests were counted"));
}

TEST_F(PercentilesTest, ABenchmarkInAClosedLoopIsSimulatedAsAWhole) {
  v1::Scenario scenario = Served(10);
  scenario.mutable_workload()->clear_request_rate_per_second();
  scenario.mutable_workload()->set_batch_size(8);
  scenario.mutable_workload()->set_closed_loop_requests(40);
  EXPECT_EQ(MustEstimate(scenario).percentiles().requests(), 40);
}

TEST_F(PercentilesTest, BatchesAndSweepsHaveTheSame) {
  v1::BatchEstimateRequest batch;
  *batch.mutable_base() = Served(10);
  v1::SweepRequest sweep;
  *sweep.mutable_base() = Served(10);
  sweep.add_metrics(v1::METRIC_TTFT_P90_SECONDS);
  v1::SweepAxis* axis = sweep.add_axes();
  axis->set_field("workload.request_rate_per_second");
  std::vector<double> want;
  for (const double rate : {2.0, 5.0, 10.0}) {
    axis->mutable_numbers()->add_values(rate);
    *batch.add_candidates()->mutable_workload() = Served(rate).workload();
    want.push_back(MustEstimate(Served(rate)).percentiles().ttft().p90().seconds());
  }
  const v1::BatchEstimateResponse answers = Must(&v1::EstimatorService::Stub::BatchEstimate, batch);
  ASSERT_EQ(answers.results_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answers.results(i).estimate().percentiles().ttft().p90().seconds(), want[i]);
  const v1::SweepChunk chunk = MustSweep(sweep);
  EXPECT_THAT(chunk.columns(0).values(), ::testing::ElementsAreArray(want));
}

TEST_F(PercentilesTest, TheHighestRateWithinABoundOnThem) {
  v1::SolveRequest request;
  *request.mutable_base() = Served(1);
  request.mutable_base()->mutable_slo()->set_simulated_steps(20'000);
  request.mutable_base()->mutable_slo()->set_max_ttft_p90_seconds(0.2);
  request.set_solve_for(v1::SOLVE_FOR_REQUEST_RATE);
  const v1::SolveResponse solved = Must(&v1::EstimatorService::Stub::Solve, request);
  ASSERT_TRUE(solved.satisfied()) << solved.binding_message();
  EXPECT_LE(solved.estimate().percentiles().ttft().p90().seconds(), 0.2);
  EXPECT_GT(solved.estimate().percentiles().ttft().p90().seconds(), 0.15);
  EXPECT_EQ(solved.binding_constraint(), v1::CONSTRAINT_MAX_TTFT);
  EXPECT_THAT(solved.binding_message(), HasSubstr("max_ttft_p90_seconds 0.2 is missed: 0.2"));
}

TEST_F(PercentilesTest, StepsBeyondTheBudgetAreRefused) {
  v1::BatchEstimateRequest batch;
  *batch.mutable_base() = Served(10);
  batch.mutable_base()->mutable_slo()->set_simulated_steps(1'000'000);
  for (int i = 0; i < 300; ++i) batch.add_candidates();
  v1::BatchEstimateResponse response;
  const grpc::Status status = Call(&v1::EstimatorService::Stub::BatchEstimate, batch, &response);
  EXPECT_EQ(PartsOf(status).reason, "LIMIT_EXCEEDED") << status.error_message();
}

grpc::ByteBuffer BytesOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// Where a batch runs is decided before it is parsed.
TEST(BatchSizeTest, IsReadFromTheBytes) {
  v1::BatchEstimateRequest batch;
  *batch.mutable_base()->mutable_model_id() = "m";
  batch.mutable_base()->mutable_slo()->set_max_ttft_seconds(1);
  for (int i = 0; i < 3; ++i) batch.add_candidates()->mutable_slo()->set_max_e2e_seconds(2);
  EXPECT_EQ(SizeOf(BytesOf(batch.SerializeAsString())).candidates, 3);
  EXPECT_EQ(SizeOf(BytesOf(batch.SerializeAsString())).simulated_steps, 0);
  batch.mutable_base()->mutable_slo()->set_simulated_steps(10);
  EXPECT_EQ(SizeOf(BytesOf(batch.SerializeAsString())).simulated_steps, 30);
  batch.mutable_candidates(1)->mutable_slo()->set_simulated_steps(500);
  EXPECT_EQ(SizeOf(BytesOf(batch.SerializeAsString())).simulated_steps, 1500);
  batch.mutable_candidates(2)->mutable_slo()->set_simulated_steps(-1);
  EXPECT_EQ(SizeOf(BytesOf(batch.SerializeAsString())).simulated_steps, 3.0 * kMostSimulatedSteps);
}

TEST(BatchSizeTest, TakesBytesThatAreNoRequest) {
  v1::BatchEstimateRequest batch;
  for (int i = 0; i < 3; ++i) batch.add_candidates()->mutable_slo()->set_simulated_steps(5);
  const std::string whole = batch.SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_LE(SizeOf(BytesOf(whole.substr(0, size))).candidates, 3);
  for (int byte = 0; byte < 256; ++byte) (void)SizeOf(BytesOf(std::string(50, static_cast<char>(byte))));  // no crash
}

}  // namespace
}  // namespace foretoken::rpc

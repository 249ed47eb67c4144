#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;

double Sum(const v1::TimeParts& parts) {
  return parts.compute_seconds() + parts.memory_seconds() + parts.communication_seconds() + parts.host_seconds() +
         parts.queueing_seconds();
}

TEST_F(ServiceTest, AnEstimateIsWhole) {
  v1::EstimateRequest request;
  *request.mutable_scenario() = Scenario(4, 1000, 100);
  request.mutable_scenario()->mutable_slo()->set_max_tpot_seconds(1);
  request.set_include_operators(true);
  request.set_include_token_latencies(true);
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(request, &response).ok());
  const v1::Estimate& e = response.estimate();
  EXPECT_EQ(e.method(), v1::METHOD_OPERATOR_MODEL);
  EXPECT_EQ(e.decode_steps(), 99);
  EXPECT_NEAR(Sum(e.prefill().parts()), e.ttft().seconds(), 1e-9 * e.ttft().seconds());
  EXPECT_NEAR(Sum(e.decode().parts()), 99 * e.tpot().seconds(), 1e-9 * e.e2e().seconds());
  EXPECT_NEAR(e.ttft().seconds() + 99 * e.tpot().seconds(), e.e2e().seconds(), 1e-9 * e.e2e().seconds());
  EXPECT_EQ(e.prefill().provenance(), v1::PROVENANCE_DATASHEET);
  EXPECT_EQ(e.slo_verdict().verdict(), v1::VERDICT_FEASIBLE);
  EXPECT_NEAR(e.slo_verdict().headroom(), 1 - e.tpot().seconds(), 1e-12);
  EXPECT_EQ(e.token_latency_seconds_size(), 100);
  EXPECT_GT(e.decode_operators_size(), 5);
  EXPECT_EQ(e.calibration_id(), "generic-static");
  for (const v1::TimeEstimate* time : {&e.ttft(), &e.tpot(), &e.e2e()}) {
    EXPECT_LT(time->band().low(), time->seconds());
    EXPECT_GT(time->band().high(), time->seconds());
    EXPECT_EQ(time->band().coverage(), 0.8);
  }
  EXPECT_EQ(response.catalog_revision().bundle_digest().size(), 64u);
  EXPECT_EQ(response.catalog_revision().store_revision(), 0);
}

// Dtypes that a profile leaves open are those of its model, in a spec as in a registered entry.
TEST_F(ServiceTest, AProfileOfAnInlineSpecHasItsModelsDtypes) {
  v1::Scenario scenario = Scenario(1, 1000, 100);
  v1::HardwareSpec& spec = *scenario.mutable_hardware_spec();
  spec.set_memory_capacity_bytes(80'000'000'000);
  spec.set_memory_bandwidth_bytes_per_second(2e12);
  spec.mutable_peak()->set_bf16_flops_per_second(3e14);
  v1::LinearProfile& profile = *spec.add_linear_profiles();
  profile.set_model_id(scenario.model_id());
  profile.set_prefill_tokens_per_second(10'000);
  profile.set_effective_bandwidth_bytes_per_second(1e12);
  v1::EstimateResponse open;
  const grpc::Status status = Estimate(scenario, &open);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(open.estimate().method(), v1::METHOD_LINEAR_PROFILE);
  EXPECT_DOUBLE_EQ(open.estimate().ttft().seconds(), 0.1);
  scenario.mutable_deployment()->set_weight_dtype(v1::DTYPE_FP8);
  ASSERT_TRUE(Estimate(scenario, &open).ok());
  EXPECT_EQ(open.estimate().method(), v1::METHOD_OPERATOR_MODEL);
}

// Of the bundled devices: cards that meet over PCIe, and others with NVLink.
TEST_F(ServiceTest, CardsThatMeetOverPcieAreWarnedOf) {
  struct Case {
    const char* hardware;
    int tensor_parallel;
    int warnings;
  };
  for (const Case& c : {Case{"nvidia-rtx-4090-24gb", 1, 0},
                        {"nvidia-rtx-4090-24gb", 2, 1},
                        {"nvidia-l4-24gb", 4, 1},
                        {"nvidia-h100-sxm-80gb", 2, 0},
                        {"nvidia-rtx-3090-24gb", 2, 0}}) {
    v1::Scenario scenario = Scenario(1, 1000, 100);
    scenario.set_hardware_id(c.hardware);
    scenario.mutable_deployment()->set_tensor_parallel(c.tensor_parallel);
    v1::EstimateResponse response;
    ASSERT_TRUE(Estimate(scenario, &response).ok()) << c.hardware;
    ASSERT_EQ(response.estimate().warnings_size(), c.warnings) << c.hardware << " x " << c.tensor_parallel;
    for (const v1::Warning& warning : response.estimate().warnings()) {
      EXPECT_EQ(warning.code(), v1::WARNING_CODE_PCIE_LINK);
      EXPECT_EQ(warning.field(), "hardware_spec.interconnect_name");
    }
  }
}

TEST_F(ServiceTest, OneOutputTokenIsTheNextStep) {
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(Scenario(1, 1000, 1), &response).ok());
  EXPECT_TRUE(response.estimate().tpot_is_next_step());
  EXPECT_EQ(response.estimate().e2e().seconds(), response.estimate().ttft().seconds());
  EXPECT_GT(response.estimate().tpot().seconds(), 0);
}

// A bound that the estimate meets exactly is met, for a verdict as for the best point of a sweep and for Solve.
TEST_F(ServiceTest, ABoundMetExactlyIsMet) {
  v1::Scenario scenario = Scenario(4, 1000, 100);
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  const v1::Estimate alone = response.estimate();
  struct Case {
    const char* name;
    void (v1::Slo::*set)(double);
    double found;
  };
  for (const Case& c : {Case{"TTFT", &v1::Slo::set_max_ttft_seconds, alone.ttft().seconds()},
                        Case{"TPOT", &v1::Slo::set_max_tpot_seconds, alone.tpot().seconds()},
                        Case{"E2E", &v1::Slo::set_max_e2e_seconds, alone.e2e().seconds()}}) {
    scenario.clear_slo();
    (scenario.mutable_slo()->*c.set)(c.found);
    ASSERT_TRUE(Estimate(scenario, &response).ok());
    EXPECT_EQ(response.estimate().slo_verdict().verdict(), v1::VERDICT_FEASIBLE) << c.name;
    EXPECT_EQ(response.estimate().slo_verdict().headroom(), 0) << c.name;
    v1::SolveRequest solve;
    *solve.mutable_base() = scenario;
    solve.set_solve_for(v1::SOLVE_FOR_BATCH_SIZE);
    v1::SolveResponse solved;
    grpc::ClientContext context;
    ASSERT_TRUE(estimator_->Solve(&context, solve, &solved).ok());
    EXPECT_EQ(solved.value(), 4) << c.name;
    (scenario.mutable_slo()->*c.set)(std::nextafter(c.found, 0));
    ASSERT_TRUE(Estimate(scenario, &response).ok());
    EXPECT_EQ(response.estimate().slo_verdict().verdict(), v1::VERDICT_INFEASIBLE) << c.name;
  }
}

// An idle replica's load changes nothing but that its age is told, and warned of when it is old.
TEST_F(ServiceTest, TheAgeOfALiveLoadIsEchoed) {
  v1::Scenario scenario = Scenario(1, 1000, 10);
  scenario.mutable_live_load()->set_running_sequences(0);
  scenario.mutable_live_load()->mutable_time_observed()->set_seconds(absl::ToUnixSeconds(now_) - 3);
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  EXPECT_EQ(response.estimate().live_load_age().seconds(), 3);
  EXPECT_EQ(response.estimate().warnings_size(), 0);
  now_ += absl::Seconds(60);
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  EXPECT_EQ(response.estimate().live_load_age().seconds(), 63);
  EXPECT_EQ(response.estimate().warnings(0).code(), v1::WARNING_CODE_STALE_LOAD);
}

TEST_F(ServiceTest, ALoadOfATimeToComeIsUsedWithAWarning) {
  v1::Scenario scenario = Scenario(1, 1000, 10);
  scenario.mutable_live_load()->set_running_sequences(0);
  scenario.mutable_live_load()->mutable_time_observed()->set_seconds(absl::ToUnixSeconds(now_) + 60);
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  EXPECT_EQ(response.estimate().live_load_age().seconds(), 0);
  EXPECT_EQ(response.estimate().live_load_age().nanos(), 0);
  ASSERT_EQ(response.estimate().warnings_size(), 1);
  EXPECT_EQ(response.estimate().warnings(0).code(), v1::WARNING_CODE_STALE_LOAD);
  EXPECT_EQ(response.estimate().warnings(0).field(), "live_load.time_observed");
}

// Sequences that are listed are those of their number, their mean context and what remains of each.
TEST_F(ServiceTest, SequencesMayBeListedOneByOne) {
  v1::Scenario listed = Scenario(1, 1000, 50);
  listed.mutable_live_load()->set_max_num_seqs(2);
  for (const int remaining : {30, 10}) {
    v1::LiveLoad::RunningSequence& sequence = *listed.mutable_live_load()->add_running();
    sequence.set_context_tokens(500 + remaining);
    sequence.set_remaining_output_tokens(remaining);
  }
  v1::Scenario mean = Scenario(1, 1000, 50);
  v1::LiveLoad& load = *mean.mutable_live_load();
  load.set_max_num_seqs(2);
  load.set_running_sequences(2);
  load.set_running_context_tokens(520);
  load.set_remaining_output_tokens(20);
  load.set_least_remaining_output_tokens(20);
  v1::EstimateResponse one_by_one, together;
  ASSERT_TRUE(Estimate(listed, &one_by_one).ok());
  ASSERT_TRUE(Estimate(mean, &together).ok());
  // The first ends after 10 steps, not after 20.
  EXPECT_LT(one_by_one.estimate().ttft().seconds(), together.estimate().ttft().seconds());
  for (auto& sequence : *listed.mutable_live_load()->mutable_running()) sequence.set_remaining_output_tokens(20);
  ASSERT_TRUE(Estimate(listed, &one_by_one).ok());
  EXPECT_EQ(one_by_one.estimate().ttft().seconds(), together.estimate().ttft().seconds());
}

// Half of the KV cache that the memory has room for.
TEST_F(ServiceTest, TheUseOfTheKvCacheIsAShareOfItsRoom) {
  v1::Scenario scenario = Scenario(1, 1000, 50);
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  const double room = response.estimate().memory().kv_tokens_capacity();
  scenario.mutable_live_load()->set_running_sequences(4);
  scenario.mutable_live_load()->set_remaining_output_tokens(20);
  scenario.mutable_live_load()->set_running_context_tokens(room / 4);
  const auto ttft_at = [&](double usage) {
    scenario.mutable_live_load()->set_kv_cache_usage_ratio(usage);
    EXPECT_TRUE(Estimate(scenario, &response).ok());
    return response.estimate().ttft().seconds();
  };
  const double free = ttft_at(0.5);
  EXPECT_EQ(ttft_at(0.9), free);
  EXPECT_GT(ttft_at(1), free);  // one has to end first
}

// The longest of a batch of differing outputs counts, not the output_tokens that they replace.
TEST_F(ServiceTest, TokenLatenciesAreBounded) {
  v1::EstimateRequest request;
  *request.mutable_scenario() = Scenario(8, 1000, 100);
  request.set_include_token_latencies(true);
  v1::EstimateResponse response;
  request.mutable_scenario()->mutable_workload()->set_output_tokens(100'001);
  EXPECT_EQ(PartsOf(Estimate(request, &response)).reason, "LIMIT_EXCEEDED");
  request.mutable_scenario()->mutable_workload()->set_output_tokens(1);
  request.mutable_scenario()->mutable_workload()->mutable_output_length_distribution()->set_mean_tokens(90'000);
  const grpc::Status status = Estimate(request, &response);
  EXPECT_EQ(PartsOf(status).reason, "LIMIT_EXCEEDED") << status.error_message();
  EXPECT_THAT(PartsOf(status).fields, ::testing::ElementsAre("scenario.workload.output_length_distribution"));
}

// Each policy reaches the core model, and a live load slows what it should.
TEST_F(ServiceTest, EveryWayOfServingIsAnswered) {
  const auto of = [&](const std::function<void(v1::Scenario&)>& change) {
    v1::Scenario scenario = Scenario(8, 1000, 100);
    change(scenario);
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  };
  const auto batch = of([](auto&) {});
  const auto closed = of([](auto& s) { s.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS); });
  EXPECT_GT(closed.tpot().seconds(), batch.tpot().seconds());
  EXPECT_LT(closed.ttft().seconds(), batch.ttft().seconds());
  const auto open = of([](auto& s) {
    s.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    s.mutable_workload()->set_request_rate_per_second(0.5);
  });
  EXPECT_EQ(open.throughput().requests_per_second(), 0.5);
  const auto dynamic = of([](auto& s) {
    s.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_DYNAMIC);
    s.mutable_workload()->set_request_rate_per_second(0.01);
    s.mutable_workload()->set_batching_window_seconds(0.25);
  });
  EXPECT_NEAR(dynamic.prefill().parts().queueing_seconds(), 0.25, 0.02);
  const auto lengths = of([](auto& s) {
    s.mutable_workload()->mutable_output_length_distribution()->set_mean_tokens(100);
    s.mutable_workload()->mutable_output_length_distribution()->set_max_tokens(200);
  });
  EXPECT_EQ(lengths.decode_steps(), 177);  // 200 x 8/9 tokens
  const auto idle = of([](auto& s) { s.mutable_live_load(); });
  const auto live = of([](auto& s) {
    s.mutable_live_load()->set_running_sequences(5);
    s.mutable_live_load()->set_running_context_tokens(2000);
  });
  EXPECT_GT(live.tpot().seconds(), idle.tpot().seconds());
  EXPECT_GT(live.prefill().parts().queueing_seconds(), 0);
}

// 16 in a closed loop, 1,000 in and 100 out: each field of the run changes the answer.
TEST_F(ServiceTest, EachFieldOfTheRunOfAClosedLoopIsRead) {
  v1::Scenario base = Scenario(16, 1000, 100);
  base.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  const auto of = [&](auto&& change) {
    v1::Scenario scenario = base;
    change(*scenario.mutable_workload(), *scenario.mutable_deployment());
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  };
  const v1::Estimate steady = of([](auto&, auto&) {});
  const auto waves = of([](auto&, auto& d) { d.set_scheduler(v1::SCHEDULER_POLICY_PREFILL_FIRST); });
  EXPECT_GT(waves.ttft().seconds(), steady.ttft().seconds());
  EXPECT_LT(waves.tpot().seconds(), steady.tpot().seconds());
  EXPECT_EQ(of([](auto&, auto& d) { d.set_engine("sglang"); }).ttft().seconds(), waves.ttft().seconds());
  const auto slots = of([](auto&, auto& d) { d.set_max_num_seqs(4); });
  EXPECT_GT(slots.ttft().seconds(), 2 * steady.ttft().seconds());
  const auto spread = of([](auto& w, auto&) { w.set_output_spread_tokens(10); });
  EXPECT_NE(spread.ttft().seconds(), steady.ttft().seconds());
  const auto run = of([](auto& w, auto&) {
    w.set_prompt_spread_tokens(100);
    w.set_output_spread_tokens(10);
    w.set_closed_loop_requests(32);
  });
  EXPECT_GT(run.ttft().seconds(), spread.ttft().seconds());
}

TEST_F(ServiceTest, FieldsOfARunHaveLimits) {
  v1::Scenario scenario = Scenario(16, 1000, 100);
  v1::Workload& w = *scenario.mutable_workload();
  w.set_prompt_spread_tokens(1001);
  w.set_output_spread_tokens(100);
  w.set_closed_loop_requests(15);
  scenario.mutable_deployment()->set_max_num_seqs(0);
  scenario.mutable_deployment()->set_scheduler(static_cast<v1::SchedulerPolicy>(9));
  v1::EstimateResponse response;
  EXPECT_THAT(
      PartsOf(Estimate(scenario, &response)).fields,
      testing::UnorderedElementsAre("scenario.deployment.max_num_seqs", "scenario.deployment.scheduler",
                                    "scenario.workload.prompt_spread_tokens", "scenario.workload.output_spread_tokens",
                                    "scenario.workload.closed_loop_requests"));
  scenario = Scenario(16, 1000, 100);
  scenario.mutable_workload()->set_output_spread_tokens(10);
  scenario.mutable_workload()->mutable_output_length_distribution()->set_mean_tokens(100);
  EXPECT_THAT(PartsOf(Estimate(scenario, &response)).fields, ElementsAre("scenario.workload.output_spread_tokens"));
}

TEST_F(ServiceTest, AllViolationsAreToldAtOnce) {
  v1::Scenario scenario = Scenario(0, -1, 0);
  scenario.mutable_deployment()->set_tensor_parallel(5000);
  v1::EstimateResponse response;
  EXPECT_EQ(PartsOf(Estimate(scenario, &response)).fields.size(), 4u);
}

TEST_F(ServiceTest, ABatchKeepsOrderAndAnswersEachByItself) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(1, 1000, 10);
  for (const char* hardware : {"nvidia-a100-sxm-80gb", "nope", "nvidia-h200-sxm-141gb", "nvidia-l4-24gb"}) {
    v1::Candidate& candidate = *request.add_candidates();
    candidate.set_candidate_id(std::string("at ") + hardware);
    candidate.set_hardware_id(hardware);
  }
  request.set_rank_by(v1::RANK_BY_E2E);
  v1::BatchEstimateResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(estimator_->BatchEstimate(&context, request, &response).ok());
  ASSERT_EQ(response.results_size(), 4);
  EXPECT_EQ(response.results(3).candidate_id(), "at nvidia-l4-24gb");
  EXPECT_EQ(response.results(1).status().code(), grpc::NOT_FOUND);
  EXPECT_THAT(response.ranking(), ElementsAre(2, 0, 3, 1));
  // Each is what Estimate says.
  v1::Scenario alone = Scenario(1, 1000, 10);
  alone.set_hardware_id("nvidia-l4-24gb");
  v1::EstimateResponse single;
  ASSERT_TRUE(Estimate(alone, &single).ok());
  EXPECT_EQ(response.results(3).estimate().SerializeAsString(), single.estimate().SerializeAsString());
}

TEST_F(ServiceTest, ASetPartReplacesTheWholePart) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(8, 1000, 10);
  request.mutable_base()->mutable_deployment()->set_tensor_parallel(4);
  request.add_candidates()->mutable_deployment()->set_engine("vllm");
  request.add_candidates()->mutable_workload()->set_prompt_tokens(5);
  v1::BatchEstimateResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(estimator_->BatchEstimate(&context, request, &response).ok());
  EXPECT_EQ(response.results(0).estimate().devices(), 1);  // tensor_parallel 4 was of the part that is gone
  EXPECT_EQ(response.results(1).status().code(), grpc::INVALID_ARGUMENT);  // so was output_tokens
}

TEST_F(ServiceTest, BatchesAreBounded) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(1, 10, 10);
  const auto fields = [&] {
    v1::BatchEstimateResponse response;
    grpc::ClientContext context;
    const grpc::Status status = estimator_->BatchEstimate(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    return PartsOf(status).fields;
  };
  EXPECT_THAT(fields(), ElementsAre("candidates"));
  for (int i = 0; i < 1001; ++i) request.add_candidates();
  EXPECT_THAT(fields(), ElementsAre("candidates"));
  request.mutable_candidates()->DeleteSubrange(2, 999);
  request.mutable_candidates(0)->set_candidate_id("twice");
  request.mutable_candidates(1)->set_candidate_id("twice");
  EXPECT_THAT(fields(), ElementsAre("candidates[1].candidate_id"));
}

TEST_F(ServiceTest, DrainingTwiceIsDrainingOnce) {
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(Scenario(1, 10, 10), &response).ok());
  server_->Drain(absl::Seconds(5));
  server_->Drain(absl::Seconds(5));
}

}  // namespace
}  // namespace foretoken::rpc

// The inverse questions over the wire.
#include <gmock/gmock.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SolveTest : public ServiceTest {
 public:
  static void AddCandidate(const char* id, double price, v1::SolveRequest& request) {
    v1::HardwareCandidate& candidate = *request.add_candidates();
    candidate.set_hardware_id(id);
    candidate.set_price_per_device_hour(price);
  }

 protected:
  static v1::SolveRequest Question(v1::SolveFor what) {
    v1::SolveRequest request;
    *request.mutable_base() = Scenario(1, 1000, 100);
    request.set_solve_for(what);
    return request;
  }

  grpc::Status Solve(const v1::SolveRequest& request, v1::SolveResponse* response) {
    return Call(&v1::EstimatorService::Stub::Solve, request, response);
  }
  v1::SolveResponse MustSolve(const v1::SolveRequest& request) {
    return Must(&v1::EstimatorService::Stub::Solve, request);
  }
};

// The answer is the estimate of its value, and the next value breaks what it says.
TEST_F(SolveTest, TheLargestBatchUnderAnSlo) {
  v1::SolveRequest request = Question(v1::SOLVE_FOR_BATCH_SIZE);
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(0.02);
  const v1::SolveResponse solved = MustSolve(request);
  ASSERT_TRUE(solved.satisfied());
  EXPECT_EQ(solved.binding_constraint(), v1::CONSTRAINT_MAX_TPOT);
  v1::Scenario scenario = request.base();
  scenario.mutable_workload()->set_batch_size(static_cast<int>(solved.value()));
  v1::EstimateResponse at;
  ASSERT_TRUE(Estimate(scenario, &at).ok());
  EXPECT_EQ(at.estimate().SerializeAsString(), solved.estimate().SerializeAsString());
  scenario.mutable_workload()->set_batch_size(static_cast<int>(solved.value()) + 1);
  ASSERT_TRUE(Estimate(scenario, &at).ok());
  EXPECT_EQ(at.estimate().slo_verdict().verdict(), v1::VERDICT_INFEASIBLE);
  request.set_max_value(solved.value() - 1);
  const v1::SolveResponse cut = MustSolve(request);
  EXPECT_EQ(cut.value(), solved.value() - 1);
  EXPECT_EQ(cut.binding_constraint(), v1::CONSTRAINT_RANGE);
}

TEST_F(SolveTest, ThatNothingSatisfiesIsAnAnswer) {
  v1::SolveRequest request = Question(v1::SOLVE_FOR_BATCH_SIZE);
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(1e-6);
  const v1::SolveResponse solved = MustSolve(request);
  EXPECT_FALSE(solved.satisfied() || solved.has_value());
  EXPECT_EQ(solved.nearest_value(), 1);
  EXPECT_TRUE(solved.has_estimate());
  EXPECT_EQ(solved.binding_constraint(), v1::CONSTRAINT_MAX_TPOT);
  EXPECT_THAT(solved.binding_message(), HasSubstr("at batch_size 1: max_tpot_seconds 1e-06 is missed"));
  request.mutable_base()->set_model_id("llama-3.1-405b");
  const v1::SolveResponse too_large = MustSolve(request);
  EXPECT_FALSE(too_large.has_estimate());
  EXPECT_EQ(too_large.binding_constraint(), v1::CONSTRAINT_MEMORY);
}

TEST_F(SolveTest, RatePromptAndTensorParallelism) {
  v1::SolveRequest rate = Question(v1::SOLVE_FOR_REQUEST_RATE);
  rate.mutable_base()->mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  const v1::SolveResponse highest = MustSolve(rate);
  EXPECT_EQ(highest.binding_constraint(), v1::CONSTRAINT_STABILITY);
  EXPECT_NEAR(highest.estimate().throughput().requests_per_second(), highest.value(), 1e-9);

  v1::SolveRequest prompt = Question(v1::SOLVE_FOR_PROMPT_TOKENS);
  prompt.mutable_base()->mutable_workload()->clear_prompt_tokens();
  EXPECT_EQ(MustSolve(prompt).value(), 131072 - 100);  // llama-3.1-8b was made for 131,072 tokens
  prompt.mutable_base()->mutable_slo()->set_max_ttft_seconds(0.5);
  EXPECT_EQ(MustSolve(prompt).binding_constraint(), v1::CONSTRAINT_MAX_TTFT);

  v1::SolveRequest tp = Question(v1::SOLVE_FOR_TENSOR_PARALLEL);
  tp.mutable_base()->set_model_id("llama-3.1-70b");
  EXPECT_EQ(MustSolve(tp).value(), 2);
  EXPECT_EQ(MustSolve(tp).estimate().devices(), 2);
}

// A prefill side without a deployment of its own is placed as the decode side, whatever that becomes.
TEST_F(SolveTest, ThePrefillSideFollowsTheTensorParallelism) {
  v1::SolveRequest tp = Question(v1::SOLVE_FOR_TENSOR_PARALLEL);
  tp.mutable_base()->mutable_deployment()->set_tensor_parallel(4);
  v1::DisaggregatedPrefill& prefill = *tp.mutable_base()->mutable_disaggregated_prefill();
  prefill.set_transfer_bytes_per_second(1e10);
  const v1::SolveResponse both = MustSolve(tp);
  EXPECT_EQ(both.value(), 1);
  EXPECT_EQ(both.estimate().disaggregated_use().prefill_devices(), 1);
  v1::Scenario scenario = tp.base();
  scenario.mutable_deployment()->set_tensor_parallel(1);
  v1::EstimateResponse at;
  ASSERT_TRUE(Estimate(scenario, &at).ok());
  EXPECT_EQ(at.estimate().SerializeAsString(), both.estimate().SerializeAsString());
  prefill.mutable_deployment()->set_tensor_parallel(4);
  EXPECT_EQ(MustSolve(tp).estimate().disaggregated_use().prefill_devices(), 4);
}

TEST_F(SolveTest, TheCheapestHardware) {
  v1::SolveRequest request = Question(v1::SOLVE_FOR_HARDWARE);
  request.mutable_base()->clear_hardware();
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(0.02);
  AddCandidate("nvidia-h100-sxm-80gb", 3, request);
  AddCandidate("nope", 1, request);
  AddCandidate("nvidia-l4-24gb", 0.01, request);  // cheap, and misses the SLO
  AddCandidate("nvidia-h200-sxm-141gb", 2.9, request);
  const v1::SolveResponse solved = MustSolve(request);
  ASSERT_TRUE(solved.satisfied()) << solved.binding_message();
  EXPECT_EQ(solved.value(), 3);
  ASSERT_EQ(solved.candidate_results_size(), 4);
  EXPECT_EQ(solved.candidate_results(1).status().code(), grpc::NOT_FOUND);
  EXPECT_EQ(solved.estimate().SerializeAsString(), solved.candidate_results(3).estimate().SerializeAsString());
  EXPECT_LT(solved.candidate_results(2).estimate().cost().cost_per_request(),
            solved.estimate().cost().cost_per_request());
}

// Every candidate's refusal names its own field; the paths of many are too long to be kept inside a string.
TEST_F(SolveTest, ACandidatesRefusalNamesItsField) {
  v1::SolveRequest request = Question(v1::SOLVE_FOR_HARDWARE);
  for (int i = 0; i < 110; ++i) {
    AddCandidate("nvidia-h100-sxm-80gb", 3, request);
    request.mutable_candidates(i)->mutable_deployment()->set_pipeline_parallel(33);  // of 32 layers
  }
  const v1::SolveResponse solved = MustSolve(request);
  ASSERT_EQ(solved.candidate_results_size(), 110);
  for (int i = 0; i < 110; ++i) {
    google::rpc::BadRequest bad;
    for (const auto& detail : solved.candidate_results(i).status().details()) detail.UnpackTo(&bad);
    ASSERT_EQ(bad.field_violations_size(), 1) << i;
    EXPECT_EQ(bad.field_violations(0).field(), absl::StrCat("candidates[", i, "].deployment.pipeline_parallel"));
  }
}

struct BadCase {
  const char* name;
  std::function<void(v1::SolveRequest&)> change;
  grpc::StatusCode code;
  const char* field;
};

TEST_F(SolveTest, BadQuestionsNameTheField) {
  const BadCase cases[] = {
      {"nothing", [](auto& r) { r.clear_solve_for(); }, grpc::INVALID_ARGUMENT, "solve_for"},
      {"no base", [](auto& r) { r.clear_base(); }, grpc::INVALID_ARGUMENT, "base"},
      {"part of a batch", [](auto& r) { r.set_min_value(1.5); }, grpc::INVALID_ARGUMENT, "min_value"},
      {"no batch", [](auto& r) { r.set_min_value(0); }, grpc::INVALID_ARGUMENT, "min_value"},
      {"empty range", [](auto& r) { r.set_min_value(8), r.set_max_value(4); }, grpc::INVALID_ARGUMENT, "max_value"},
      {"candidates", [](auto& r) { r.add_candidates(); }, grpc::INVALID_ARGUMENT, "candidates"},
      {"no candidates", [](auto& r) { r.set_solve_for(v1::SOLVE_FOR_HARDWARE); }, grpc::INVALID_ARGUMENT, "candidates"},
      {"no price",
       [](auto& r) {
         r.set_solve_for(v1::SOLVE_FOR_HARDWARE);
         r.add_candidates()->set_hardware_id("nvidia-l4-24gb");
       },
       grpc::INVALID_ARGUMENT, "candidates[0].price_per_device_hour"},
      {"bad base", [](auto& r) { r.mutable_base()->mutable_workload()->set_output_tokens(0); }, grpc::INVALID_ARGUMENT,
       "base.workload.output_tokens"},
      {"bad base of hardware",
       [](auto& r) {
         r.set_solve_for(v1::SOLVE_FOR_HARDWARE);
         AddCandidate("nvidia-l4-24gb", 1, r);
         r.mutable_base()->mutable_workload()->clear_output_tokens();
       },
       grpc::INVALID_ARGUMENT, "base.workload.output_tokens"},
      {"unknown model", [](auto& r) { r.mutable_base()->set_model_id("nope"); }, grpc::NOT_FOUND, "base.model_id"},
      {"a rate of a static batch", [](auto& r) { r.set_solve_for(v1::SOLVE_FOR_REQUEST_RATE); }, grpc::UNIMPLEMENTED,
       "base.workload.request_rate_per_second"},
  };
  for (const BadCase& c : cases) {
    v1::SolveRequest request = Question(v1::SOLVE_FOR_BATCH_SIZE);
    c.change(request);
    v1::SolveResponse response;
    const grpc::Status status = Solve(request, &response);
    EXPECT_EQ(status.error_code(), c.code) << c.name << ": " << status.error_message();
    EXPECT_THAT(PartsOf(status).fields, ElementsAre(c.field)) << c.name << ": " << status.error_message();
  }
}

}  // namespace
}  // namespace foretoken::rpc

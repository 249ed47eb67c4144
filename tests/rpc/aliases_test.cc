// An alias is as good as the id in every field that names an entry, and no answer tells one from the other.
#include <gmock/gmock.h>

#include "tests/rpc/learn_fixture.h"
#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Stub = v1::CatalogService::Stub;

constexpr char kModel[] = "meta-llama/Llama-3.1-8B-Instruct";
constexpr char kHardware[] = "NVIDIA-H100-80GB-HBM3";

using AliasesTest = SecondaryTest;

TEST_F(AliasesTest, AnEstimateIsThatOfTheIds) {
  struct Case {
    const char* name;
    v1::Scenario by_id;
    std::function<void(v1::Scenario&)> rename;
  };
  const Case cases[] = {
      {"both", Scenario(8, 1000, 100),
       [](v1::Scenario& s) {
         s.set_model_id(kModel);
         s.set_hardware_id(kHardware);
       }},
      {"in upper case", Scenario(8, 1000, 100),
       [](v1::Scenario& s) {
         s.set_model_id("LLAMA-3.1-8B");
         s.set_hardware_id("H100_SXM");
       }},
      {"draft", Speculative(),
       [](v1::Scenario& s) { s.mutable_speculative_decoding()->set_draft_model_id("meta-llama/Llama-3.2-1B"); }},
      {"prefill side", Disaggregated(),
       [](v1::Scenario& s) { s.mutable_disaggregated_prefill()->set_hardware_id("NVIDIA A100-SXM4-80GB"); }},
  };
  for (const Case& c : cases) {
    v1::Scenario by_alias = c.by_id;
    c.rename(by_alias);
    EXPECT_EQ(MustEstimate(by_alias).SerializeAsString(), MustEstimate(c.by_id).SerializeAsString()) << c.name;
  }
}

TEST_F(AliasesTest, ASweepTakesThemInItsBaseAndItsAxes) {
  const auto sweep = [this](const std::string& model, const std::string& first, const std::string& second) {
    v1::SweepRequest request;
    *request.mutable_base() = Scenario(1, 100, 10);
    request.mutable_base()->set_model_id(model);
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field("hardware_id");
    axis.mutable_texts()->add_values(first);
    axis.mutable_texts()->add_values(second);
    v1::SweepAxis& inside = *request.add_axes();
    inside.set_field("workload.batch_size");
    inside.mutable_numbers()->add_values(4);
    request.add_metrics(v1::METRIC_E2E_SECONDS);
    return MustSweep(request).SerializeAsString();
  };
  EXPECT_EQ(sweep(kModel, kHardware, "mi300x"), sweep("llama-3.1-8b", "nvidia-h100-sxm-80gb", "amd-mi300x-192gb"));
}

TEST_F(AliasesTest, AnAxisInsideASpecVariesTheEntryThatAnAliasNames) {
  const auto sweep = [this](const std::string& hardware) {
    v1::SweepRequest request;
    *request.mutable_base() = Scenario(1, 100, 10);
    request.mutable_base()->set_hardware_id(hardware);
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field("hardware_spec.memory_bandwidth_bytes_per_second");
    axis.mutable_numbers()->add_values(1e12);
    axis.mutable_numbers()->add_values(2e12);
    request.add_metrics(v1::METRIC_E2E_SECONDS);
    return MustSweep(request).SerializeAsString();
  };
  EXPECT_EQ(sweep(kHardware), sweep("nvidia-h100-sxm-80gb"));
}

TEST_F(AliasesTest, CandidatesAreNamedByThem) {
  const auto batch = [this](const std::string& hardware) {
    v1::BatchEstimateRequest request;
    *request.mutable_base() = Scenario(1, 100, 10);
    request.add_candidates()->set_hardware_id(hardware);
    v1::BatchEstimateResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(estimator_->BatchEstimate(&context, request, &response).ok());
    return response.SerializeAsString();
  };
  EXPECT_EQ(batch(kHardware), batch("nvidia-h100-sxm-80gb"));
  const auto solve = [this](const std::string& hardware) {
    v1::SolveRequest request;
    *request.mutable_base() = Scenario(1, 100, 10);
    request.set_solve_for(v1::SOLVE_FOR_HARDWARE);
    request.add_candidates()->set_hardware_id(hardware);
    request.mutable_candidates(0)->set_price_per_device_hour(2);
    v1::SolveResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(estimator_->Solve(&context, request, &response).ok());
    return response.SerializeAsString();
  };
  EXPECT_EQ(solve(kHardware), solve("nvidia-h100-sxm-80gb"));
}

TEST_F(AliasesTest, AnEntryIsReadByThemAndTellsThem) {
  v1::GetModelRequest request;
  request.set_model_id("QWEN/qwen3-32b");
  v1::GetModelResponse response;
  ASSERT_TRUE(Call(&Stub::GetModel, request, &response).ok());
  EXPECT_EQ(response.entry().spec().id(), "qwen3-32b");
  EXPECT_THAT(response.entry().spec().aliases(), ElementsAre("Qwen/Qwen3-32B"));
}

TEST_F(AliasesTest, ARegistrationThatTakesOneIsRefusedByField) {
  v1::RegisterModelRequest request;
  v1::GetModelRequest get;
  get.set_model_id(kModel);
  v1::GetModelResponse got;
  ASSERT_TRUE(Call(&Stub::GetModel, get, &got).ok());
  *request.mutable_spec() = got.entry().spec();
  request.mutable_spec()->set_id("my-llama");
  request.mutable_spec()->clear_aliases();
  request.mutable_spec()->add_aliases("mine");
  request.mutable_spec()->add_aliases(kModel);
  v1::RegisterModelResponse response;
  const grpc::Status status = Call(&Stub::RegisterModel, request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("spec.aliases[1]"));
  EXPECT_THAT(status.error_message(), HasSubstr("of \"my-llama\" is a name of \"llama-3.1-8b\""));
  request.mutable_spec()->mutable_aliases()->RemoveLast();
  ASSERT_TRUE(Call(&Stub::RegisterModel, request, &response).ok());
  v1::Scenario scenario = Scenario(1, 100, 10);
  scenario.set_model_id("MINE");
  MustEstimate(scenario);
  v1::DeleteModelRequest erase;
  erase.set_model_id("Mine");
  v1::DeleteModelResponse erased;
  EXPECT_TRUE(Call(&Stub::DeleteModel, erase, &erased).ok());
}

using AliasesLearnTest = LearnTest;

TEST_F(AliasesLearnTest, WhatIsLearnedIsStoredUnderTheId) {
  v1::RegisterHardwareRequest request = Request();
  request.mutable_samples()->Clear();
  for (const int batch : {1, 4, 16}) {
    for (const int prompt : {256, 512, 1024, 2048}) {
      v1::ProfileSample& sample = *request.add_samples() = Measure("llama-3.1-8b", batch, prompt);
      if (prompt > 256) sample.set_model_id(kModel);
    }
  }
  const grpc::Status status = Send(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response_.entry().spec().linear_profiles_size(), 1);
  EXPECT_EQ(response_.entry().spec().linear_profiles(0).model_id(), "llama-3.1-8b");
}

TEST_F(AliasesLearnTest, AProfileThatNamesOneIsStoredUnderTheId) {
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  v1::LinearProfile& profile = *request.mutable_spec()->add_linear_profiles();
  profile.set_model_id(kModel);
  profile.set_engine("acme@1");
  profile.set_prefill_tokens_per_second(1e4);
  const grpc::Status status = Send(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response_.entry().spec().linear_profiles(0).model_id(), "llama-3.1-8b");
  v1::Scenario scenario = Scenario(1, 256, 10);
  scenario.set_model_id(kModel);
  scenario.set_hardware_id("acme-one");
  scenario.set_method(v1::METHOD_LINEAR_PROFILE);
  scenario.mutable_deployment()->set_engine("acme@1");
  v1::EstimateResponse response;
  EXPECT_TRUE(Estimate(scenario, &response).ok());
}

}  // namespace
}  // namespace foretoken::rpc

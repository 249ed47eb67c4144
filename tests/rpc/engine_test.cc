// Which engines may be asked for, and what a reply says where another engine, version or device answers.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/rpc/learn_fixture.h"

namespace foretoken::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EngineTest : public LearnTest {
 protected:
  static v1::Scenario Asking(const std::string& engine, const std::string& hardware = "nvidia-h100-sxm-80gb") {
    v1::Scenario scenario = Scenario(4, 1000, 100);
    scenario.set_hardware_id(hardware);
    scenario.mutable_deployment()->set_engine(engine);
    return scenario;
  }

  static v1::Scenario Continuous(v1::Scenario scenario) {
    scenario.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    return scenario;
  }

  v1::Estimate MustEstimate(const v1::Scenario& scenario) {
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  }

  v1::Estimate InBatch(const v1::Scenario& scenario) {
    v1::BatchEstimateRequest request;
    *request.mutable_base() = scenario;
    request.mutable_base()->clear_deployment();
    request.add_candidates();
    *request.add_candidates()->mutable_deployment() = scenario.deployment();
    v1::BatchEstimateResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(estimator_->BatchEstimate(&context, request, &response).ok());
    return response.results(1).estimate();
  }

  // The summary of a sweep, and how it ended.
  v1::SweepSummary Sweep(const v1::SweepRequest& request, grpc::Status& status) {
    grpc::ClientContext context;
    const auto reader = estimator_->Sweep(&context, request);
    v1::SweepResponse message;
    v1::SweepSummary summary;
    while (reader->Read(&message)) {
      if (message.has_summary()) summary = message.summary();
    }
    status = reader->Finish();
    return summary;
  }

  static v1::SweepRequest Numbers(const v1::Scenario& base, const char* field, const std::vector<double>& values) {
    v1::SweepRequest request;
    *request.mutable_base() = base;
    request.add_axes()->set_field(field);
    request.mutable_axes(0)->mutable_numbers()->mutable_values()->Add(values.begin(), values.end());
    return request;
  }

  void ExpectUnknown(const grpc::Status& status, const std::string& field) {
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
    EXPECT_EQ(PartsOf(status).reason, "INVALID_FIELD");
    EXPECT_THAT(PartsOf(status).fields, ElementsAre(field));
    EXPECT_THAT(status.error_message(), HasSubstr("unknown engine \"vlmm\"; did you mean vllm?"));
  }

  static grpc::Status FromProto(const google::rpc::Status& status) {
    return {static_cast<grpc::StatusCode>(status.code()), status.message(), status.SerializeAsString()};
  }
};

TEST_F(EngineTest, ATypoIsRefusedByEveryMethodAndPolicy) {
  for (const v1::Method method : {v1::METHOD_UNSPECIFIED, v1::METHOD_OPERATOR_MODEL, v1::METHOD_LINEAR_PROFILE,
                                  v1::METHOD_KPI, v1::METHOD_SPEED_OF_LIGHT}) {
    v1::Scenario scenario = Asking("vlmm");
    scenario.set_method(method);
    v1::EstimateResponse response;
    ExpectUnknown(Estimate(scenario, &response), "scenario.deployment.engine");
  }
  v1::EstimateResponse response;
  ExpectUnknown(Estimate(Continuous(Asking("vlmm")), &response), "scenario.deployment.engine");
  v1::Scenario loaded = Asking("vlmm");
  loaded.mutable_live_load()->set_running_sequences(4);
  loaded.mutable_live_load()->set_remaining_output_tokens(10);
  ExpectUnknown(Estimate(loaded, &response), "scenario.deployment.engine");
}

TEST_F(EngineTest, ATypoIsRefusedWhereverADeploymentIs) {
  v1::EstimateResponse response;
  v1::Scenario draft = Scenario(4, 1000, 100);
  draft.mutable_speculative_decoding()->set_draft_model_id("llama-3.2-1b");
  draft.mutable_speculative_decoding()->set_draft_tokens(4);
  draft.mutable_speculative_decoding()->set_acceptance_rate(0.8);
  draft.mutable_speculative_decoding()->mutable_draft_deployment()->set_engine("vlmm");
  ExpectUnknown(Estimate(draft, &response), "scenario.speculative_decoding.draft_deployment.engine");
  v1::Scenario pool = Scenario(8, 1000, 100);
  pool.mutable_disaggregated_prefill()->mutable_deployment()->set_engine("vlmm");
  pool.mutable_disaggregated_prefill()->set_transfer_bytes_per_second(50e9);
  ExpectUnknown(Estimate(pool, &response), "scenario.disaggregated_prefill.deployment.engine");
}

TEST_F(EngineTest, ATypoIsRefusedInABatch) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Asking("vllm");
  request.add_candidates();
  request.add_candidates()->mutable_deployment()->set_engine("vlmm");
  request.add_candidates();
  v1::BatchEstimateResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(estimator_->BatchEstimate(&context, request, &response).ok());
  EXPECT_TRUE(response.results(0).has_estimate());
  ExpectUnknown(FromProto(response.results(1).status()), "candidates[1].deployment.engine");
  EXPECT_TRUE(response.results(2).has_estimate());
}

TEST_F(EngineTest, ATypoThatAllPointsShareRefusesTheSweep) {
  grpc::Status status;
  Sweep(Numbers(Asking("vlmm"), "workload.batch_size", {1, 2}), status);
  ExpectUnknown(status, "base.deployment.engine");
  v1::SweepRequest engines;
  *engines.mutable_base() = Scenario(1, 1000, 10);
  engines.add_axes()->set_field("deployment.engine");
  for (const char* engine : {"vllm", "vlmm", ""}) engines.mutable_axes(0)->mutable_texts()->add_values(engine);
  const v1::SweepSummary summary = Sweep(engines, status);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(summary.ok_points(), 2);
  EXPECT_EQ(summary.refused_points(), 1);
}

TEST_F(EngineTest, ATypoIsRefusedInASearch) {
  v1::SolveRequest request;
  *request.mutable_base() = Asking("vlmm");
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(0.1);
  request.set_solve_for(v1::SOLVE_FOR_BATCH_SIZE);
  v1::SolveResponse response;
  grpc::ClientContext context;
  ExpectUnknown(estimator_->Solve(&context, request, &response), "base.deployment.engine");
  request.set_solve_for(v1::SOLVE_FOR_HARDWARE);
  request.add_candidates()->set_hardware_id("nvidia-l4-24gb");
  request.mutable_candidates(0)->set_price_per_device_hour(1);
  grpc::ClientContext another;
  ASSERT_TRUE(estimator_->Solve(&another, request, &response).ok());
  ExpectUnknown(FromProto(response.candidate_results(0).status()), "base.deployment.engine");
}

TEST_F(EngineTest, TheListAndTheCatalogAreKnown) {
  std::vector<std::string> known = {"vllm",      "sglang",       "tensorrt-llm",
                                    "llama.cpp", "lmdeploy",     "fastertransformer",
                                    "tgi",       "sglang@0.5.6", "tgi@main"};
  const auto snapshot = catalog_->snapshot();
  for (const v1::CalibrationSpec& spec : snapshot->calibration_specs()) known.push_back(spec.engine());
  for (const std::string& engine : known) {
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(Asking(engine), &response);
    EXPECT_TRUE(status.ok()) << engine << ": " << status.error_message();
  }
}

TEST_F(EngineTest, NamesFarFromAnyAreAnsweredWithTheList) {
  for (const auto& [asked, want] : {std::pair<const char*, const char*>{"vLLM", "did you mean vllm?"},
                                    {"TensorRT-LLM@0.9.0", "did you mean tensorrt-llm?"},
                                    {"sgl", "did you mean sglang?"},
                                    {"quux",
                                     "; known: fastertransformer, llama.cpp, lmdeploy, sglang, tensorrt-llm, "
                                     "tgi, vllm"},
                                    {"@0.12.0", "unknown engine \"@0.12.0\""}}) {
    v1::EstimateResponse response;
    EXPECT_THAT(Estimate(Asking(asked), &response).error_message(), HasSubstr(want));
  }
}

// What a registration has of an engine makes its name known: a calibration, of whatever version.
TEST_F(EngineTest, ARegistrationMakesANameKnown) {
  v1::EstimateResponse response;
  EXPECT_EQ(PartsOf(Estimate(Asking("acme@2"), &response)).reason, "INVALID_FIELD");
  v1::RegisterHardwareRequest request = Request();
  request.set_validate_only(true);
  ASSERT_TRUE(Send(request).ok()) << "a new name may be registered";
  EXPECT_EQ(PartsOf(Estimate(Asking("acme@2"), &response)).reason, "INVALID_FIELD") << "nothing is stored yet";
  request.set_validate_only(false);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_TRUE(Estimate(Asking("acme@2"), &response).ok());
  v1::DeleteHardwareRequest drop;
  drop.set_hardware_id("acme-one");
  v1::DeleteHardwareResponse dropped;
  ASSERT_TRUE(Call(&v1::CatalogService::Stub::DeleteHardware, drop, &dropped).ok());
  EXPECT_EQ(PartsOf(Estimate(Asking("acme@2"), &response)).reason, "INVALID_FIELD");
}

// And so does a linear profile, registered or in hardware that a request spells out.
TEST_F(EngineTest, AProfileMakesANameKnown) {
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  v1::LinearProfile& profile = *request.mutable_spec()->add_linear_profiles();
  profile.set_model_id("llama-3.1-8b");
  profile.set_engine("lab@1");
  profile.set_prefill_tokens_per_second(20000);
  v1::BatchEstimateRequest batch;
  *batch.mutable_base() = Asking("lab@1");
  batch.add_candidates();
  *batch.add_candidates()->mutable_hardware_spec() = request.spec();
  v1::BatchEstimateResponse answers;
  grpc::ClientContext context;
  ASSERT_TRUE(estimator_->BatchEstimate(&context, batch, &answers).ok());
  EXPECT_FALSE(answers.results(0).has_estimate());
  EXPECT_EQ(answers.results(1).estimate().method(), v1::METHOD_LINEAR_PROFILE);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(MustEstimate(Asking("lab@1")).method(), v1::METHOD_OPERATOR_MODEL);

  v1::Scenario nameless = Asking("@1");
  *nameless.mutable_hardware_spec() = request.spec();
  nameless.mutable_hardware_spec()->mutable_linear_profiles(0)->clear_engine();
  v1::EstimateResponse response;
  EXPECT_EQ(PartsOf(Estimate(nameless, &response)).reason, "INVALID_FIELD") << "of any engine, and of none by name";
}

// Whose constants answered is said by name, unless they are those that were asked for.
TEST_F(EngineTest, WhatStandsInIsNamed) {
  struct Case {
    v1::Scenario scenario;
    v1::WarningCode code;  // UNSPECIFIED: no warning
    const char* message;
  };
  v1::Scenario kpi = Asking("vllm");
  kpi.mutable_workload()->set_batch_size(1);
  kpi.set_method(v1::METHOD_KPI);
  v1::Scenario light = Asking("vllm");
  light.set_method(v1::METHOD_SPEED_OF_LIGHT);
  const Case cases[] = {
      {Scenario(4, 1000, 100), v1::WARNING_CODE_UNSPECIFIED, ""},
      {Continuous(Scenario(4, 1000, 100)), v1::WARNING_CODE_UNSPECIFIED, ""},
      {Asking("vllm"), v1::WARNING_CODE_UNSPECIFIED, ""},
      {Asking("vllm@0.7.3", "amd-mi300x-192gb"), v1::WARNING_CODE_UNSPECIFIED, ""},
      {Asking("vllm@0.12.0", "amd-mi300x-192gb"), v1::WARNING_CODE_EXTRAPOLATED,
       "engine vllm@0.12.0 was not measured on amd-mi300x-192gb; answered by calibration amd-mi300x-192gb.vllm-0.7.3, "
       "of vllm@0.7.3"},
      {Asking("vllm@0.12.0"), v1::WARNING_CODE_EXTRAPOLATED,
       "engine vllm@0.12.0 was not measured on nvidia-h100-sxm-80gb; answered by calibration "
       "nvidia-h100-sxm-80gb.vllm, of vllm (no version stated)"},
      {Asking("vllm", "nvidia-l40s-48gb"), v1::WARNING_CODE_EXTRAPOLATED,
       "engine vllm was not measured on nvidia-l40s-48gb; answered by calibration vllm, of vllm on other devices"},
      {Asking("sglang"), v1::WARNING_CODE_FIGURE_ABSENT,
       "no calibration of engine sglang for static batches; answered by the generic prior"},
      {Continuous(Asking("tgi")), v1::WARNING_CODE_FIGURE_ABSENT,
       "no calibration of engine tgi for continuous batching; answered by the generic prior"},
      {light, v1::WARNING_CODE_NOT_USED, "engine vllm is not used; the speed of light is of no engine"},
      {kpi, v1::WARNING_CODE_NOT_USED, "engine vllm is not used; the KPI method is of no engine"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> messages;
    const v1::Estimate estimate = MustEstimate(c.scenario);
    for (const v1::Warning& warning : estimate.warnings()) {
      if (warning.field() != "deployment.engine") continue;
      EXPECT_EQ(warning.code(), c.code);
      messages.push_back(warning.message());
    }
    if (c.code == v1::WARNING_CODE_UNSPECIFIED) {
      EXPECT_THAT(messages, IsEmpty()) << c.scenario.ShortDebugString();
    } else {
      EXPECT_THAT(messages, ElementsAre(c.message));
    }
  }
}

// One question by three ways: alone, as a candidate, and as the points of a sweep, one by one and as a row of outputs.
TEST_F(EngineTest, EveryWayOfAskingSaysTheSame) {
  for (const v1::Scenario& scenario : {Asking("vllm"), Asking("vllm@0.12.0"), Asking("vllm", "nvidia-l40s-48gb"),
                                       Asking("sglang"), Continuous(Asking("sglang"))}) {
    const v1::Estimate alone = MustEstimate(scenario);
    EXPECT_EQ(InBatch(scenario).SerializeAsString(), alone.SerializeAsString());
    for (const v1::SweepRequest& request : {Numbers(scenario, "workload.batch_size", {4, 8, 9}),
                                            Numbers(scenario, "workload.output_tokens", {100, 200, 300})}) {
      grpc::Status status;
      const v1::SweepSummary summary = Sweep(request, status);
      ASSERT_TRUE(status.ok()) << status.error_message();
      ASSERT_EQ(summary.warnings_size(), alone.warnings_size());
      for (int i = 0; i < alone.warnings_size(); ++i) {
        EXPECT_EQ(summary.warnings(i).warning().SerializeAsString(), alone.warnings(i).SerializeAsString());
        EXPECT_EQ(summary.warnings(i).first_point(), 0);
        EXPECT_EQ(summary.warnings(i).num_points(), 3);
      }
    }
  }
}

TEST_F(EngineTest, ASweepOverEnginesTellsThemApart) {
  v1::SweepRequest request = Numbers(Asking(""), "workload.output_tokens", {10, 20});
  v1::SweepAxis engines;
  engines.set_field("deployment.engine");
  for (const char* engine : {"vllm", "sglang", "", "tgi", "sglang"}) engines.mutable_texts()->add_values(engine);
  *request.add_axes() = request.axes(0);
  *request.mutable_axes(0) = engines;
  grpc::Status status;
  const v1::SweepSummary summary = Sweep(request, status);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(summary.warnings_size(), 2);
  EXPECT_THAT(summary.warnings(0).warning().message(), HasSubstr("engine sglang"));
  EXPECT_EQ(summary.warnings(0).first_point(), 2);
  EXPECT_EQ(summary.warnings(0).num_points(), 4);
  EXPECT_THAT(summary.warnings(1).warning().message(), HasSubstr("engine tgi"));
  EXPECT_EQ(summary.warnings(1).first_point(), 6);
  EXPECT_EQ(summary.warnings(1).num_points(), 2);
}

// The scenario's own engine answers for its draft model and its prefill side.
TEST_F(EngineTest, ASecondEngineIsNotUsedAndSaidSo) {
  v1::Scenario pool = Asking("vllm");
  pool.mutable_disaggregated_prefill()->mutable_deployment()->set_engine("tensorrt-llm");
  pool.mutable_disaggregated_prefill()->set_transfer_bytes_per_second(50e9);
  v1::Estimate estimate = MustEstimate(pool);
  ASSERT_EQ(estimate.warnings_size(), 1);
  EXPECT_EQ(estimate.warnings(0).code(), v1::WARNING_CODE_NOT_USED);
  EXPECT_EQ(estimate.warnings(0).field(), "disaggregated_prefill.deployment.engine");
  EXPECT_EQ(estimate.warnings(0).message(),
            "prefill side: engine tensorrt-llm is not used; answered by calibration nvidia-h100-sxm-80gb.vllm, which "
            "deployment.engine selects for all parts");
  pool.mutable_disaggregated_prefill()->mutable_deployment()->set_engine("vllm");
  EXPECT_THAT(MustEstimate(pool).warnings(), IsEmpty());
  pool.mutable_disaggregated_prefill()->set_hardware_id("nvidia-a100-sxm-80gb");
  estimate = MustEstimate(pool);
  ASSERT_EQ(estimate.warnings_size(), 1);
  EXPECT_EQ(estimate.warnings(0).code(), v1::WARNING_CODE_EXTRAPOLATED);
  EXPECT_EQ(estimate.warnings(0).message(),
            "prefill side: answered by calibration nvidia-h100-sxm-80gb.vllm, of vllm on nvidia-h100-sxm-80gb, not on "
            "nvidia-a100-sxm-80gb");
}

// An engine that nothing ships of, measured on one device: it answers on the vendor's others, and nowhere else.
TEST_F(EngineTest, ANeighbourOfTheVendorStandsIn) {
  ASSERT_TRUE(Send(Request()).ok());
  const v1::Estimate own = MustEstimate(Asking("acme@1", "acme-one"));
  EXPECT_EQ(own.decode().provenance(), v1::PROVENANCE_CALIBRATED);
  EXPECT_THAT(own.warnings(), IsEmpty());
  EXPECT_TRUE(own.tpot().has_band());

  const v1::Estimate near = MustEstimate(Asking("acme@2", "nvidia-h100-sxm-80gb"));
  EXPECT_EQ(near.decode().provenance(), v1::PROVENANCE_TRANSFERRED);
  EXPECT_EQ(near.calibration_id(), "acme-one.acme-1");
  EXPECT_FALSE(near.tpot().has_band()) << "the band is of the device that was measured";
  ASSERT_EQ(near.warnings_size(), 1);
  EXPECT_EQ(
      near.warnings(0).message(),
      "engine acme@2 was not measured on nvidia-h100-sxm-80gb; answered by calibration acme-one.acme-1, of acme@1 "
      "on other devices");
  EXPECT_GT(near.tpot().seconds(), MustEstimate(Asking("", "nvidia-h100-sxm-80gb")).tpot().seconds());

  const v1::Estimate far = MustEstimate(Asking("acme@1", "amd-mi300x-192gb"));
  EXPECT_EQ(far.decode().provenance(), v1::PROVENANCE_DATASHEET);
  EXPECT_EQ(far.warnings(0).code(), v1::WARNING_CODE_FIGURE_ABSENT);
  EXPECT_EQ(MustEstimate(Continuous(Asking("acme@1"))).decode().provenance(), v1::PROVENANCE_DATASHEET)
      << "static batches say nothing of continuous batching";

  // The same figures, spelled out.
  v1::GetHardwareRequest get;
  get.set_hardware_id("nvidia-h100-sxm-80gb");
  v1::GetHardwareResponse got;
  ASSERT_TRUE(Call(&v1::CatalogService::Stub::GetHardware, get, &got).ok());
  v1::Scenario spelled = Asking("acme@2");
  *spelled.mutable_hardware_spec() = got.entry().spec();
  EXPECT_EQ(MustEstimate(spelled).tpot().seconds(), near.tpot().seconds());
}

}  // namespace
}  // namespace foretoken::rpc

// Registrations with samples: what is learned, what changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/rpc/learn_fixture.h"

namespace foretoken::rpc {
namespace {

TEST_F(LearnTest, SpecsThenSamplesThenBetterPredictions) {
  v1::RegisterHardwareRequest specs = Request();
  specs.clear_samples();
  ASSERT_TRUE(Send(specs).ok());
  EXPECT_FALSE(response_.has_calibration_report());
  const double measured = 1.4 * Ask("nvidia-a100-sxm-80gb", "vllm", "mistral-7b-v0.1", 4, 512).tpot().seconds();
  const v1::Estimate before = Ask("acme-one", "", "mistral-7b-v0.1", 4, 512);
  EXPECT_EQ(before.decode().provenance(), v1::PROVENANCE_DATASHEET);

  v1::RegisterHardwareRequest samples = Request();
  samples.set_etag("*");
  ASSERT_TRUE(Send(samples).ok());
  const v1::CalibrationReport& report = response_.calibration_report();
  ASSERT_EQ(report.calibrations_size(), 1);
  EXPECT_EQ(report.calibrations(0).id(), "acme-one.acme-1");
  EXPECT_EQ(report.calibrations(0).samples_used(), 12);
  EXPECT_EQ(report.calibrations(0).sample_digest().size(), 64u);
  EXPECT_EQ(report.calibrations(0).errors_size(), 2);
  EXPECT_GT(report.num_probes(), 0);
  EXPECT_GT(report.moved_size(), 0);
  EXPECT_FALSE(response_.has_report()) << "two models make no linear profile";

  now_ += absl::Seconds(30);
  const v1::Estimate after = Ask("acme-one", "acme@1", "mistral-7b-v0.1", 4, 512);
  EXPECT_EQ(after.decode().provenance(), v1::PROVENANCE_CALIBRATED);
  EXPECT_EQ(after.calibration_id(), "acme-one.acme-1");
  EXPECT_EQ(after.calibration_age().seconds(), 30);
  EXPECT_GT(std::abs(before.tpot().seconds() / measured - 1), 0.1);
  EXPECT_NEAR(after.tpot().seconds() / measured, 1, 0.05);
  EXPECT_TRUE(after.tpot().has_band());

  specs.set_etag("*");  // the figures alone again: the calibration stays
  ASSERT_TRUE(Send(specs).ok());
  EXPECT_EQ(response_.entry().spec().calibrations_size(), 1);
}

// docs/model/step.md: llama.cpp reads less than others where few lanes ask; here 25 times as
// many do as on the A100.
TEST_F(LearnTest, ADeviceIsDrawnToWhatItsEngineComesToOnIt) {
  v1::RegisterHardwareRequest request = Request();
  request.mutable_spec()->mutable_peak()->set_fp32_flops_per_second(25 * 19.5e12);
  for (v1::ProfileSample& sample : *request.mutable_samples()) sample.mutable_deployment()->set_engine("llama.cpp");
  ASSERT_TRUE(Send(request).ok());
  const v1::CalibrationSpec& learned = response_.calibration_report().calibrations(0);
  EXPECT_EQ(learned.parent(), "llama.cpp");
  EXPECT_EQ(learned.max_vector_balance(), 0) << "of one device";
  const auto read = std::find_if(learned.parameters().begin(), learned.parameters().end(),
                                 [](const auto& parameter) { return parameter.name() == "weight_read_efficiency"; });
  ASSERT_NE(read, learned.parameters().end());
  EXPECT_EQ(read->prior_value(), 0.75);
}

TEST_F(LearnTest, DegreesBeyondTheSamplesAreWarnedOf) {
  v1::RegisterHardwareRequest request = Request();
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(response_.calibration_report().calibrations(0).max_tensor_parallel(), 1);
  v1::Scenario scenario = Scenario(8, 512, 128);
  scenario.set_hardware_id("acme-one");
  scenario.mutable_deployment()->set_engine("acme@1");
  v1::EstimateResponse response;
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  EXPECT_TRUE(response.estimate().warnings().empty());
  scenario.mutable_deployment()->set_tensor_parallel(4);
  ASSERT_TRUE(Estimate(scenario, &response).ok());
  ASSERT_EQ(response.estimate().warnings_size(), 1);
  EXPECT_EQ(response.estimate().warnings(0).code(), v1::WARNING_CODE_EXTRAPOLATED);
  EXPECT_EQ(response.estimate().warnings(0).field(), "deployment.tensor_parallel");
  EXPECT_EQ(response.estimate().warnings(0).message(),
            "tensor_parallel 4; calibration acme-one.acme-1 rests on runs of up to 1");
}

// Half as fast as the prior at every rate: the calibration of continuous batching follows.
TEST_F(LearnTest, SamplesAtARequestRate) {
  const auto at = [this](const std::string& hardware, double rate, const char* engine = "") {
    v1::Scenario scenario = Scenario(1, 512, 128);
    scenario.set_hardware_id(hardware);
    scenario.mutable_deployment()->set_engine(engine);
    scenario.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    scenario.mutable_workload()->set_request_rate_per_second(rate);
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  };
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  for (const double rate : {0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0}) {
    v1::ProfileSample& sample = *request.add_samples() = Measure("llama-3.1-8b", 1, 512);
    sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    sample.set_request_rate_per_second(rate);
    const v1::Estimate prior = at("nvidia-a100-sxm-80gb", rate);
    sample.set_ttft_seconds(2 * prior.ttft().seconds());
    sample.set_tpot_seconds(2 * prior.tpot().seconds());
  }
  ASSERT_TRUE(Send(request).ok());
  const v1::Estimate learned = at("acme-one", 2.2, "acme@1");
  EXPECT_EQ(learned.decode().provenance(), v1::PROVENANCE_CALIBRATED);
  EXPECT_NEAR(learned.tpot().seconds() / at("nvidia-a100-sxm-80gb", 2.2).tpot().seconds(), 2, 0.2);
}

TEST_F(LearnTest, TheSameSamplesGiveTheSameDigest) {
  v1::RegisterHardwareRequest request = Request();
  request.set_validate_only(true);
  ASSERT_TRUE(Send(request).ok());
  const std::string first = response_.calibration_report().calibrations(0).sample_digest();
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(response_.calibration_report().calibrations(0).sample_digest(), first);
  request.mutable_samples(0)->set_ttft_seconds(0.5);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_NE(response_.calibration_report().calibrations(0).sample_digest(), first);
}

TEST_F(LearnTest, EachEngineHasItsOwn) {
  v1::RegisterHardwareRequest request = Request();
  for (int i = 0; i < 12; i += 2) request.mutable_samples(i)->mutable_deployment()->set_engine("other");
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(response_.entry().spec().calibrations_size(), 2);
  EXPECT_EQ(Ask("acme-one", "other", "llama-2-7b", 1, 128).calibration_id(), "acme-one.other");
}

// One of three models takes half as long again as the others say: it has parameters of its own, the others none
// of it, an inline spec of its name is another model, and samples without it forget it.
TEST_F(LearnTest, AModelThatDeviatesHasItsOwn) {
  v1::RegisterHardwareRequest request = Request();
  for (const int batch : {1, 2, 4, 8, 16, 32}) {
    for (const int prompt : {256, 1024}) {
      v1::ProfileSample& sample = *request.add_samples() = Measure("mistral-7b-v0.1", batch, prompt);
      sample.set_ttft_seconds(1.5 * sample.ttft_seconds());
      sample.set_tpot_seconds(1.5 * sample.tpot_seconds());
    }
  }
  ASSERT_TRUE(Send(request).ok());
  ASSERT_EQ(response_.calibration_report().calibrations_size(), 2);
  const v1::CalibrationSpec& own = response_.calibration_report().calibrations(1);
  EXPECT_EQ(own.id(), "acme-one.acme-1.mistral-7b-v0.1");
  EXPECT_EQ(own.level(), v1::CALIBRATION_LEVEL_MODEL);
  EXPECT_EQ(own.parent(), "acme-one.acme-1");
  EXPECT_EQ(own.samples_used(), 12);
  const v1::Estimate odd = Ask("acme-one", "acme@1", "mistral-7b-v0.1", 4, 512);
  EXPECT_EQ(odd.calibration_id(), own.id());
  EXPECT_NEAR(odd.tpot().seconds() / Ask("acme-one", "acme@1", "llama-2-7b", 4, 512).tpot().seconds(), 1.5, 0.15);
  EXPECT_EQ(Ask("acme-one", "acme@1", "llama-2-7b", 4, 512).calibration_id(), "acme-one.acme-1");

  v1::GetModelRequest get;
  get.set_model_id("mistral-7b-v0.1");
  v1::GetModelResponse got;
  ASSERT_TRUE(catalog_stub_->GetModel(std::make_unique<grpc::ClientContext>().get(), get, &got).ok());
  v1::Scenario inlined = Scenario(4, 512, 128);
  *inlined.mutable_model_spec() = got.entry().spec();
  inlined.set_hardware_id("acme-one");
  inlined.mutable_deployment()->set_engine("acme@1");
  v1::EstimateResponse answer;
  ASSERT_TRUE(Estimate(inlined, &answer).ok());
  EXPECT_EQ(answer.estimate().calibration_id(), "acme-one.acme-1");

  request = Request();
  request.set_etag("*");
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(response_.entry().spec().calibrations_size(), 1);
}

// Microseconds in the fields of seconds, of one model so that a linear profile is regressed too.
// Given up at whatever point before the write: nothing is written.
TEST_F(LearnTest, EnginesThatDifferInCaseHaveIdsOfTheirOwn) {
  v1::RegisterHardwareRequest request = Request();
  for (int i = 0; i < 12; ++i) {
    request.mutable_samples(i)->mutable_deployment()->set_engine(i % 2 == 0 ? "Acme@1" : "acme@1");
  }
  ASSERT_TRUE(Send(request).ok());
  EXPECT_THAT(response_.entry().spec().calibrations(0).id(), testing::MatchesRegex("acme-one.acme-1-[0-9a-f]{8}"));
  EXPECT_EQ(response_.entry().spec().calibrations(1).id(), "acme-one.acme-1");
}

TEST_F(LearnTest, ACalibrationOfAModelStandsBesideItsEngines) {
  v1::RegisterHardwareRequest request = Request();
  request.set_validate_only(true);
  ASSERT_TRUE(Send(request).ok());
  request.clear_samples();
  *request.mutable_spec() = response_.entry().spec();
  v1::CalibrationSpec of_model = request.spec().calibrations(0);
  of_model.set_id("acme-one.acme-1.llama-2-7b");
  of_model.set_model_id("llama-2-7b");
  of_model.set_level(v1::CALIBRATION_LEVEL_MODEL);
  *request.mutable_spec()->add_calibrations() = of_model;
  EXPECT_TRUE(Send(request).ok());
  *request.mutable_spec()->add_calibrations() = of_model;
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("spec.calibrations[2]"));
  request.mutable_spec()->mutable_calibrations()->DeleteSubrange(0, 2);
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("spec.calibrations[0].model_id"));
}

}  // namespace
}  // namespace foretoken::rpc

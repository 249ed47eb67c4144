// Registrations with samples: what is learned, what is refused, what changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/rpc/catalog_api.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using testing::HasSubstr;

class LearnTest : public ServiceTest {
 protected:
  // A device like an A100 whose engine, "acme@1", is 1.4 times slower than what ships for "vllm" says.
  v1::RegisterHardwareRequest Request() {
    v1::RegisterHardwareRequest request;
    v1::GetHardwareRequest get;
    get.set_hardware_id("nvidia-a100-sxm-80gb");
    v1::GetHardwareResponse got;
    EXPECT_TRUE(catalog_stub_->GetHardware(std::make_unique<grpc::ClientContext>().get(), get, &got).ok());
    *request.mutable_spec() = got.entry().spec();
    request.mutable_spec()->set_id("acme-one");
    for (const char* model : {"llama-3.1-8b", "llama-2-7b"}) {
      for (const int batch : {1, 8, 32}) {
        for (const int prompt : {256, 1024}) *request.add_samples() = Measure(model, batch, prompt);
      }
    }
    return request;
  }

  v1::ProfileSample Measure(const std::string& model, int batch, int prompt) {
    const v1::Estimate estimate = Ask("nvidia-a100-sxm-80gb", "vllm", model, batch, prompt);
    v1::ProfileSample sample;
    sample.set_model_id(model);
    sample.mutable_deployment()->set_engine("acme@1");
    sample.set_batch_size(batch);
    sample.set_prompt_tokens(prompt);
    sample.set_output_tokens(128);
    sample.set_ttft_seconds(1.4 * estimate.ttft().seconds());
    sample.set_tpot_seconds(1.4 * estimate.tpot().seconds());
    return sample;
  }

  v1::Estimate Ask(const std::string& hardware, const std::string& engine, const std::string& model, int batch,
                   int prompt) {
    v1::Scenario scenario = Scenario(batch, prompt, 128);
    scenario.set_model_id(model);
    scenario.set_hardware_id(hardware);
    scenario.mutable_deployment()->set_engine(engine);
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  }

  grpc::Status Send(const v1::RegisterHardwareRequest& request) {
    grpc::ClientContext context;
    return catalog_stub_->RegisterHardware(&context, request, &response_);
  }

  v1::RegisterHardwareResponse response_;
};

TEST_F(LearnTest, SpecsThenSamplesThenBetterPredictions) {
  v1::RegisterHardwareRequest specs = Request();
  specs.clear_samples();
  ASSERT_TRUE(Send(specs).ok());
  EXPECT_FALSE(response_.has_calibration_report());
  const double measured = 1.4 * Ask("nvidia-a100-sxm-80gb", "vllm", "mistral-7b-v0.1", 4, 512).tpot().seconds();
  const v1::Estimate before = Ask("acme-one", "acme@1", "mistral-7b-v0.1", 4, 512);
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

TEST_F(LearnTest, TheGateKeepsNonsenseOut) {
  v1::RegisterHardwareRequest request = Request();
  for (int i = 0; i < 12; ++i) {
    v1::ProfileSample& sample = *request.mutable_samples(i);
    sample.set_tpot_seconds(sample.tpot_seconds() * (i % 2 == 0 ? 1 : 1.5));
  }
  request.set_max_median_ape(0.05);
  const grpc::Status status = Send(request);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(PartsOf(status).reason, "POOR_FIT");
  EXPECT_THAT(status.error_message(), HasSubstr("allowed at most 5.0%"));
  request.set_max_median_ape(0.9);
  EXPECT_TRUE(Send(request).ok());
  request.set_max_median_ape(-1);
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("max_median_ape"));
}

// Microseconds in the fields of seconds, of one model so that a linear profile is regressed too.
TEST_F(LearnTest, TimesInTheWrongUnitAreRefused) {
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  for (const int batch : {1, 2, 4, 8, 16}) {
    for (const int prompt : {128, 512, 2048}) {
      v1::ProfileSample& sample = *request.add_samples() = Measure("llama-3.1-8b", batch, prompt);
      sample.set_ttft_seconds(1e5);
      sample.set_tpot_seconds(1e4);
    }
  }
  request.set_validate_only(true);
  const grpc::Status status = Send(request);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(PartsOf(status).reason, "POOR_FIT");
  EXPECT_THAT(PartsOf(status).fields, testing::ElementsAre("samples"));
  EXPECT_THAT(status.error_message(), HasSubstr("are the times in seconds?"));
}

// Given up at whatever point before the write: nothing is written.
TEST_F(LearnTest, AnAbandonedRegistrationWritesNothing) {
  const v1::RegisterHardwareRequest request = Request();
  const auto give_up_after = [&](int patience) {
    v1::RegisterHardwareResponse response;
    return Register(
        request, {}, now_, [&patience] { return --patience < 0; }, *catalog_, response);
  };
  int patience = 0;
  for (; absl::IsCancelled(give_up_after(patience)); patience = 2 * patience + 1) {
    EXPECT_FALSE(catalog_->snapshot()->FindHardware("acme-one", "").ok()) << patience;
  }
  EXPECT_GT(patience, 100);
  EXPECT_TRUE(catalog_->snapshot()->FindHardware("acme-one", "").ok());
}

TEST_F(LearnTest, RefusesByReason) {
  v1::RegisterHardwareRequest request = Request();
  request.mutable_samples(3)->set_model_id("llama-2-7x");
  grpc::Status status = Send(request);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(PartsOf(status).fields, testing::ElementsAre("samples[3].model_id"));

  request = Request();
  request.mutable_samples()->DeleteSubrange(2, 10);
  request.mutable_samples(1)->set_model_id("llama-2-7b");
  status = Send(request);
  EXPECT_EQ(PartsOf(status).reason, "INSUFFICIENT_SAMPLES");
  EXPECT_THAT(status.error_message(), HasSubstr("engine \"acme@1\": 2 usable samples of 2; at least 3"));

  request = Request();
  request.mutable_samples(5)->clear_ttft_seconds();
  request.mutable_samples(5)->clear_tpot_seconds();
  request.mutable_samples(6)->mutable_deployment()->set_tensor_parallel(0);
  EXPECT_THAT(PartsOf(Send(request)).fields,
              testing::ElementsAre("samples[5].ttft_seconds", "samples[6].deployment.tensor_parallel"));
}

TEST_F(LearnTest, ACalibrationOfAnotherModelVersionIsRefused) {
  v1::RegisterHardwareRequest request = Request();
  request.set_validate_only(true);
  ASSERT_TRUE(Send(request).ok());
  request.clear_samples();
  *request.mutable_spec() = response_.entry().spec();
  EXPECT_TRUE(Send(request).ok());
  request.mutable_spec()->mutable_calibrations(0)->set_model_version(99);
  const grpc::Status status = Send(request);
  EXPECT_THAT(PartsOf(status).fields, testing::ElementsAre("spec.calibrations[0].model_version"));
  request = Request();
  request.clear_samples();
  *request.mutable_spec() = response_.entry().spec();
  request.mutable_spec()->mutable_calibrations(0)->mutable_parameters(0)->set_value(1e9);
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("spec.calibrations[0].parameters[0].value"));
}

TEST_F(LearnTest, ACalibrationHasAnIdOfItsOwn) {
  ASSERT_TRUE(Send(Request()).ok());
  v1::HardwareSpec spec = response_.entry().spec();
  const auto refused = [&](const std::string& hardware_id, const std::string& id) {
    v1::RegisterHardwareRequest request;
    *request.mutable_spec() = spec;
    request.mutable_spec()->set_id(hardware_id);
    request.mutable_spec()->mutable_calibrations(0)->set_hardware_id(hardware_id);
    request.mutable_spec()->mutable_calibrations(0)->set_id(id);
    request.set_etag("*");
    const grpc::Status status = Send(request);
    if (!status.ok()) {
      EXPECT_THAT(PartsOf(status).fields, testing::ElementsAre("spec.calibrations[0].id"));
    }
    return status.error_message();
  };
  EXPECT_THAT(refused("acme-one", "generic-static"),
              HasSubstr("is taken by the one that ships for any hardware, any engine"));
  EXPECT_THAT(refused("acme-two", "acme-one.acme-1"),
              HasSubstr("is taken by the registered one of hardware \"acme-one\", engine \"acme@1\""));
  EXPECT_EQ(refused("acme-one", "acme-one.other-name"), "");
  spec.mutable_calibrations(0)->set_engine("vllm");  // it answers in place of what ships for the device
  spec.mutable_calibrations(0)->set_level(v1::CALIBRATION_LEVEL_HARDWARE);
  EXPECT_EQ(refused("nvidia-a100-sxm-80gb", "nvidia-a100-sxm-80gb.vllm"), "");
}

TEST_F(LearnTest, EnginesThatDifferInCaseHaveIdsOfTheirOwn) {
  v1::RegisterHardwareRequest request = Request();
  for (int i = 0; i < 12; ++i) {
    request.mutable_samples(i)->mutable_deployment()->set_engine(i % 2 == 0 ? "Acme@1" : "acme@1");
  }
  ASSERT_TRUE(Send(request).ok());
  EXPECT_THAT(response_.entry().spec().calibrations(0).id(), testing::MatchesRegex("acme-one.acme-1-[0-9a-f]{8}"));
  EXPECT_EQ(response_.entry().spec().calibrations(1).id(), "acme-one.acme-1");
}

TEST_F(LearnTest, AStatedProfileIsNotFasterThanLight) {
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  v1::LinearProfile& profile = *request.mutable_spec()->add_linear_profiles();
  profile.set_model_id("llama-3.1-8b");
  profile.set_engine("acme@1");
  profile.set_prefill_tokens_per_second(1e4);
  profile.set_effective_bandwidth_bytes_per_second(1.9e12);  // of 2.039e12
  request.set_validate_only(true);
  EXPECT_TRUE(Send(request).ok());
  request.mutable_spec()->mutable_linear_profiles(0)->set_effective_bandwidth_bytes_per_second(1e13);
  const grpc::Status status = Send(request);
  EXPECT_THAT(PartsOf(status).fields,
              testing::ElementsAre("spec.linear_profiles[0].effective_bandwidth_bytes_per_second"));
  EXPECT_THAT(status.error_message(), HasSubstr("is faster than the speed of light"));
  // A profile counts all experts, of which a token reads two in eight.
  request.mutable_spec()->mutable_linear_profiles(0)->set_model_id("mixtral-8x7b-v0.1");
  request.mutable_spec()->mutable_linear_profiles(0)->set_effective_bandwidth_bytes_per_second(4e12);
  EXPECT_TRUE(Send(request).ok());
  request.mutable_spec()->mutable_linear_profiles(0)->set_tensor_parallel(2);
  request.mutable_spec()->mutable_linear_profiles(0)->set_effective_bandwidth_bytes_per_second(8e12);
  EXPECT_TRUE(Send(request).ok());
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

// Registrations with samples, calibrations or profiles that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/rpc/catalog/catalog_api.h"
#include "tests/rpc/learn_fixture.h"

namespace foretoken::rpc {
namespace {

using testing::HasSubstr;

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

TEST_F(LearnTest, ARateIsOfContinuousBatching) {
  v1::RegisterHardwareRequest request = Request();
  request.mutable_samples(3)->set_request_rate_per_second(2);
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("samples[3].request_rate_per_second"));
}

TEST_F(LearnTest, ARunIsBoundedAsAWorkloadIs) {
  v1::RegisterHardwareRequest request = Request();
  request.mutable_samples(0)->set_prompt_tokens(2'147'483'647);
  request.mutable_samples(1)->set_output_tokens(100'000'001);
  request.mutable_samples(2)->set_batch_size(1'000'001);
  EXPECT_THAT(PartsOf(Send(request)).fields,
              testing::ElementsAre("samples[0].prompt_tokens", "samples[1].output_tokens", "samples[2].batch_size"));
}

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

// TTFT and TPOT make a profile, E2E below the floor makes no calibration: the report says why.
TEST_F(LearnTest, SamplesOfAProfileAloneTellWhyThereIsNoCalibration) {
  v1::RegisterHardwareRequest request = Request();
  request.clear_samples();
  for (const int batch : {1, 2, 4}) {
    v1::ProfileSample& sample = *request.add_samples();
    sample = Measure("llama-3.1-8b", batch, 256);
    sample.set_e2e_seconds(1.01 * sample.ttft_seconds());
  }
  request.set_validate_only(true);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_GT(response_.report().prefill().slope(), 0);
  EXPECT_EQ(response_.calibration_report().calibrations_size(), 0);
  ASSERT_EQ(response_.calibration_report().rejected_size(), 3);
  EXPECT_EQ(response_.calibration_report().rejected(2).index(), 2);
  EXPECT_THAT(response_.calibration_report().rejected(2).reason(), HasSubstr("faster than the speed of light"));
  request.set_max_median_ape(0.5);  // asks for a calibration
  EXPECT_EQ(PartsOf(Send(request)).reason, "INSUFFICIENT_SAMPLES");
  request.clear_max_median_ape();
  // An E2E that is less than the TTFT beside it contradicts the profile too.
  for (v1::ProfileSample& sample : *request.mutable_samples()) sample.set_e2e_seconds(0.9 * sample.ttft_seconds());
  EXPECT_EQ(PartsOf(Send(request)).reason, "INSUFFICIENT_SAMPLES");
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
  request.mutable_spec()->mutable_linear_profiles(0)->clear_effective_bandwidth_bytes_per_second();
  request.mutable_spec()->mutable_linear_profiles(0)->set_prefill_tokens_per_second(1e15);
  EXPECT_THAT(PartsOf(Send(request)).fields, testing::ElementsAre("spec.linear_profiles[0].prefill_tokens_per_second"));
  request.mutable_spec()->mutable_linear_profiles(0)->set_prefill_tokens_per_second(1e4);
  // A profile counts all experts, of which a token reads two in eight.
  request.mutable_spec()->mutable_linear_profiles(0)->set_model_id("mixtral-8x7b");
  request.mutable_spec()->mutable_linear_profiles(0)->set_effective_bandwidth_bytes_per_second(4e12);
  EXPECT_TRUE(Send(request).ok());
  request.mutable_spec()->mutable_linear_profiles(0)->set_tensor_parallel(2);
  request.mutable_spec()->mutable_linear_profiles(0)->set_effective_bandwidth_bytes_per_second(8e12);
  EXPECT_TRUE(Send(request).ok());
}

}  // namespace
}  // namespace foretoken::rpc

// Registrations with kernels timed alone: by themselves, beside runs, and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "estimator/step/kernel.h"
#include "server/rpc/register/read_kernels.h"
#include "tests/rpc/learn_fixture.h"

namespace foretoken::rpc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kMixtral = "mixtral-8x7b";
constexpr const char* kDense = "llama-3.1-8b";

class LearnKernelsTest : public LearnTest {
 protected:
  LearnKernelsTest() {
    truth_.experts[0] = {.gemm = 0.2, .half_rows = 60, .row_rate = BytesPerSecond(1e12)};
    truth_.microbenchmark_start = Seconds(40e-6);
  }

  // 18 kernels of "acme@1" on a device like an A100, which reaches less than other devices with them.
  v1::RegisterHardwareRequest Kernels() {
    v1::RegisterHardwareRequest request = Request();
    request.clear_samples();
    for (const int tokens : {1, 8, 64, 512, 4096, 32768}) {
      for (const int width : {256, 1792, 14336}) *request.add_kernels() = Time(tokens, width);
    }
    return request;
  }

  v1::KernelSample Time(int tokens, int width) {
    v1::KernelSample sample;
    sample.set_engine("acme@1");
    sample.set_weight_dtype(v1::DTYPE_BF16);
    sample.set_activation_dtype(v1::DTYPE_BF16);
    v1::RoutedExpertsKernel& kernel = *sample.mutable_routed_experts();
    kernel.set_tokens(tokens);
    kernel.set_num_experts_per_tok(2);
    kernel.set_rows(2 * tokens);
    kernel.set_num_experts(8 * (1 - std::pow(0.75, tokens)));
    kernel.set_hidden_size(4096);
    kernel.set_moe_intermediate_size(width);
    const ExpertsKernel timed{.tokens = static_cast<double>(tokens),
                              .chosen = 2,
                              .rows = kernel.rows(),
                              .experts = kernel.num_experts(),
                              .hidden = 4096,
                              .width = static_cast<double>(width)};
    const auto a100 = catalog_->snapshot()->FindHardware("nvidia-a100-sxm-80gb", "");
    sample.set_measured_seconds(KernelTime(timed, (*a100)->hardware, truth_)->value());
    return sample;
  }

  v1::Estimate Serve(const std::string& model, const std::string& engine, int concurrency, int prompt) {
    v1::Scenario scenario = Scenario(concurrency, prompt, 128);
    scenario.set_model_id(model);
    scenario.set_hardware_id("acme-one");
    scenario.mutable_deployment()->set_engine(engine);
    scenario.mutable_deployment()->set_tensor_parallel(2);
    scenario.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  }

  // 12 closed loops of a dense model, 1.4 times slower than the prior.
  void AddRuns(v1::RegisterHardwareRequest& request) {
    for (const int concurrency : {1, 4, 16, 32}) {
      for (const int prompt : {256, 512, 1024}) {
        const v1::Estimate prior = Serve(kDense, "", concurrency, prompt);
        v1::ProfileSample& sample = *request.add_samples();
        sample.set_model_id(kDense);
        sample.mutable_deployment()->set_engine("acme@1");
        sample.mutable_deployment()->set_tensor_parallel(2);
        sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
        sample.set_batch_size(concurrency);
        sample.set_prompt_tokens(prompt);
        sample.set_output_tokens(128);
        sample.set_ttft_seconds(1.4 * prior.ttft().seconds());
        sample.set_tpot_seconds(1.4 * prior.tpot().seconds());
      }
    }
  }

  const v1::CalibrationReport& report() const { return response_.calibration_report(); }

  static const v1::CalibrationParameter* Find(const v1::CalibrationSpec& spec, const std::string& name) {
    const auto found = std::find_if(spec.parameters().begin(), spec.parameters().end(),
                                    [&name](const auto& parameter) { return parameter.name() == name; });
    return found == spec.parameters().end() ? nullptr : &*found;
  }

  Efficiencies truth_ = GenericServedPrior();
};

TEST_F(LearnKernelsTest, KernelsAloneGiveACalibrationOfContinuousBatching) {
  v1::RegisterHardwareRequest figures = Request();
  figures.clear_samples();
  ASSERT_TRUE(Send(figures).ok());
  const double before = Serve(kMixtral, "", 16, 512).ttft().seconds();
  const double dense_before = Serve(kDense, "", 16, 512).tpot().seconds();

  v1::RegisterHardwareRequest request = Kernels();
  request.set_etag(response_.entry().etag());
  request.set_request_id("kernels-1");
  ASSERT_TRUE(Send(request).ok());
  ASSERT_EQ(report().calibrations_size(), 1);
  const v1::CalibrationSpec learned = report().calibrations(0);
  EXPECT_EQ(learned.id(), "acme-one.acme-1.continuous");
  EXPECT_TRUE(learned.continuous());
  EXPECT_EQ(learned.parent(), "generic-continuous");
  EXPECT_EQ(learned.kernels_used(), 18);
  EXPECT_EQ(learned.samples_used(), 0);
  EXPECT_EQ(learned.sample_digest().size(), 64u);
  ASSERT_EQ(learned.parameters_size(), 3);
  EXPECT_EQ(learned.parameters(0).name(), "expert_gemm_efficiency_16bit");
  EXPECT_NEAR(learned.parameters(0).value(), 0.2, 0.01);
  EXPECT_TRUE(learned.parameters(0).identified());
  ASSERT_EQ(report().kernel_errors_size(), 1);
  EXPECT_EQ(report().kernel_errors(0).calibration_id(), learned.id());
  EXPECT_EQ(report().kernel_errors(0).kernel(), "routed_experts");
  EXPECT_EQ(report().kernel_errors(0).format(), "16bit");
  EXPECT_EQ(report().kernel_errors(0).num_kernels(), 18);
  EXPECT_LT(report().kernel_errors(0).in_sample_median_ape(), 0.1 * report().kernel_errors(0).parent_median_ape());
  EXPECT_NEAR(report().kernel_errors(0).start_seconds(), 40e-6, 4e-6);
  EXPECT_GT(report().moved_size(), 0);

  const v1::Estimate after = Serve(kMixtral, "acme@1", 16, 512);
  EXPECT_EQ(after.calibration_id(), learned.id());
  EXPECT_EQ(after.prefill().provenance(), v1::PROVENANCE_TRANSFERRED);
  EXPECT_GT(after.ttft().seconds(), 1.2 * before);
  EXPECT_NEAR(Serve(kDense, "acme@1", 16, 512).tpot().seconds() / dense_before, 1, 1e-9) << "has no routed experts";

  const std::string etag = response_.entry().etag();
  ASSERT_TRUE(Send(request).ok());
  EXPECT_EQ(response_.entry().etag(), etag) << "the same request id gives the first answer";
  EXPECT_EQ(response_.entry().spec().calibrations(0).kernels_used(), 18);
  figures.set_etag(etag);
  ASSERT_TRUE(Send(figures).ok());
  EXPECT_EQ(response_.entry().spec().calibrations_size(), 1) << "figures alone keep it";
}

TEST_F(LearnKernelsTest, TheReplySaysWhatEachPhaseRestsOn) {
  v1::RegisterHardwareRequest request = Kernels();
  ASSERT_TRUE(Send(request).ok());
  ASSERT_EQ(report().evidence_size(), 1);
  EXPECT_EQ(report().evidence(0).calibration_id(), "acme-one.acme-1.continuous");
  EXPECT_THAT(report().evidence(0).prefill(), ElementsAre(v1::CALIBRATION_BASIS_KERNELS, v1::CALIBRATION_BASIS_PARENT));
  EXPECT_THAT(report().evidence(0).decode(), ElementsAre(v1::CALIBRATION_BASIS_KERNELS, v1::CALIBRATION_BASIS_PARENT));
  EXPECT_EQ(report().evidence(0).description(),
            "prefill and decode: routed experts in 16bit by 18 kernels of this hardware and engine; all else by the "
            "parent generic-continuous; models without routed experts by the generic prior");

  AddRuns(request);
  for (v1::ProfileSample& sample : *request.mutable_samples()) sample.clear_ttft_seconds();
  request.set_etag("*");
  ASSERT_TRUE(Send(request).ok());
  EXPECT_THAT(report().evidence(0).prefill(), ElementsAre(v1::CALIBRATION_BASIS_KERNELS, v1::CALIBRATION_BASIS_PARENT));
  EXPECT_THAT(report().evidence(0).decode(), ElementsAre(v1::CALIBRATION_BASIS_KERNELS, v1::CALIBRATION_BASIS_RUNS));
  EXPECT_THAT(report().evidence(0).description(),
              HasSubstr(". decode: routed experts in 16bit by 18 kernels of this hardware and engine; all else by 12 "
                        "runs of this hardware and engine"));

  request.clear_samples();
  ASSERT_TRUE(Send(request).ok());
  EXPECT_THAT(report().evidence(0).description(), HasSubstr("Takes the place of a calibration of 12 runs"));
  request.clear_kernels();
  AddRuns(request);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_THAT(report().evidence(0).prefill(), ElementsAre(v1::CALIBRATION_BASIS_RUNS));
  EXPECT_EQ(report().calibrations(0).kernels_used(), 0);
}

TEST_F(LearnKernelsTest, KernelsDecideTheirOperatorsAndRunsTheRest) {
  v1::RegisterHardwareRequest request = Kernels();
  ASSERT_TRUE(Send(request).ok());
  const v1::CalibrationSpec by_kernels = report().calibrations(0);
  const v1::Estimate prior = Serve(kDense, "", 8, 768);
  AddRuns(request);
  request.set_etag("*");
  ASSERT_TRUE(Send(request).ok());
  ASSERT_EQ(report().calibrations_size(), 1);
  const v1::CalibrationSpec& both = report().calibrations(0);
  EXPECT_EQ(both.kernels_used(), 18);
  EXPECT_EQ(both.samples_used(), 12);
  EXPECT_NE(both.sample_digest(), by_kernels.sample_digest());
  for (const v1::CalibrationParameter& of_kernels : by_kernels.parameters()) {
    const v1::CalibrationParameter* stays = Find(both, of_kernels.name());
    ASSERT_NE(stays, nullptr) << of_kernels.name();
    EXPECT_EQ(stays->ShortDebugString(), of_kernels.ShortDebugString());
  }
  const v1::Estimate unseen = Serve(kDense, "acme@1", 8, 768);
  EXPECT_NEAR(unseen.tpot().seconds() / prior.tpot().seconds(), 1.4, 0.1);
  EXPECT_NEAR(unseen.ttft().seconds() / prior.ttft().seconds(), 1.4, 0.1);
  EXPECT_EQ(Serve(kMixtral, "acme@1", 16, 512).prefill().provenance(), v1::PROVENANCE_CALIBRATED);
  EXPECT_EQ(Serve(kDense, "acme@1", 16, 512).calibration_id(), both.id());
}

TEST_F(LearnKernelsTest, RunsOfAnotherBatchingOrEngineStandBesideThem) {
  v1::RegisterHardwareRequest request = Request();  // static batches of the engine, of two models
  *request.mutable_kernels() = Kernels().kernels();
  request.mutable_kernels(0)->set_engine("other@2");
  request.mutable_kernels(1)->set_engine("other@2");
  request.mutable_kernels(2)->set_engine("other@2");
  ASSERT_TRUE(Send(request).ok());
  std::vector<std::string> ids;
  for (const v1::CalibrationSpec& calibration : report().calibrations()) ids.push_back(calibration.id());
  EXPECT_THAT(ids, ElementsAre("acme-one.acme-1", "acme-one.acme-1.continuous", "acme-one.other-2.continuous"));
  EXPECT_EQ(report().calibrations(0).kernels_used(), 0);
  EXPECT_EQ(report().calibrations(2).kernels_used(), 3);
}

// Two runs make a profile and no calibration; the kernels beside them are learned all the same.
TEST_F(LearnKernelsTest, KernelsBesideAProfileAlone) {
  v1::RegisterHardwareRequest request = Kernels();
  for (const int batch : {1, 4}) *request.add_samples() = Measure(kDense, batch, 256);
  ASSERT_TRUE(Send(request).ok());
  EXPECT_GT(response_.report().prefill().slope(), 0);
  ASSERT_EQ(report().calibrations_size(), 1);
  EXPECT_EQ(report().calibrations(0).kernels_used(), 18);
}

TEST_F(LearnKernelsTest, WhatCannotBeIsLeftOutAndNamed) {
  v1::RegisterHardwareRequest request = Kernels();
  v1::RegisterHardwareRequest other = Kernels();
  for (v1::KernelSample& kernel : *other.mutable_kernels()) kernel.set_engine("zeta@1");
  request.mutable_kernels()->MergeFrom(other.kernels());
  request.mutable_kernels(20)->set_measured_seconds(1e-9);
  request.mutable_kernels(31)->set_measured_seconds(3 * request.kernels(31).measured_seconds());
  ASSERT_TRUE(Send(request).ok());
  ASSERT_EQ(report().rejected_kernels_size(), 1);
  EXPECT_EQ(report().rejected_kernels(0).index(), 20) << "in the request, not in the engine's";
  EXPECT_THAT(report().rejected_kernels(0).reason(), HasSubstr("the hardware cannot be faster than"));
  ASSERT_EQ(report().suspicious_kernels_size(), 1);
  EXPECT_EQ(report().suspicious_kernels(0).index(), 31);
  ASSERT_EQ(report().calibrations_size(), 2);
  EXPECT_EQ(report().calibrations(1).kernels_used(), 17);
  ASSERT_EQ(report().calibrations(1).rejected_size(), 1);
  EXPECT_EQ(report().calibrations(1).rejected(0).reason(), "kernel faster than light");
}

TEST_F(LearnKernelsTest, EveryFieldIsChecked) {
  struct Case {
    std::string field;
    std::function<void(v1::KernelSample&)> change;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  using K = v1::KernelSample;
  const std::vector<Case> cases = {
      {"engine", [](K& k) { k.clear_engine(); }},
      {"engine", [](K& k) { k.set_engine("a b"); }},
      {"engine", [](K& k) { k.set_engine(std::string(129, 'a')); }},
      {"weight_dtype", [](K& k) { k.clear_weight_dtype(); }},
      {"weight_dtype", [](K& k) { k.set_weight_dtype(static_cast<v1::Dtype>(99)); }},
      {"activation_dtype", [](K& k) { k.clear_activation_dtype(); }},
      {"measured_seconds", [](K& k) { k.clear_measured_seconds(); }},
      {"measured_seconds", [](K& k) { k.set_measured_seconds(-1); }},
      {"measured_seconds", [nan](K& k) { k.set_measured_seconds(nan); }},
      {"measured_seconds", [infinity](K& k) { k.set_measured_seconds(infinity); }},
      {"kernel", [](K& k) { k.clear_routed_experts(); }},
      {"routed_experts.tokens", [](K& k) { k.mutable_routed_experts()->set_tokens(0); }},
      {"routed_experts.tokens", [](K& k) { k.mutable_routed_experts()->set_tokens(100'000'001); }},
      {"routed_experts.num_experts_per_tok",
       [](K& k) { k.mutable_routed_experts()->set_num_experts_per_tok(1 << 17); }},
      {"routed_experts.rows", [](K& k) { k.mutable_routed_experts()->set_rows(-1); }},
      {"routed_experts.rows", [](K& k) { k.mutable_routed_experts()->set_rows(2.1); }},
      {"routed_experts.rows", [nan](K& k) { k.mutable_routed_experts()->set_rows(nan); }},
      {"routed_experts.num_experts", [](K& k) { k.mutable_routed_experts()->set_num_experts(0); }},
      {"routed_experts.num_experts", [infinity](K& k) { k.mutable_routed_experts()->set_num_experts(infinity); }},
      {"routed_experts.hidden_size", [](K& k) { k.mutable_routed_experts()->set_hidden_size(1 << 25); }},
      {"routed_experts.moe_intermediate_size", [](K& k) { k.mutable_routed_experts()->set_moe_intermediate_size(-5); }},
      {"routed_experts.mlp_matrices", [](K& k) { k.mutable_routed_experts()->set_mlp_matrices(4); }},
  };
  const v1::RegisterHardwareRequest good = Kernels();
  for (const Case& c : cases) {
    v1::RegisterHardwareRequest request = good;
    c.change(*request.mutable_kernels(2));  // rows are those of one token
    const grpc::Status status = Send(request);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << c.field;
    EXPECT_THAT(PartsOf(status).fields, ElementsAre("kernels[2]." + c.field)) << status.error_message();
  }
}

TEST_F(LearnKernelsTest, RefusesByReason) {
  v1::RegisterHardwareRequest request = Kernels();
  while (request.kernels_size() <= kMaxKernels) *request.add_kernels() = request.kernels(0);
  grpc::Status status = Send(request);
  EXPECT_EQ(PartsOf(status).reason, "LIMIT_EXCEEDED");
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("kernels"));

  request = Kernels();
  request.mutable_kernels()->DeleteSubrange(2, 16);
  status = Send(request);
  EXPECT_EQ(PartsOf(status).reason, "INSUFFICIENT_SAMPLES");
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("kernels"));
  EXPECT_THAT(status.error_message(), HasSubstr("engine \"acme@1\": no format has 3 usable kernels"));

  request = Kernels();
  for (v1::KernelSample& kernel : *request.mutable_kernels()) {
    kernel.set_measured_seconds(1e6 * kernel.measured_seconds());
  }
  status = Send(request);
  EXPECT_EQ(PartsOf(status).reason, "POOR_FIT");
  EXPECT_THAT(status.error_message(), HasSubstr("are the times in seconds?"));
  EXPECT_FALSE(catalog_->snapshot()->FindHardware("acme-one", "").ok()) << "nothing is written";
}

// A calibration of kernels alone has no metric of a request: it is held to the error on its kernels.
TEST_F(LearnKernelsTest, TheGateHoldsForKernelsAlone) {
  v1::RegisterHardwareRequest request = Kernels();
  for (int i = 0; i < request.kernels_size(); ++i) {
    v1::KernelSample& kernel = *request.mutable_kernels(i);
    kernel.set_measured_seconds(kernel.measured_seconds() * (i % 2 == 0 ? 1 : 1.5));
  }
  request.set_max_median_ape(0.05);
  const grpc::Status status = Send(request);
  EXPECT_EQ(PartsOf(status).reason, "POOR_FIT");
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("max_median_ape"));
  EXPECT_THAT(status.error_message(), HasSubstr("kernels of format 16bit of engine \"acme@1\": in-sample median"));
  request.set_max_median_ape(0.5);
  EXPECT_TRUE(Send(request).ok());
}

}  // namespace
}  // namespace foretoken::rpc

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using Stub = v1::CatalogService::Stub;

class CatalogServiceTest : public ServiceTest {
 protected:
  static v1::RegisterHardwareRequest Registration(const std::string& id) {
    v1::RegisterHardwareRequest request;
    v1::HardwareSpec& spec = *request.mutable_spec();
    spec.set_id(id);
    spec.set_memory_capacity_bytes(80'000'000'000);
    spec.set_memory_bandwidth_bytes_per_second(2e12);
    spec.mutable_peak()->set_bf16_flops_per_second(3e14);
    spec.add_sources()->set_citation("a test");
    return request;
  }
  grpc::Status Register(const v1::RegisterHardwareRequest& request, v1::RegisterHardwareResponse* response) {
    return Call(&Stub::RegisterHardware, request, response);
  }
};

TEST_F(CatalogServiceTest, ARegisteredEntryIsThereAtOnce) {
  v1::RegisterHardwareResponse registered;
  ASSERT_TRUE(Register(Registration("acme-one"), &registered).ok());
  EXPECT_EQ(registered.catalog_revision().store_revision(), 1);
  EXPECT_EQ(registered.entry().origin(), v1::ENTRY_ORIGIN_REGISTERED);
  v1::Scenario scenario = Scenario(1, 100, 10);
  scenario.set_hardware_id("acme-one");
  v1::EstimateResponse estimate;
  ASSERT_TRUE(Estimate(scenario, &estimate).ok());
  EXPECT_EQ(estimate.catalog_revision().store_revision(), 1);
  v1::GetHardwareRequest get;
  get.set_hardware_id("acme-one");
  v1::GetHardwareResponse got;
  ASSERT_TRUE(Call(&Stub::GetHardware, get, &got).ok());
  EXPECT_EQ(got.entry().SerializeAsString(), registered.entry().SerializeAsString());
}

TEST_F(CatalogServiceTest, EtagsAndRequestIds) {
  v1::RegisterHardwareRequest request = Registration("acme-one");
  request.set_request_id("job-1");
  v1::RegisterHardwareResponse first;
  v1::RegisterHardwareResponse again;
  ASSERT_TRUE(Register(request, &first).ok());
  ASSERT_TRUE(Register(request, &again).ok());
  EXPECT_EQ(again.entry().etag(), first.entry().etag());
  request.mutable_spec()->set_memory_bandwidth_bytes_per_second(3e12);
  grpc::Status status = Register(request, &again);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(PartsOf(status).reason, "REQUEST_ID_REUSED");
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("request_id"));
  request.clear_request_id();
  EXPECT_EQ(Register(request, &again).error_code(), grpc::ALREADY_EXISTS);
  request.set_etag("r999");
  status = Register(request, &again);
  EXPECT_EQ(status.error_code(), grpc::ABORTED);
  EXPECT_EQ(PartsOf(status).current_etag, first.entry().etag());
  request.set_etag(first.entry().etag());
  EXPECT_TRUE(Register(request, &again).ok());
  request.set_etag("*");
  EXPECT_TRUE(Register(request, &again).ok());
}

TEST_F(CatalogServiceTest, ValidateOnlyStoresNothing) {
  v1::RegisterHardwareRequest request = Registration("acme-one");
  request.set_validate_only(true);
  v1::RegisterHardwareResponse response;
  ASSERT_TRUE(Register(request, &response).ok());
  EXPECT_EQ(response.catalog_revision().store_revision(), 0);
  request.mutable_spec()->set_memory_capacity_bytes(-1);
  request.mutable_spec()->mutable_peak()->set_bf16_flops_per_second(0);
  EXPECT_THAT(PartsOf(Register(request, &response)).fields,
              ElementsAre("spec.memory_capacity_bytes", "spec.peak.bf16_flops_per_second"));
}

// Samples made by a known line: 10,000 tokens/s less a start of 10 ms, and decode at 1.5e12 bytes/s.
TEST_F(CatalogServiceTest, SamplesBecomeTheProfileThatAnswers) {
  v1::RegisterHardwareRequest request = Registration("acme-one");
  const double weights = 8030261248.0 * 2;  // llama-3.1-8b in bf16
  const double kv = 131072;                 // 2 * 32 layers * 8 heads * 128 * 2 bytes
  for (const int prompt : {512, 1024, 2048, 4096}) {
    v1::ProfileSample& sample = *request.add_samples();
    sample.set_model_id("llama-3.1-8b");
    sample.mutable_deployment()->set_engine("acme@1");
    sample.set_batch_size(1);
    sample.set_prompt_tokens(prompt);
    sample.set_output_tokens(101);
    sample.set_ttft_seconds(0.01 + prompt / 10000.0);
    sample.set_tpot_seconds((weights + (prompt + 50) * kv) / 1.5e12);
  }
  v1::RegisterHardwareResponse response;
  const grpc::Status status = Register(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_NEAR(response.report().prefill().slope(), 10000, 1e-6);
  EXPECT_NEAR(response.report().prefill().intercept(), -100, 1e-6);
  EXPECT_NEAR(response.report().prefill().r2(), 1, 1e-12);
  EXPECT_EQ(response.report().prefill().residuals_size(), 4);
  EXPECT_NEAR(response.report().effective_bandwidth_bytes_per_second(), 1.5e12, 1);
  EXPECT_NEAR(response.report().bandwidth_utilization(), 0.75, 1e-9);

  v1::Scenario scenario = Scenario(1, 1000, 100);
  scenario.set_hardware_id("acme-one");
  scenario.mutable_deployment()->set_engine("acme@1");
  v1::EstimateResponse estimate;
  ASSERT_TRUE(Estimate(scenario, &estimate).ok());
  EXPECT_EQ(estimate.estimate().method(), v1::METHOD_LINEAR_PROFILE);
  EXPECT_NEAR(estimate.estimate().ttft().seconds(), 0.1, 1e-9);
  EXPECT_EQ(estimate.estimate().decode_steps(), 100);
  EXPECT_EQ(estimate.estimate().calibration_age().seconds(), 0);
  now_ += absl::Seconds(90);
  ASSERT_TRUE(Estimate(scenario, &estimate).ok());
  EXPECT_EQ(estimate.estimate().calibration_age().seconds(), 90);
  EXPECT_FALSE(estimate.estimate().prefill().has_parts());
  EXPECT_EQ(estimate.estimate().decode().provenance(), v1::PROVENANCE_CALIBRATED);
  scenario.mutable_deployment()->set_engine("sglang");
  ASSERT_TRUE(Estimate(scenario, &estimate).ok());
  EXPECT_EQ(estimate.estimate().method(), v1::METHOD_OPERATOR_MODEL);
}

TEST_F(CatalogServiceTest, SamplesThatCannotBeTrue) {
  v1::RegisterHardwareRequest request = Registration("acme-one");
  v1::ProfileSample sample;
  sample.set_model_id("llama-3.1-8b");
  sample.set_batch_size(1);
  sample.set_prompt_tokens(1000);
  sample.set_output_tokens(10);
  sample.set_ttft_seconds(1e-6);  // faster than light
  *request.add_samples() = sample;
  v1::RegisterHardwareResponse response;
  grpc::Status status = Register(request, &response);
  EXPECT_EQ(PartsOf(status).reason, "INSUFFICIENT_SAMPLES");
  EXPECT_THAT(status.error_message(), testing::HasSubstr("faster than the speed of light"));
  request.mutable_samples(0)->set_ttft_seconds(-1);
  EXPECT_THAT(PartsOf(Register(request, &response)).fields, ElementsAre("samples[0].ttft_seconds"));
  request.mutable_samples(0)->set_ttft_seconds(1);
  request.mutable_samples(0)->set_model_id("nope");
  EXPECT_EQ(Register(request, &response).error_code(), grpc::NOT_FOUND);
}

TEST_F(CatalogServiceTest, ListsPageByPage) {
  v1::ListModelsRequest request;
  request.set_page_size(50);
  std::vector<std::string> ids;
  v1::ListModelsResponse response;
  do {
    request.set_page_token(response.next_page_token());
    ASSERT_TRUE(Call(&Stub::ListModels, request, &response).ok());
    for (const v1::ModelEntry& entry : response.entries()) ids.push_back(entry.spec().id());
  } while (!response.next_page_token().empty());
  EXPECT_EQ(ids.size(), static_cast<size_t>(response.total_size()));
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  request.set_page_token("made up");
  EXPECT_THAT(PartsOf(Call(&Stub::ListModels, request, &response)).fields, ElementsAre("page_token"));
  request.clear_page_token();
  request.set_page_size(-1);
  EXPECT_THAT(PartsOf(Call(&Stub::ListModels, request, &response)).fields, ElementsAre("page_size"));
}

// A token is good for the call, filter and entry that it was given for, and for no other.
TEST_F(CatalogServiceTest, APageTokenOfAnotherListIsRefused) {
  v1::ListModelsRequest models;
  models.set_page_size(1);
  models.set_id_contains("llama");
  v1::ListModelsResponse page;
  ASSERT_TRUE(Call(&Stub::ListModels, models, &page).ok());
  ASSERT_FALSE(page.next_page_token().empty());
  const auto expect_refused = [this](auto rpc, auto request, const std::string& token, auto response) {
    request.set_page_token(token);
    const grpc::Status status = Call(rpc, request, &response);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << request.DebugString();
    EXPECT_THAT(PartsOf(status).fields, ElementsAre("page_token")) << request.DebugString();
  };
  v1::ListModelsRequest another_filter;
  another_filter.set_id_contains("qwen");
  expect_refused(&Stub::ListModels, another_filter, page.next_page_token(), v1::ListModelsResponse());
  expect_refused(&Stub::ListModels, v1::ListModelsRequest(), page.next_page_token(), v1::ListModelsResponse());
  v1::ListHardwareRequest hardware;
  hardware.set_id_contains("llama");
  expect_refused(&Stub::ListHardware, hardware, page.next_page_token(), v1::ListHardwareResponse());
  v1::ListCalibrationsRequest calibrations;
  calibrations.set_id_contains("llama");
  expect_refused(&Stub::ListCalibrations, calibrations, page.next_page_token(), v1::ListCalibrationsResponse());

  v1::RegisterHardwareResponse registered;
  for (const char* id : {"acme-one", "acme-two"}) {
    v1::RegisterHardwareRequest request = Registration(id);
    request.set_etag("*");
    for (int write = 0; write < 2; ++write) ASSERT_TRUE(Register(request, &registered).ok());
  }
  v1::ListRevisionsRequest revisions;
  revisions.set_hardware_id("acme-one");
  revisions.set_page_size(1);
  v1::ListRevisionsResponse first;
  ASSERT_TRUE(Call(&Stub::ListRevisions, revisions, &first).ok());
  ASSERT_FALSE(first.next_page_token().empty());
  revisions.set_hardware_id("acme-two");
  expect_refused(&Stub::ListRevisions, revisions, first.next_page_token(), v1::ListRevisionsResponse());
  models.set_page_token(page.next_page_token());
  EXPECT_TRUE(Call(&Stub::ListModels, models, &page).ok()) << "the same call and filter";
}

TEST_F(CatalogServiceTest, AnUnknownCalibrationIsNamedInWholeCharacters) {
  v1::GetCalibrationRequest request;
  const std::string as(63, 'a');
  request.set_calibration_id(absl::StrCat(as, "\u00e9"));  // 64 bytes end inside its last character
  v1::GetCalibrationResponse response;
  const grpc::Status status = Call(&Stub::GetCalibration, request, &response);
  EXPECT_EQ(PartsOf(status).reason, "UNKNOWN_ID");
  EXPECT_EQ(status.error_message(), absl::StrCat("unknown calibration \"", as, "?...\"; ListCalibrations tells all"));
}

TEST_F(CatalogServiceTest, BundledEntriesAreOnlyShadowed) {
  v1::DeleteModelRequest request;
  request.set_model_id("llama-2-7b");
  v1::DeleteModelResponse response;
  grpc::Status status = Call(&Stub::DeleteModel, request, &response);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(PartsOf(status).reason, "BUNDLED_ENTRY");
  request.set_model_id("llama-2-7x");
  EXPECT_EQ(Call(&Stub::DeleteModel, request, &response).error_code(), grpc::NOT_FOUND);
}

}  // namespace
}  // namespace foretoken::rpc

// Registrations with samples of a device whose truth is known.
#ifndef FORETOKEN_TESTS_RPC_LEARN_FIXTURE_H_
#define FORETOKEN_TESTS_RPC_LEARN_FIXTURE_H_

#include <memory>
#include <string>

#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {

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
    request.mutable_spec()->clear_aliases();
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

}  // namespace foretoken::rpc

#endif  // FORETOKEN_TESTS_RPC_LEARN_FIXTURE_H_

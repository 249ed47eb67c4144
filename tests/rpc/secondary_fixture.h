// Scenarios with a draft model and with a prefill pool.
#ifndef FORETOKEN_TESTS_RPC_SECONDARY_FIXTURE_H_
#define FORETOKEN_TESTS_RPC_SECONDARY_FIXTURE_H_

#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {

class SecondaryTest : public ServiceTest {
 protected:
  static v1::Scenario Speculative() {
    v1::Scenario scenario = Scenario(4, 1000, 100);
    v1::SpeculativeDecoding& speculative = *scenario.mutable_speculative_decoding();
    speculative.set_draft_model_id("llama-3.2-1b");
    speculative.set_draft_tokens(4);
    speculative.set_acceptance_rate(0.8);
    return scenario;
  }

  static v1::Scenario Disaggregated() {
    v1::Scenario scenario = Scenario(8, 1000, 100);
    v1::DisaggregatedPrefill& prefill = *scenario.mutable_disaggregated_prefill();
    prefill.set_hardware_id("nvidia-a100-sxm-80gb");
    prefill.mutable_deployment()->set_tensor_parallel(2);
    prefill.set_prefill_replicas(2);
    prefill.set_decode_replicas(3);
    prefill.set_transfer_bytes_per_second(50e9);
    return scenario;
  }

  v1::Estimate MustEstimate(const v1::Scenario& scenario) {
    v1::EstimateResponse response;
    const grpc::Status status = Estimate(scenario, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.estimate();
  }

  // The points of a sweep of one chunk.
  v1::SweepChunk MustSweep(const v1::SweepRequest& request) {
    grpc::ClientContext context;
    const auto reader = estimator_->Sweep(&context, request);
    v1::SweepResponse response;
    v1::SweepChunk chunk;
    while (reader->Read(&response)) {
      if (response.has_chunk()) chunk = response.chunk();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return chunk;
  }
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_TESTS_RPC_SECONDARY_FIXTURE_H_

// Speculative decoding, disaggregated prefill, energy and cost, from the request to the reply.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;

TEST_F(SecondaryTest, ASpeculativeRoundMakesTheTimePerToken) {
  const v1::Estimate e = MustEstimate(Speculative());
  const v1::SpeculativeRound& round = e.speculative_round();
  EXPECT_NEAR(round.accepted_tokens(), 3.3616, 1e-9);
  EXPECT_GT(round.draft_seconds(), 0);
  EXPECT_NEAR(e.tpot().seconds(), (round.verify_seconds() + round.draft_seconds()) / round.accepted_tokens(), 1e-12);
  v1::Scenario none = Speculative();
  none.mutable_speculative_decoding()->set_draft_tokens(0);
  EXPECT_EQ(MustEstimate(none).SerializeAsString(), MustEstimate(Scenario(4, 1000, 100)).SerializeAsString());
}

// The draft's dtypes follow from itself: fp8 weights asked of both, or of the draft alone.
TEST_F(SecondaryTest, TheDraftHasDtypesOfItsOwn) {
  v1::Scenario scenario = Speculative();
  const double bf16 = MustEstimate(scenario).memory().weight_bytes();
  scenario.mutable_speculative_decoding()->mutable_draft_deployment()->set_weight_dtype(v1::DTYPE_FP8);
  const double draft = MustEstimate(scenario).memory().weight_bytes();
  EXPECT_LT(draft, bf16);
  scenario.mutable_speculative_decoding()->clear_draft_deployment();
  scenario.mutable_deployment()->set_weight_dtype(v1::DTYPE_FP8);
  EXPECT_LT(MustEstimate(scenario).memory().weight_bytes(), draft);
}

TEST_F(SecondaryTest, BothPoolsAreReported) {
  const v1::Estimate e = MustEstimate(Disaggregated());
  const v1::DisaggregatedUse& use = e.disaggregated_use();
  EXPECT_EQ(use.prefill_devices(), 4);
  EXPECT_EQ(e.devices(), 7);
  EXPECT_GT(use.prefill_memory().weight_bytes(), 0);
  EXPECT_LT(use.prefill_memory().weight_bytes(), e.memory().weight_bytes());  // on two devices
  EXPECT_NEAR(use.transfer_bytes(), 1000 * e.memory().kv_bytes_per_token(), 1);
  const double slowest = std::min(
      {use.prefill_requests_per_second(), use.transfer_requests_per_second(), use.decode_requests_per_second()});
  EXPECT_EQ(e.throughput().requests_per_second(), slowest);
  EXPECT_NE(use.limit(), v1::DISAGGREGATED_LIMIT_UNSPECIFIED);
}

// Absent fields of the prefill pool are the scenario's: its hardware and its deployment.
TEST_F(SecondaryTest, ThePoolsShareWhatIsNotGiven) {
  v1::Scenario scenario = Disaggregated();
  scenario.mutable_deployment()->set_tensor_parallel(2);
  scenario.mutable_disaggregated_prefill()->clear_hardware();
  scenario.mutable_disaggregated_prefill()->clear_deployment();
  const v1::Estimate e = MustEstimate(scenario);
  EXPECT_EQ(e.disaggregated_use().prefill_memory().weight_bytes(), e.memory().weight_bytes());
}

// A sweep over a field of the prefill pool, and over the hardware that both pools share, reads the parts again.
TEST_F(SecondaryTest, SweepsVaryThePools) {
  v1::SweepRequest request;
  *request.mutable_base() = Disaggregated();
  request.mutable_base()->mutable_disaggregated_prefill()->clear_hardware();
  v1::SweepAxis& hardware = *request.add_axes();
  hardware.set_field("hardware_id");
  hardware.mutable_texts()->add_values("nvidia-a100-sxm-80gb");
  hardware.mutable_texts()->add_values("nvidia-h200-sxm-141gb");
  v1::SweepAxis& replicas = *request.add_axes();
  replicas.set_field("disaggregated_prefill.prefill_replicas");
  replicas.mutable_numbers()->add_values(1);
  replicas.mutable_numbers()->add_values(3);
  request.add_metrics(v1::METRIC_DEVICES);
  request.add_metrics(v1::METRIC_TTFT_SECONDS);
  request.add_metrics(v1::METRIC_JOULES_PER_REQUEST);
  request.add_metrics(v1::METRIC_COST_PER_REQUEST);
  const v1::SweepChunk chunk = MustSweep(request);
  EXPECT_THAT(chunk.columns(0).values(), ElementsAre(5, 9, 5, 9));
  EXPECT_EQ(chunk.columns(1).values(0), chunk.columns(1).values(1));
  EXPECT_GT(chunk.columns(1).values(0), chunk.columns(1).values(2));
  EXPECT_GT(chunk.columns(2).values(0), 0);
  EXPECT_TRUE(std::isnan(chunk.columns(3).values(0)));  // no price
}

TEST_F(SecondaryTest, SweepsVaryTheDraft) {
  v1::SweepRequest request;
  *request.mutable_base() = Speculative();
  v1::SweepAxis& drafts = *request.add_axes();
  drafts.set_field("speculative_decoding.draft_model_id");
  for (const char* id : {"llama-3.2-1b", "llama-3.2-3b", "nope"}) drafts.mutable_texts()->add_values(id);
  v1::SweepAxis& dtypes = *request.add_axes();
  dtypes.set_field("speculative_decoding.draft_deployment.weight_dtype");
  dtypes.mutable_dtypes()->add_values(v1::DTYPE_BF16);
  dtypes.mutable_dtypes()->add_values(v1::DTYPE_FP8);
  request.add_metrics(v1::METRIC_TPOT_SECONDS);
  const v1::SweepChunk chunk = MustSweep(request);
  EXPECT_THAT(chunk.statuses(), ElementsAre(0, 0, 0, 0, grpc::NOT_FOUND, grpc::NOT_FOUND));
  const auto& tpot = chunk.columns(0).values();
  EXPECT_LT(tpot.Get(0), tpot.Get(2));  // a smaller draft is faster
  EXPECT_LT(tpot.Get(3), tpot.Get(2));  // and one of fewer bytes
  // An unknown draft that every point shares fails the call.
  request.mutable_axes()->DeleteSubrange(0, 1);
  request.mutable_base()->mutable_speculative_decoding()->set_draft_model_id("nope");
  grpc::ClientContext context;
  const auto refused = estimator_->Sweep(&context, request);
  v1::SweepResponse response;
  while (refused->Read(&response)) {
  }
  const grpc::Status status = refused->Finish();
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(PartsOf(status).fields, ElementsAre("base.speculative_decoding.draft_model_id"));
}

// The figures of the prefill pool's hardware can be varied by themselves, also where it is the scenario's hardware.
TEST_F(SecondaryTest, SweepsVaryTheFiguresOfAPool) {
  v1::SweepRequest request;
  *request.mutable_base() = Disaggregated();
  request.mutable_base()->mutable_disaggregated_prefill()->clear_hardware();
  v1::SweepAxis& axis = *request.add_axes();
  axis.set_field("disaggregated_prefill.hardware_spec.peak.bf16_flops_per_second");
  axis.mutable_numbers()->add_values(500e12);
  axis.mutable_numbers()->add_values(1000e12);
  request.add_metrics(v1::METRIC_TTFT_SECONDS);
  request.add_metrics(v1::METRIC_TPOT_SECONDS);
  const v1::SweepChunk chunk = MustSweep(request);
  EXPECT_THAT(chunk.statuses(), ElementsAre(0));  // of both
  EXPECT_GT(chunk.columns(0).values(0), chunk.columns(0).values(1));
  EXPECT_EQ(chunk.columns(1).values(0), chunk.columns(1).values(1));
}

TEST_F(SecondaryTest, EnergyAndCost) {
  v1::Scenario scenario = Scenario(4, 1000, 100);
  EXPECT_FALSE(MustEstimate(scenario).has_cost());
  scenario.mutable_deployment()->set_price_per_device_hour(7.2);
  const v1::Estimate e = MustEstimate(scenario);
  EXPECT_NEAR(e.cost().cost_per_request(), 0.002 / e.throughput().requests_per_second(), 1e-12);
  EXPECT_NEAR(e.cost().cost_per_million_output_tokens(), e.cost().cost_per_request() * 1e4, 1e-9);
  EXPECT_GT(e.energy().joules_per_request(), 0);
  EXPECT_NEAR(e.energy().joules_per_output_token(), e.energy().joules_per_request() / 100, 1e-12);
  EXPECT_TRUE(e.energy().is_lower_bound());  // the catalog states no idle power
}

}  // namespace
}  // namespace foretoken::rpc

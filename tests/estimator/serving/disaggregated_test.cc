#include "estimator/serving/disaggregated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/phases/prefill.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

// Llama-2-7B: two replicas prefill one by one, three decode eight each, 10 GB/s between them.
Scenario Disaggregated(const Model& model, const Hardware& hardware) {
  Scenario scenario = MakeScenario(model, hardware, 8, 1000, 101);
  scenario.disaggregation = Disaggregation{.hardware = &hardware,
                                           .deployment = scenario.deployment,
                                           .prefill_replicas = 2,
                                           .decode_replicas = 3,
                                           .transfer = GigabytesPerSecond(10),
                                           .transfer_latency = Seconds(1e-3)};
  return scenario;
}

// KV of 1,000 tokens is 524,288,000 B: 52.4288 ms at 10 GB/s and 1 ms of latency. The prefill is that of a batch of
// one, the decode that of eight without a prefill among them.
TEST(DisaggregatedTest, TtftIsPrefillAndTransferTpotIsDecode) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Scenario scenario = Disaggregated(model, hardware);
  const Estimate estimate = MustEstimate(scenario);
  const Estimate one = MustEstimate(MakeScenario(model, hardware, 1, 1000, 101));
  const Estimate eight = MustEstimate(MakeScenario(model, hardware, 8, 1000, 101));
  EXPECT_DOUBLE_EQ(estimate.disaggregation->transfer.value(), 524'288'000);
  EXPECT_NEAR((estimate.ttft.time - one.ttft.time).value(), 0.0534288, 1e-12);
  EXPECT_NEAR((estimate.prefill.parts->communication - one.prefill.parts->communication).value(), 0.0534288, 1e-12);
  EXPECT_EQ(estimate.tpot.time, eight.tpot.time);
  EXPECT_NEAR((estimate.ttft.time + 100 * estimate.tpot.time).value(), estimate.e2e.time.value(), 1e-12);
  EXPECT_EQ(estimate.devices, 5);
  EXPECT_NEAR(*estimate.mfu, *one.mfu, 1e-12);
}

// The rate is that of the slowest side: two prefill 2/prefill, three decode 24/decode, two links 2/53.4288 ms.
TEST(DisaggregatedTest, TheSlowestSideLimitsTheRate) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = Disaggregated(model, hardware);
  const auto limit = [&](DisaggregationLimit want, double rate) {
    const Estimate estimate = MustEstimate(scenario);
    EXPECT_EQ(estimate.disaggregation->limit, want);
    EXPECT_NEAR(estimate.throughput.requests_per_second, rate, 1e-9);
    EXPECT_NEAR(estimate.throughput.output_tokens_per_second, rate * 101, 1e-7);
    EXPECT_NEAR(estimate.throughput.output_tokens_per_second_per_device, rate * 101 / estimate.devices, 1e-7);
  };
  const double prefill = MustEstimate(MakeScenario(model, hardware, 1, 1000, 101)).ttft.time.value();
  const double decode = MustEstimate(scenario).decode.time.value();
  EXPECT_NEAR(MustEstimate(scenario).disaggregation->prefill_requests_per_second, 2 / prefill, 1e-9);
  limit(DisaggregationLimit::kDecode, 24 / decode);
  scenario.disaggregation->decode_replicas = 30;
  limit(DisaggregationLimit::kPrefill, 2 / prefill);
  scenario.disaggregation->prefill_replicas = 20;
  scenario.disaggregation->transfer = GigabytesPerSecond(1);
  limit(DisaggregationLimit::kTransfer, 20 / (0.001 + 0.524288));
}

// Prefill 32 ms, transfer 16 ms over 32 layers: the last layer's 0.5 ms stay. A slow link of 64 ms leaves what the
// prefill does not hide, 64 - 31 = 33 ms.
TEST(ExposedTransferTest, ByHand) {
  EXPECT_DOUBLE_EQ(ExposedTransfer(Seconds(16), Seconds(32), 32, false).value(), 16);
  EXPECT_DOUBLE_EQ(ExposedTransfer(Seconds(16), Seconds(32), 32, true).value(), 0.5);
  EXPECT_DOUBLE_EQ(ExposedTransfer(Seconds(64), Seconds(32), 32, true).value(), 33);
  EXPECT_DOUBLE_EQ(ExposedTransfer(Seconds(16), Seconds(32), 1, true).value(), 16);
}

// Gemma-2-9B: 42 layers of 2 x 8 x 256 x 2 = 8,192 B a token, half of them with a window of 4,096.
TEST(TransferredKvTest, AWindowedLayerSendsItsWindow) {
  EXPECT_DOUBLE_EQ(TransferredKv(Gemma2_9b(), Dtype::kBf16, 8192).value(), 21 * 8192.0 * (8192 + 4096));
  EXPECT_DOUBLE_EQ(TransferredKv(Llama2_7b(), Dtype::kFp8, 10).value(), 2'621'440);
}

// Without a stated rate the network of the smaller side serves: A100 25 GB/s a device at 0.65 of it, two devices of
// the prefill side, one of the decode side.
TEST(DisaggregatedTest, TheNetworkStandsInForTheRate) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  Scenario scenario = Disaggregated(model, hardware);
  scenario.disaggregation->transfer.reset();
  scenario.disaggregation->deployment.tensor_parallel = 2;
  EXPECT_NEAR(MustEstimate(scenario).disaggregation->exposed.value(), 0.001 + 524'288'000 / (0.65 * 25e9), 1e-12);
  hardware.scale_out.reset();
  const absl::Status status = ComputeEstimate(scenario).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kMissingFigure);
  EXPECT_EQ(DetailOf(status).violations[0].field, "disaggregated_prefill.transfer_bytes_per_second");
  scenario.disaggregation->transfer = GigabytesPerSecond(10);
  EXPECT_TRUE(ComputeEstimate(scenario).ok());
}

TEST(DisaggregatedTest, MemoryIsCheckedOnBothSides) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Hardware small = A100();
  Scenario scenario = Disaggregated(model, hardware);
  scenario.disaggregation->hardware = &small;
  const Estimate estimate = MustEstimate(scenario);
  // The decode side holds eight sequences, the prefill side one of the prompt alone; blocks of 16 tokens.
  EXPECT_DOUBLE_EQ(estimate.memory->kv_cache.value(), 8 * 1104 * 524'288.0);
  EXPECT_DOUBLE_EQ(estimate.disaggregation->prefill_memory.kv_cache.value(), 1008 * 524'288.0);
  EXPECT_LT(estimate.memory->activations, estimate.disaggregation->prefill_memory.activations);
  small.memory_capacity = Gibibytes(10);
  const absl::Status prefill = ComputeEstimate(scenario).status();
  EXPECT_EQ(DetailOf(prefill).reason, Reason::kOutOfMemory);
  EXPECT_EQ(DetailOf(prefill).violations[0].field, "disaggregated_prefill.batch_size");
  EXPECT_THAT(std::string(prefill.message()), HasSubstr("prefill side: "));
  scenario.disaggregation->hardware = &hardware;
  scenario.hardware = &small;
  EXPECT_EQ(DetailOf(ComputeEstimate(scenario).status()).violations[0].field, "workload.batch_size");
}

TEST(DisaggregatedTest, RefusesWhatItDoesNotCover) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  struct Case {
    const char* field;
    void (*change)(Scenario&);
  };
  const Case cases[] = {
      {"workload.request_rate_per_second", [](Scenario& s) { s.workload.request_rate_per_second = 1; }},
      {"disaggregated_prefill.batch_size",
       [](Scenario& s) {
         s.workload.batching = BatchingPolicy::kContinuous;
         s.workload.request_rate_per_second = 1;
         s.disaggregation->batch_size = 2;
       }},
      {"workload.kv_cache_mode", [](Scenario& s) { s.workload.kv_cache_mode = KvCacheMode::kNone; }},
      {"workload.prompt_tokens", [](Scenario& s) { s.workload.prompt_tokens = 0; }},
      {"live_load", [](Scenario& s) { s.live_load = LiveLoad{.running_sequences = 3}; }},
      {"disaggregated_prefill.deployment.kv_cache_dtype",
       [](Scenario& s) { s.disaggregation->deployment.kv_cache_dtype = Dtype::kFp8; }},
      {"disaggregated_prefill", [](Scenario& s) { s.method = Method::kKpi; }},
  };
  for (const Case& c : cases) {
    Scenario scenario = Disaggregated(model, hardware);
    c.change(scenario);
    const RefusalDetail detail = DetailOf(ComputeEstimate(scenario).status());
    EXPECT_EQ(detail.reason, Reason::kNotModelled) << c.field;
    ASSERT_EQ(detail.violations.size(), 1u) << c.field;
    EXPECT_EQ(detail.violations[0].field, c.field);
  }
}

Scenario AtRate(Scenario scenario, double rate) {
  scenario.workload.batching = BatchingPolicy::kContinuous;
  scenario.workload.request_rate_per_second = rate;
  return scenario;
}

// By one set of constants however requests are served, and without a server before the engine.
Estimate ByOnePrior(const Scenario& scenario) {
  const auto estimate = EstimateOperatorModel(scenario, FedTokens(), Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

// With next to no arrivals a request is alone on both sides.
TEST(DisaggregatedTest, AtAVanishingRateNobodyWaits) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario alone = Disaggregated(model, hardware);
  alone.workload.batch_size = 1;
  const Estimate want = ByOnePrior(alone);
  const Estimate at = ByOnePrior(AtRate(Disaggregated(model, hardware), 1e-6));
  EXPECT_NEAR(at.ttft.time / want.ttft.time, 1, 1e-5);
  EXPECT_NEAR(at.tpot.time / want.tpot.time, 1, 1e-5);
  EXPECT_DOUBLE_EQ(at.throughput.requests_per_second, 1e-6);
}

// Two replicas each busy for lambda/2 of prefill, two links for lambda/2 of transfer: M/D/1 each. The decode side holds
// what Little's law says: three replicas of B = lambda/3 x decode at B + 1.
TEST(DisaggregatedTest, QueuesAndBalanceAtARate) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const double rate = 12;
  const Estimate at = ByOnePrior(AtRate(Disaggregated(model, hardware), rate));
  const double prefill = 2 / at.disaggregation->prefill_requests_per_second;
  const double wait = [](double rho, double t) { return rho * t / (2 * (1 - rho)); }(rate / 2 * prefill, prefill) +
                      [](double rho, double t) { return rho * t / (2 * (1 - rho)); }(rate / 2 * 0.0534288, 0.0534288);
  EXPECT_NEAR(at.prefill.parts->queueing.value(), wait, 1e-12);
  EXPECT_NEAR(at.ttft.time.value(), prefill + 0.0534288 + wait, 1e-9);
  const double decoding = rate / 3 * at.decode.time.value();
  Scenario below = Disaggregated(model, hardware);
  below.workload.batch_size = static_cast<int>(decoding + 1);
  EXPECT_GE(at.tpot.time, ByOnePrior(below).tpot.time);
  below.workload.batch_size += 1;
  EXPECT_LE(at.tpot.time, ByOnePrior(below).tpot.time);
}

TEST(DisaggregatedTest, ARateThatASideCannotServeIsRefused) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Scenario scenario = Disaggregated(model, hardware);
  const double prefill = MustEstimate(AtRate(scenario, 1)).disaggregation->prefill_requests_per_second;
  EXPECT_TRUE(ComputeEstimate(AtRate(scenario, prefill * 0.999)).ok());
  const absl::Status status = ComputeEstimate(AtRate(scenario, prefill * 1.001)).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kUnstableLoad);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the prefill side serves below"));
}

// The floor sends nothing, and needs no link for it.
TEST(DisaggregatedTest, TheSpeedOfLightSendsNothing) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.scale_out.reset();
  Scenario scenario = Disaggregated(model, hardware);
  scenario.disaggregation->transfer.reset();
  scenario.method = Method::kSpeedOfLight;
  const Estimate estimate = MustEstimate(scenario);
  EXPECT_EQ(estimate.disaggregation->exposed.value(), 0);
  EXPECT_FALSE(estimate.disaggregation->transfer_requests_per_second);
}

}  // namespace
}  // namespace foretoken

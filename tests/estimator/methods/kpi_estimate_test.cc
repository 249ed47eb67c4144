// Whole estimates by the KPI method.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "estimator/base/errors.h"
#include "estimator/methods/kpi.h"
#include "estimator/methods/operator_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::Contains;
using ::testing::Field;

void ExpectRelative(double got, double want, const char* what) { EXPECT_NEAR(got / want, 1, 1e-6) << what; }

// Llama-2-7B, W4A8 with an 8-bit cache, on the NPU of kpi_test.cc.
class EstimateKpiTest : public ::testing::Test {
 protected:
  EstimateKpiTest() {
    hardware_ = {.id = "npu", .memory_capacity = Gigabytes(16), .memory_bandwidth = GigabytesPerSecond(50)};
    hardware_.peak.int8 = Teraflops(40);
    hardware_.peak.bf16 = Teraflops(10);
    model_.max_position_embeddings = 4096;
  }

  Scenario Ask(int prompt, int output) const {
    Scenario scenario = MakeScenario(model_, hardware_, 1, prompt, output);
    scenario.deployment.weight_dtype = Dtype::kInt4;
    scenario.deployment.activation_dtype = Dtype::kInt8;
    scenario.deployment.kv_cache_dtype = Dtype::kInt8;
    return scenario;
  }

  Estimate Must(const Scenario& scenario, const Detail& detail = {}) const {
    const absl::StatusOr<Estimate> estimate = EstimateKpi(scenario, detail);
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    return estimate.ok() ? *estimate : Estimate{};
  }

  Model model_ = Llama2_7b();
  Hardware hardware_;
};

constexpr double kParameters = 6738415616;

// n_ctx = 1,024 + 1,024: the same cache as there, 6.74e9 parameters in place of 7e9.
TEST_F(EstimateKpiTest, ByHand) {
  const Estimate estimate = Must(Ask(1024, 1024));
  const double out = 40e9 / (kParameters / 2 + 536870912);
  const double compute = 10e12 / (2 * kParameters + 2 * 536870912.0);
  const double prompt = 1 / (1 / compute + 1 / (128 * out));
  ExpectRelative(estimate.ttft.time.value(), 1024 / prompt, "TTFT");
  ExpectRelative(estimate.kpi->compute_limited_ttft.value(), 1024 / compute, "compute-limited TTFT");
  ExpectRelative(estimate.tpot.time.value(), 1 / out, "TPOT");
  ExpectRelative(estimate.e2e.time.value(), 1024 / prompt + 1024 / out, "E2E");
  ExpectRelative(estimate.prefill.parts->compute.value(), 1024 / compute, "prefill, compute");
  ExpectRelative(estimate.prefill.parts->memory.value(), 1024 / (128 * out), "prefill, memory");
  ExpectRelative(*estimate.mbu, 0.8, "1 / 1.25");
  EXPECT_EQ(estimate.decode_steps, 1024);
  EXPECT_EQ(estimate.decode.bound, Bound::kMemory);
}

// Past 4,096 tokens the oldest entries leave the cache.
TEST_F(EstimateKpiTest, ContextIsCapped) {
  const Estimate estimate = Must(Ask(4000, 1000));
  ExpectRelative(estimate.tpot.time.value(), (kParameters / 2 + 4096 * 262144.0) / 40e9, "TPOT");
  EXPECT_THAT(estimate.warnings, Contains(Field(&Warning::code, WarningCode::kContextTooLong)));
}

// The cache of 2,048 tokens is read and written: twice its bytes.
TEST_F(EstimateKpiTest, TheWholeCacheIsWrittenBack) {
  Scenario scenario = Ask(1024, 1024);
  scenario.workload.kv_cache_written_back = true;
  const Estimate estimate = Must(scenario);
  ExpectRelative(estimate.tpot.time.value(), (kParameters / 2 + 2 * 536870912.0) / 40e9, "TPOT");
  scenario.workload.kv_cache_mode = KvCacheMode::kNone;
  EXPECT_THAT(Must(scenario).warnings, Contains(Field(&Warning::field, "workload.kv_cache_written_back")));
}

// A machine with what an objective asks for meets it, whatever it has now.
TEST_F(EstimateKpiTest, TellsWhatAnObjectiveNeeds) {
  Scenario scenario = Ask(1024, 1024);
  scenario.slo = Slo{.max_ttft = Seconds(0.75), .max_tpot = Seconds(0.05)};
  const KpiMetrics needs = *Must(scenario).kpi;
  hardware_.memory_bandwidth = *needs.bandwidth_for_tpot;
  hardware_.peak.int8 = *needs.peak_for_ttft;
  const Estimate met = Must(scenario);
  ExpectRelative(met.tpot.time.value(), 0.05, "TPOT");
  ExpectRelative(met.kpi->compute_limited_ttft.value(), 0.75, "compute-limited TTFT");
  scenario.slo.reset();
  EXPECT_FALSE(Must(scenario).kpi->bandwidth_for_tpot);
  EXPECT_FALSE(Must(scenario).kpi->peak_for_ttft);
}

TEST_F(EstimateKpiTest, ComputesInTheDtypeOfTheKernel) {
  Scenario weight_only = Ask(1024, 1024);
  weight_only.deployment.activation_dtype = Dtype::kBf16;  // 4-bit weights are widened: 10 in place of 40 TFLOP/s
  ExpectRelative(Must(weight_only).kpi->compute_limited_ttft / Must(Ask(1024, 1024)).kpi->compute_limited_ttft, 4,
                 "ratio");
}

// 3.3692 GB of weights in 67.38 ms; a sequence computes for 0.3369 ms and reads 32 + 16/2 tokens in 0.2097 ms.
TEST_F(EstimateKpiTest, TheComputeBoundBatchIsThatOfTheOperatorModel) {
  const Scenario scenario = Ask(32, 16);
  const double batch = *Must(scenario).memory->compute_bound_batch;
  ExpectRelative(batch, (kParameters / 2 / 50e9) / (2 * kParameters / 40e12 - 40 * 262144 / 50e9), "batch");
  const absl::StatusOr<Estimate> other =
      EstimateOperatorModel(scenario, GenericPriorOf(false), Provenance::kDatasheet, {});
  ASSERT_TRUE(other.ok()) << other.status();
  ExpectRelative(*other->memory->compute_bound_batch, batch, "the operator model's");
}

TEST_F(EstimateKpiTest, WithoutACache) {
  Scenario scenario = Ask(1024, 8);
  scenario.workload.kv_cache_mode = KvCacheMode::kNone;
  const Estimate estimate = Must(scenario, {.token_latencies = true});
  const double token = 2 * kParameters / 10e12;
  ExpectRelative(estimate.ttft.time.value(), 1024 * token, "one pass over the prompt");
  ExpectRelative(estimate.decode.time.value(), (8 * 1024 + 28) * token, "passes over 1,024 to 1,031 tokens");
  ExpectRelative(estimate.token_latencies[8].value(), 1031 * token, "the last of them");
  EXPECT_EQ(estimate.decode.bound, Bound::kCompute);
  EXPECT_EQ(estimate.memory->kv_cache, Bytes(0));
  // Bound by compute at a batch of one already: B* of a step that reads a KV cache would not be that of this.
  EXPECT_FALSE(estimate.memory->compute_bound_batch);
}

// A resident prefix costs nothing but its place; over a link of 1 GB/s, 512 * 262,144 B take 134 ms more.
TEST_F(EstimateKpiTest, PromptCache) {
  Scenario scenario = Ask(1024, 1024);
  const Estimate whole = Must(scenario);
  scenario.workload.kv_cache_mode = KvCacheMode::kPromptCache;
  scenario.workload.cached_prefix_tokens = 512;
  const Estimate resident = Must(scenario);
  ExpectRelative(resident.ttft.time / whole.ttft.time, 0.5, "half the prompt");
  EXPECT_EQ(resident.memory->kv_cache, whole.memory->kv_cache);
  scenario.workload.prefix_load = GigabytesPerSecond(1);
  const Estimate loaded = Must(scenario);
  ExpectRelative((loaded.ttft.time - resident.ttft.time).value(), 0.134217728, "the load");
  ExpectRelative(loaded.prefill.parts->communication.value(), 0.134217728, "is traffic over a link");
}

TEST_F(EstimateKpiTest, PipelinedPromptCache) {
  Scenario scenario = Ask(1024, 1024);
  const Estimate whole = Must(scenario);
  scenario.workload.kv_cache_mode = KvCacheMode::kPipelinedPromptCache;
  EXPECT_EQ(DetailOf(EstimateKpi(scenario, {}).status()).reason, Reason::kInvalidField);
  scenario.deployment.prefill_chunk_tokens = 128;
  scenario.workload.prompt_arrival_tokens_per_second = 5;
  const Estimate typed = Must(scenario);
  ExpectRelative(typed.ttft.time / whole.ttft.time, 1.0 / 8, "one chunk of eight");
  ExpectRelative(typed.kpi->compute_limited_ttft / whole.kpi->compute_limited_ttft, 1.0 / 8, "likewise");
  scenario.workload.prompt_arrival_tokens_per_second = 1e12;
  ExpectRelative(Must(scenario).ttft.time / whole.ttft.time, 1, "all at once: the KV cache");
}

TEST_F(EstimateKpiTest, PartsAndLatenciesSumToTheWhole) {
  for (const auto mode : {KvCacheMode::kCached, KvCacheMode::kNone, KvCacheMode::kPipelinedPromptCache}) {
    Scenario scenario = Ask(40, 100);
    scenario.workload.kv_cache_mode = mode;
    scenario.workload.prompt_arrival_tokens_per_second = 20;
    scenario.deployment.prefill_chunk_tokens = 16;
    const Estimate estimate = Must(scenario, {.token_latencies = true});
    EXPECT_NEAR(estimate.prefill.parts->Total() / estimate.ttft.time, 1, 1e-12);
    EXPECT_NEAR(estimate.decode.parts->Total() / (estimate.e2e.time - estimate.ttft.time), 1, 1e-12);
    const auto& latencies = estimate.token_latencies;
    EXPECT_NEAR(std::accumulate(latencies.begin(), latencies.end(), Seconds(0)) / estimate.e2e.time, 1, 1e-12);
  }
}

TEST_F(EstimateKpiTest, RefusesWhatItDoesNotModel) {
  struct Case {
    const char* field;
    void (*change)(Scenario&);
  };
  const Case cases[] = {
      {"deployment.tensor_parallel", [](Scenario& s) { s.deployment.tensor_parallel = 2; }},
      {"workload.batch_size", [](Scenario& s) { s.workload.batch_size = 2; }},
      {"live_load", [](Scenario& s) { s.live_load = LiveLoad{.running_sequences = 1}; }},
      {"workload.batching_policy", [](Scenario& s) { s.workload.batching = BatchingPolicy::kContinuous; }},
  };
  for (const Case& c : cases) {
    Scenario scenario = Ask(512, 512);
    c.change(scenario);
    const RefusalDetail detail = DetailOf(EstimateKpi(scenario, {}).status());
    EXPECT_EQ(detail.reason, Reason::kNotModelled) << c.field;
    ASSERT_EQ(detail.violations.size(), 1u) << c.field;
    EXPECT_EQ(detail.violations[0].field, c.field);
  }
}

TEST_F(EstimateKpiTest, NamesMissingFigures) {
  hardware_.memory_bandwidth.reset();
  const absl::Status status = EstimateKpi(Ask(512, 512), {}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kMissingFigure);
  EXPECT_EQ(DetailOf(status).violations[0].field, "hardware_spec.memory_bandwidth_bytes_per_second");
}

// The catalog's NPU states none: times stand, what fits is unknown.
TEST_F(EstimateKpiTest, AnswersWithoutACapacity) {
  const Estimate with = Must(Ask(512, 512));
  hardware_.memory_capacity.reset();
  const Estimate without = Must(Ask(512, 512));
  EXPECT_EQ(without.e2e.time, with.e2e.time);
  EXPECT_FALSE(without.memory.has_value());
  EXPECT_THAT(without.warnings, Contains(Field(&Warning::field, "hardware_spec.memory_capacity_bytes")));
}

TEST_F(EstimateKpiTest, MoreTokensAreNeverFaster) {
  for (const auto mode : {KvCacheMode::kCached, KvCacheMode::kNone}) {
    const auto e2e = [&](int prompt, int output) {
      Scenario scenario = Ask(prompt, output);
      scenario.workload.kv_cache_mode = mode;
      return Must(scenario).e2e.time;
    };
    for (const int n : {1, 60, 63, 512, 4000}) {
      EXPECT_LE(e2e(n, 16), e2e(n + 1, 16));
      EXPECT_LT(e2e(n, 16), e2e(n, 17));
    }
  }
}

}  // namespace
}  // namespace foretoken

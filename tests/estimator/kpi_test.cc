#include "estimator/kpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "estimator/errors.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::Contains;
using ::testing::Field;

constexpr double kInf = std::numeric_limits<double>::infinity();

// The source's worked example: 7B in W4A8, d = 4096, L = 32, n_ctx = 2048: 2 * 2048 * 4096 * 32 = 536,870,912 elements
// of one byte; on 40 TOPS at 25% and 50 GB/s at a ratio of 1.25.
const KpiLoad k7b = {
    .parameters = 7e9, .weights = Gigabytes(3.5), .kv_bytes = Bytes(536870912), .kv_elements = 536870912};
const KpiMachine kNpu = {.bandwidth = GigabytesPerSecond(50), .peak = Teraflops(40)};

void ExpectRelative(double got, double want, const char* what) { EXPECT_NEAR(got / want, 1, 1e-6) << what; }

// 3.5 GB + 536,870,912 B; 40e9 / 4.036870912e9; 2 * 7e9 + 2 * 536,870,912 = 15.0737e9; 10e12 / 15.0737e9; 128 times the
// first rate; 1 / (1/663.405 + 1/1268.309).
TEST(KpiTest, WorkedRates) {
  const KpiRates rates = RatesOf(k7b, kNpu);
  ExpectRelative(BytesPerOutputToken(k7b).value(), 4036870912, "bytes a token");
  ExpectRelative(OpsPerPromptToken(k7b).value(), 15073741824, "ops a token");
  ExpectRelative(rates.out, 9.90866462, "rate_out");
  ExpectRelative(rates.compute, 663.405286, "rate_compute");
  ExpectRelative(rates.memory, 1268.30907, "rate_bw");
  ExpectRelative(rates.prompt, 435.573168, "rate_prompt");
}

// The whole cache is written back too: 3.5 GB + 2 * 536,870,912 B = 4.574 GB.
TEST(KpiTest, WorkedWriteBackOfTheWholeCache) {
  KpiLoad load = k7b;
  load.write_back = CacheWriteBack::kWholeCache;
  ExpectRelative(BytesPerOutputToken(load).value(), 4573741824, "bytes a token");
  ExpectRelative(RatesOf(load, kNpu).out, 8.74557453, "rate_out");
}

TEST(KpiTest, WorkedTimes) {
  const KpiRates rates = RatesOf(k7b, kNpu);
  ExpectRelative(1024 / rates.compute, 1.54355116, "compute-limited TTFT of 1,024 tokens");
  ExpectRelative(1024 / rates.prompt, 2.35092531, "TTFT of 1,024 tokens");
  ExpectRelative(1024 / rates.prompt + 10 / rates.out, 3.36014304, "voice: 1,024 in, 10 out");
  ExpectRelative(512 / rates.prompt + 512 / rates.out, 52.84740935, "text: 512 in, 512 out");
}

// The source rounds as it goes: 4 GB and 15e9 operations a token, then 440 and 10 token/s.
TEST(KpiTest, SourcesOwnChain) {
  const KpiLoad rounded = {
      .parameters = 7e9, .weights = Gigabytes(3.5), .kv_bytes = Gigabytes(0.5), .kv_elements = 0.5e9};
  const KpiRates rates = RatesOf(rounded, kNpu);
  EXPECT_NEAR(rates.out, 10, 1e-9);
  EXPECT_NEAR(rates.compute, 667, 0.5);
  EXPECT_NEAR(rates.memory, 1280, 1e-9);
  EXPECT_NEAR(rates.prompt, 438.4, 0.05);
  EXPECT_NEAR(1024.0 / 440 + 10.0 / 10, 3.327, 5e-4);
  EXPECT_NEAR(512.0 / 440 + 512.0 / 10, 52.36, 5e-3);
}

// 7e9 weights of 16, 8 and 4 bits.
TEST(KpiTest, WeightsByDtype) {
  EXPECT_EQ(7e9 * BytesPerElement(Dtype::kFp16), Gigabytes(14));
  EXPECT_EQ(7e9 * BytesPerElement(Dtype::kInt8), Gigabytes(7));
  EXPECT_EQ(7e9 * BytesPerElement(Dtype::kInt4), Gigabytes(3.5));
}

TEST(KpiTest, InverseQuestionsLeadBack) {
  for (const double wanted : {1.0, 10.0, 700.0}) {
    KpiMachine machine = kNpu;
    machine.bandwidth = BandwidthFor(k7b, kNpu, wanted);
    machine.peak = PeakRateFor(k7b, kNpu, wanted);
    EXPECT_NEAR(RatesOf(k7b, machine).out / wanted, 1, 1e-12);
    EXPECT_NEAR(RatesOf(k7b, machine).compute / wanted, 1, 1e-12);
  }
  // 10 token/s: 4.036870912 GB * 1.25 * 10; 15.07 Gop at 25% * 667 token/s.
  EXPECT_NEAR(BandwidthFor(k7b, kNpu, 10).value(), 50.4608864e9, 1);
  EXPECT_NEAR(PeakRateFor(k7b, kNpu, 667).value(), 40.2167e12, 1e8);
}

// (a) 1,024 tokens * 14 Gop / 10 TOPS = 1.434 s; the weights take 3.5 GB / 40 GB/s = 87.5 ms, passed at 62.5 tokens.
TEST(KpiTest, WithoutACacheEveryStepComputesEverything) {
  EXPECT_NEAR(RecomputeStep(k7b, kNpu, 1024).compute.value(), 1.4336, 1e-6);
  EXPECT_NEAR(RecomputeStep(k7b, kNpu, 62).memory.value(), 0.0875, 1e-9);
  EXPECT_EQ(RecomputeStep(k7b, kNpu, 62).compute, Seconds(0));
  EXPECT_EQ(RecomputeStep(k7b, kNpu, 63).memory, Seconds(0));
  EXPECT_NEAR(RecomputeBoundTokens(k7b, kNpu), 62.5, 1e-9);
}

TEST(KpiTest, RecomputeTotalIsTheSlowSum) {
  struct Case {
    double prompt, steps;
  };
  for (const Case& c : {Case{0, 1}, {0, 62}, {0, 63}, {0, 64}, {60, 5}, {62, 1}, {62, 2}, {63, 9}, {1024, 128}}) {
    TimeParts slow;
    for (double i = 0; i < c.steps; ++i) slow += RecomputeStep(k7b, kNpu, c.prompt + i);
    const TimeParts closed = RecomputeTotal(k7b, kNpu, c.prompt, c.steps);
    EXPECT_NEAR(closed.compute.value(), slow.compute.value(), 1e-9) << c.prompt << " + " << c.steps;
    EXPECT_NEAR(closed.memory.value(), slow.memory.value(), 1e-9) << c.prompt << " + " << c.steps;
  }
}

// (b) 15.07 Gop at 10 TOPS beside 4.037 GB at 40 GB/s.
TEST(KpiTest, WithACacheDecodeIsMemory) {
  EXPECT_NEAR((OpsPerPromptToken(k7b) / kNpu.EffectiveRate()).value(), 1.5e-3, 1e-5);
  EXPECT_NEAR((BytesPerOutputToken(k7b) / kNpu.AverageBandwidth()).value(), 0.101, 1e-4);
}

// (d) 1,024 tokens in chunks of 128 at 663.405 token/s.
TEST(KpiTest, WorkedExposedPrefill) {
  const double rate = RatesOf(k7b, kNpu).compute;
  ExpectRelative(ExposedPrefill(1024, 128, rate, 5).value(), 128 / rate, "typing: one chunk is left");
  EXPECT_NEAR(ExposedPrefill(1024, 128, rate, 5).value(), 0.1929, 5e-5);
  EXPECT_NEAR(ExposedPrefill(1024, 128, rate, 1000).value(), 0.6476, 5e-5);
  EXPECT_NEAR(ExposedPrefill(1024, 128, rate, kInf).value(), 1.5436, 5e-5);
  EXPECT_NEAR(ExposedPrefill(1024, 1024, rate, 5).value(), 1.5436, 5e-5);  // one chunk hides nothing
}

// Chunk by chunk: a chunk starts when it is there and the one before is done.
Seconds SlowExposedPrefill(double prompt, double chunk, double rate, double arrival) {
  std::vector<Seconds> times;
  std::vector<double> last_token;
  for (double done = 0; done < prompt; done += chunk) {
    last_token.push_back(std::min(prompt, done + chunk));
    times.push_back(Seconds((last_token.back() - done) / rate));
  }
  return ExposedPrefill(times, last_token, arrival);
}

TEST(KpiTest, ExposedPrefillIsTheRecursion) {
  for (const double prompt : {1.0, 7.0, 128.0, 129.0, 1000.0, 1024.0}) {
    for (const double chunk : {1.0, 3.0, 127.0, 128.0, 512.0}) {
      for (const double arrival : {1.0, 5.0, 99.0, 100.0, 101.0, 1e3, kInf}) {
        const double want = SlowExposedPrefill(prompt, chunk, 100, arrival).value();
        EXPECT_NEAR(ExposedPrefill(prompt, chunk, 100, arrival).value(), want, 1e-9)
            << prompt << " by " << chunk << " at " << arrival;
      }
    }
  }
}

// Chunks that grow dearer with their context: the last one, then the backlog, decide. Arrivals at 10, 20, 30 s.
TEST(KpiTest, ExposedPrefillOfUnequalChunks) {
  const std::vector<double> last_token = {100, 200, 300};
  EXPECT_EQ(ExposedPrefill({Seconds(1), Seconds(2), Seconds(4)}, last_token, 10), Seconds(4));
  EXPECT_EQ(ExposedPrefill({Seconds(1), Seconds(15), Seconds(4)}, last_token, 10), Seconds(9));
  EXPECT_EQ(ExposedPrefill({}, {}, 10), Seconds(0));
}

// Llama-2-7B, W4A8 with an 8-bit cache, on that NPU.
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

// n_ctx = 1,024 + 1,024: the same cache as above, 6.74e9 parameters in place of 7e9.
TEST_F(EstimateKpiTest, ByHand) {
  const Estimate estimate = Must(Ask(1024, 1024));
  const double out = 40e9 / (kParameters / 2 + 536870912);
  const double compute = 10e12 / (2 * kParameters + 2 * 536870912.0);
  const double prompt = 1 / (1 / compute + 1 / (128 * out));
  ExpectRelative(estimate.ttft.time.value(), 1024 / prompt, "TTFT");
  ExpectRelative(estimate.compute_limited_ttft->value(), 1024 / compute, "compute-limited TTFT");
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

TEST_F(EstimateKpiTest, ComputesInTheDtypeOfTheKernel) {
  Scenario weight_only = Ask(1024, 1024);
  weight_only.deployment.activation_dtype = Dtype::kBf16;  // 4-bit weights are widened: 10 in place of 40 TFLOP/s
  ExpectRelative(*Must(weight_only).compute_limited_ttft / *Must(Ask(1024, 1024)).compute_limited_ttft, 4, "ratio");
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
  ExpectRelative(*typed.compute_limited_ttft / *whole.compute_limited_ttft, 1.0 / 8, "likewise");
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

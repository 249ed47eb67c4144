// The closed forms of the KPI method.
#include "estimator/methods/kpi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "estimator/base/dtype.h"

namespace foretoken {
namespace {

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

// Chunks that grow dearer with their context: the last one, then the queue, decide. Arrivals at 10, 20, 30 s.
TEST(KpiTest, ExposedPrefillOfUnequalChunks) {
  const std::vector<double> last_token = {100, 200, 300};
  EXPECT_EQ(ExposedPrefill({Seconds(1), Seconds(2), Seconds(4)}, last_token, 10), Seconds(4));
  EXPECT_EQ(ExposedPrefill({Seconds(1), Seconds(15), Seconds(4)}, last_token, 10), Seconds(9));
  EXPECT_EQ(ExposedPrefill({}, {}, 10), Seconds(0));
}

}  // namespace
}  // namespace foretoken

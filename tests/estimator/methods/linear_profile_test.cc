#include "estimator/methods/linear_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "estimator/base/errors.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kExact = 1e-12;

// OPT-13B's figures on an RTX A6000 at 60% of 768 GB/s.
LinearDecode Decode(double batch, double prompt) {
  return {.weights = Gigabytes(26),
          .kv_per_token = Bytes(819200),
          .batch = batch,
          .prompt_tokens = prompt,
          .bandwidth = GigabytesPerSecond(460.8)};
}

// 4,164 token/s: 1,024 tokens take 0.2459 s as one sequence or as sixteen.
TEST(LinearProfileTest, PrefillCountsTokensNotSequences) {
  const double want = LinearPrefill(1024, 4164).value();
  EXPECT_NEAR(want, 0.245917, 1e-6);
  for (const double sequences : {1, 2, 4, 8, 16}) {
    EXPECT_DOUBLE_EQ(LinearPrefill(sequences * (1024 / sequences), 4164).value(), want) << sequences;
  }
}

// (26e9 + 2 * (256 + 10) * 819,200) / 460.8e9 = 57.36939 ms.
TEST(LinearProfileTest, StepReadsWeightsAndTheGrowingCache) {
  EXPECT_NEAR(LinearDecodeStep(Decode(2, 256), 10).value(), 0.05736939, 1e-8);
}

struct DecodeCase {
  double batch, prompt, steps;
};
const DecodeCase kDecodeCases[] = {{1, 0, 1}, {1, 1024, 128}, {2, 256, 512}, {16, 7, 1}, {64, 2048, 4096}};

TEST(LinearProfileTest, ClosedFormIsTheSlowSum) {
  for (const DecodeCase& c : kDecodeCases) {
    double slow = 0;
    for (double i = 0; i < c.steps; ++i) slow += LinearDecodeStep(Decode(c.batch, c.prompt), i).value();
    const double closed = LinearDecodeTotal(Decode(c.batch, c.prompt), c.steps).value();
    EXPECT_NEAR(closed / slow, 1, kExact) << c.batch << " x " << c.prompt << " + " << c.steps;
  }
}

// The README sums i = 1 .. O instead of 0 .. O - 1: the last step in place of the first.
TEST(LinearProfileTest, ReadmeIsAboveTheCodeByOneTokenAStep) {
  for (const DecodeCase& c : kDecodeCases) {
    const LinearDecode decode = Decode(c.batch, c.prompt);
    const Seconds difference = c.batch * c.steps * decode.kv_per_token / decode.bandwidth;
    const Seconds code = LinearDecodeTotal(decode, c.steps);
    EXPECT_NEAR(LinearDecodeTotalReadme(decode, c.steps) / (code + difference), 1, kExact);
  }
}

TEST(LinearProfileTest, LatenciesArePrefillThenEveryStep) {
  const LinearDecode decode = Decode(2, 256);
  EXPECT_THAT(LinearLatencies(Seconds(0.5), decode, 2),
              ElementsAre(Seconds(0.5), LinearDecodeStep(decode, 0), LinearDecodeStep(decode, 1)));
  EXPECT_THAT(LinearLatencies(Seconds(0.5), decode, 0), ElementsAre(Seconds(0.5)));
}

// Llama-2-7B with a profile on an A100: 20,000 token/s, 1.5 TB/s.
class EstimateTest : public ::testing::Test {
 protected:
  EstimateTest() {
    LinearProfile profile{.key = {.model_id = "llama-2-7b",
                                  .engine = "vllm@0.6.0",
                                  .weight_dtype = Dtype::kBf16,
                                  .kv_cache_dtype = Dtype::kBf16},
                          .prefill_tokens_per_second = 20000,
                          .effective_bandwidth = GigabytesPerSecond(1500),
                          .min_prefill_tokens = 256,
                          .max_prefill_tokens = 8192};
    hardware_.linear_profiles.push_back(profile);
  }

  Scenario Ask(int batch, int prompt, int output) const {
    Scenario scenario = MakeScenario(model_, hardware_, batch, prompt, output);
    scenario.deployment.engine = "vllm@0.6.0";
    return scenario;
  }

  LinearProfile& Profile() { return hardware_.linear_profiles[0]; }

  const Model model_ = Llama2_7b();
  Hardware hardware_ = A100();
};

// 6,738,415,616 parameters * 2 B = 13,476,831,232 B; 524,288 B of KV a token. Prefill 4 * 512 / 20,000 = 102.4 ms;
// decode 128 * 13,476,831,232 + 4 * 524,288 * (128 * 512 + 8,128) B at 1.5 TB/s = 1.253006 s.
TEST_F(EstimateTest, ByHand) {
  const absl::StatusOr<Estimate> estimate = EstimateLinearProfile(Ask(4, 512, 128), {.token_latencies = true});
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  const double decode = (128 * 13476831232.0 + 4 * 524288.0 * (128 * 512 + 128 * 127 / 2)) / 1.5e12;
  EXPECT_NEAR(decode, 1.253, 1e-3);
  EXPECT_NEAR(estimate->ttft.time.value(), 0.1024, kExact);
  EXPECT_NEAR(estimate->decode.time.value(), decode, kExact);
  EXPECT_NEAR(estimate->tpot.time.value(), decode / 128, kExact);
  EXPECT_NEAR(estimate->e2e.time.value(), 0.1024 + decode, kExact);
  EXPECT_EQ(estimate->decode_steps, 128);
  EXPECT_NEAR(estimate->throughput.output_tokens_per_second, 4 * 128 / (0.1024 + decode), 1e-9);
  EXPECT_EQ(estimate->decode.provenance, Provenance::kCalibrated);
  EXPECT_THAT(estimate->warnings, IsEmpty());
  EXPECT_EQ(estimate->calibration_id, "linear-profile/llama-2-7b/vllm@0.6.0/tp1-pp1/bf16-bf16");
  ASSERT_EQ(estimate->token_latencies.size(), 129u);
  const auto& latencies = estimate->token_latencies;
  const Seconds sum = std::accumulate(latencies.begin(), latencies.end(), Seconds(0));
  EXPECT_NEAR(sum / estimate->e2e.time, 1, kExact);
}

TEST_F(EstimateTest, PrefillHasNoPartsAndDecodeIsMemory) {
  const Estimate estimate = *EstimateLinearProfile(Ask(4, 512, 128), {});
  EXPECT_FALSE(estimate.prefill.parts.has_value());
  EXPECT_EQ(estimate.prefill.bound, Bound::kUnspecified);
  EXPECT_EQ(estimate.decode.bound, Bound::kMemory);
  EXPECT_EQ(estimate.decode.parts->memory, estimate.decode.time);
  EXPECT_NEAR(*estimate.mbu, 1500.0 / 2039, kExact);  // reads nothing else at the effective rate
}

TEST_F(EstimateTest, DataParallelReplicasShareTheBatch) {
  Scenario scenario = Ask(8, 512, 128);
  scenario.deployment.data_parallel = 2;
  const Estimate two = *EstimateLinearProfile(scenario, {});
  const Estimate one = *EstimateLinearProfile(Ask(4, 512, 128), {});
  EXPECT_EQ(two.e2e.time, one.e2e.time);
  EXPECT_DOUBLE_EQ(two.throughput.output_tokens_per_second, 2 * one.throughput.output_tokens_per_second);
}

TEST_F(EstimateTest, WithoutABandwidthTakesTheSourcesSixtyPercent) {
  Profile().effective_bandwidth.reset();
  const Estimate estimate = *EstimateLinearProfile(Ask(1, 512, 1), {});
  EXPECT_NEAR(estimate.decode.time.value(), (13476831232.0 + 512 * 524288.0) / (0.6 * 2039e9), kExact);
  EXPECT_EQ(estimate.decode.provenance, Provenance::kDatasheet);
  EXPECT_THAT(estimate.warnings, ElementsAre(Field(&Warning::code, WarningCode::kFigureAbsent)));
}

std::vector<WarningCode> CodesOf(const std::vector<Warning>& warnings) {
  std::vector<WarningCode> codes;
  for (const Warning& warning : warnings) codes.push_back(warning.code);
  return codes;
}

TEST_F(EstimateTest, WarnsOutsideTheProfiledRange) {
  struct Case {
    int batch, prompt;
    bool warns;
  };
  for (const Case& c : {Case{1, 255, true}, {1, 256, false}, {8, 1024, false}, {1, 8193, true}, {9, 1024, true}}) {
    const Estimate estimate = *EstimateLinearProfile(Ask(c.batch, c.prompt, 1), {});
    const std::vector<WarningCode> want(c.warns ? 1 : 0, WarningCode::kExtrapolated);
    EXPECT_EQ(CodesOf(estimate.warnings), want) << c.batch << " x " << c.prompt;
  }
}

TEST_F(EstimateTest, AnswersForExactlyWhatWasProfiled) {
  ASSERT_NE(FindProfile(Ask(1, 512, 1)), nullptr);
  struct Case {
    const char* name;
    void (*change)(Deployment&);
  };
  const Case cases[] = {
      {"engine", [](Deployment& d) { d.engine = "vllm@0.6.1"; }},
      {"tensor_parallel", [](Deployment& d) { d.tensor_parallel = 2; }},
      {"pipeline_parallel", [](Deployment& d) { d.pipeline_parallel = 2; }},
      {"weight_dtype", [](Deployment& d) { d.weight_dtype = Dtype::kFp8; }},
      {"kv_cache_dtype", [](Deployment& d) { d.kv_cache_dtype = Dtype::kFp8; }},
  };
  for (const Case& c : cases) {
    Scenario scenario = Ask(1, 512, 1);
    c.change(scenario.deployment);
    const absl::Status status = EstimateLinearProfile(scenario, {}).status();
    EXPECT_EQ(DetailOf(status).reason, Reason::kNoProfile) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("vllm@0.6.0")) << "names what is there";
  }
}

TEST_F(EstimateTest, RefusesWhatItDoesNotModel) {
  struct Case {
    const char* field;
    void (*change)(Scenario&);
  };
  const Case cases[] = {
      {"live_load", [](Scenario& s) { s.live_load = LiveLoad{.running_sequences = 1}; }},
      {"workload.request_rate_per_second", [](Scenario& s) { s.workload.request_rate_per_second = 1; }},
      {"workload.batching_policy", [](Scenario& s) { s.workload.batching = BatchingPolicy::kContinuous; }},
      {"workload.kv_cache_mode", [](Scenario& s) { s.workload.kv_cache_mode = KvCacheMode::kNone; }},
      {"workload.prefix_load_bytes_per_second", [](Scenario& s) { s.workload.prefix_load = GigabytesPerSecond(1); }},
  };
  for (const Case& c : cases) {
    Scenario scenario = Ask(1, 512, 1);
    c.change(scenario);
    const RefusalDetail detail = DetailOf(EstimateLinearProfile(scenario, {}).status());
    EXPECT_EQ(detail.reason, Reason::kNotModelled) << c.field;
    ASSERT_EQ(detail.violations.size(), 1u) << c.field;
    EXPECT_EQ(detail.violations[0].field, c.field);
  }
}

TEST_F(EstimateTest, RefusesMissingFiguresAndTooLargeBatches) {
  EXPECT_EQ(DetailOf(EstimateLinearProfile(Ask(1000, 4096, 128), {}).status()).reason, Reason::kOutOfMemory);
  Profile().prefill_tokens_per_second.reset();
  EXPECT_EQ(DetailOf(EstimateLinearProfile(Ask(1, 512, 1), {}).status()).reason, Reason::kMissingFigure);
  EXPECT_TRUE(EstimateLinearProfile(Ask(1, 0, 1), {}).ok()) << "nothing to prefill";
}

// "Best available" takes the profile where it answers and the operator model where it was not made for the question.
TEST_F(EstimateTest, BestAvailableFallsBack) {
  EXPECT_EQ(ComputeEstimate(Ask(1, 512, 1))->method, Method::kLinearProfile);
  Scenario loads_prefix = Ask(1, 512, 1);
  loads_prefix.workload.prefix_load = GigabytesPerSecond(1);
  EXPECT_EQ(ComputeEstimate(loads_prefix)->method, Method::kOperatorModel);
  EXPECT_EQ(DetailOf(ComputeEstimate(Ask(1000, 4096, 128)).status()).reason, Reason::kOutOfMemory);
  Profile().prefill_tokens_per_second.reset();
  EXPECT_EQ(ComputeEstimate(Ask(1, 512, 1))->method, Method::kOperatorModel);
}

TEST_F(EstimateTest, MoreOfAnythingIsNeverFaster) {
  const auto e2e = [&](int batch, int prompt, int output) {
    return EstimateLinearProfile(Ask(batch, prompt, output), {})->e2e.time;
  };
  for (int batch = 1; batch <= 8; ++batch) {
    EXPECT_LT(e2e(batch, 512, 64), e2e(batch + 1, 512, 64));
    EXPECT_LT(e2e(batch, 512, 64), e2e(batch, 513, 64));
    EXPECT_LT(e2e(batch, 512, 64), e2e(batch, 512, 65));
  }
}

}  // namespace
}  // namespace foretoken

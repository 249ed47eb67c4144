// What must hold for any scenario, over thousands of random ones from a fixed seed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "estimator/decode.h"
#include "estimator/estimator.h"
#include "estimator/operator_model.h"
#include "estimator/phases.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 10000;
constexpr double kInf = std::numeric_limits<double>::infinity();

const Model kModels[] = {Llama2_7b(), Llama31_70b(), Mixtral8x7b(), DeepseekV2Lite(), Gemma2_9b()};

// Random scenarios on hardware that is large enough for all of them.
class ScenarioSource {
 public:
  ScenarioSource() : hardware_(A100()) {
    hardware_.memory_capacity = Bytes(1e15);
    hardware_.devices_per_node = 8;
  }

  Scenario Next() {
    Scenario s = MakeScenario(kModels[Pick(5)], hardware_, 1 << Pick(9), 1 + LogUniform(20000), 1 + LogUniform(5000));
    Deployment& d = s.deployment;
    d.tensor_parallel = 1 << Pick(5);
    d.pipeline_parallel = 1 << Pick(3);
    d.roofline_exponent = std::array{1.0, 2.0, 3.0, kInf}[Pick(4)];
    if (Pick(3) == 0) d.prefill_chunk_tokens = 1 + LogUniform(4096);
    if (Pick(4) == 0) d.kv_cache_dtype = Dtype::kFp8;
    if (Pick(4) == 0) d.weight_dtype = Dtype::kInt4;
    if (Pick(3) == 0) s.workload.cached_prefix_tokens = static_cast<int>(Pick(s.workload.prompt_tokens));
    s.method = Method::kOperatorModel;
    return s;
  }

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int LogUniform(int largest) {
    return static_cast<int>(std::exp(std::uniform_real_distribution(0.0, std::log(largest))(random_)));
  }

 private:
  Hardware hardware_;
  std::mt19937 random_{20240117};
};

std::string Describe(const Scenario& s) {
  std::ostringstream out;
  out << s.model->id << " tp " << s.deployment.tensor_parallel << " pp " << s.deployment.pipeline_parallel << " B "
      << s.workload.batch_size << " S " << s.workload.prompt_tokens << " p " << s.workload.cached_prefix_tokens << " O "
      << s.workload.output_tokens << " chunk " << s.deployment.prefill_chunk_tokens.value_or(0) << " s "
      << s.deployment.roofline_exponent;
  return out.str();
}

Estimate Of(const Scenario& scenario) {
  absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  EXPECT_TRUE(estimate.ok()) << Describe(scenario) << ": " << estimate.status();
  return estimate.ok() ? *std::move(estimate) : Estimate{};
}

// Relative slack for sums that are taken in different orders.
constexpr double kRounding = 1e-9;

TEST(PropertyTest, PartsSumAndEverythingIsFinite) {
  ScenarioSource source;
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario scenario = source.Next();
    const Estimate e = Of(scenario);
    const double e2e = e.e2e.time.value();
    ASSERT_TRUE(std::isfinite(e2e) && e2e > 0) << Describe(scenario);
    ASSERT_NEAR(e.prefill.parts->Total().value(), e.ttft.time.value(), kRounding * e2e) << Describe(scenario);
    ASSERT_NEAR(e.decode.parts->Total().value(), e.decode_steps * e.tpot.time.value() * !e.tpot_is_next_step,
                kRounding * e2e);
    ASSERT_NEAR(e.prefill.time.value() + e.decode.time.value(), e2e, kRounding * e2e) << Describe(scenario);
    for (const Phase* phase : {&e.prefill, &e.decode}) {
      for (const Seconds part : {phase->parts->compute, phase->parts->memory, phase->parts->communication,
                                 phase->parts->host, phase->parts->queueing}) {
        ASSERT_GE(part.value(), 0) << Describe(scenario);
      }
    }
    const bool alone = scenario.deployment.devices() == 1;
    if (alone) {
      ASSERT_EQ(e.prefill.parts->communication.value() + e.decode.parts->communication.value(), 0);
    }
    ASSERT_LE(*e.mbu, 1 + kRounding) << Describe(scenario);
  }
}

TEST(PropertyTest, NothingIsFasterThanLight) {
  ScenarioSource source;
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    const Estimate real = Of(scenario);
    scenario.method = Method::kSpeedOfLight;
    const Estimate light = Of(scenario);
    ASSERT_LE(light.ttft.time.value(), real.ttft.time.value() * (1 + kRounding)) << Describe(scenario);
    ASSERT_LE(light.tpot.time.value(), real.tpot.time.value() * (1 + kRounding)) << Describe(scenario);
  }
}

TEST(PropertyTest, MoreWorkIsNeverFaster) {
  ScenarioSource source;
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario less = source.Next();
    Scenario more = less;
    switch (i % 3) {
      case 0:
        more.workload.batch_size += 1 + source.Pick(64);
        break;
      case 1:
        more.workload.prompt_tokens += 1 + source.Pick(1000);
        break;
      case 2:
        more.workload.output_tokens += 1 + source.Pick(1000);
        break;
    }
    const double slack = 1 + 2e-3 * (i % 3 != 2);  // the closed form's own error, where it is not one sum extended
    ASSERT_GE(Of(more).e2e.time.value() * slack, Of(less).e2e.time.value())
        << Describe(less) << " | " << Describe(more);
  }
}

TEST(PropertyTest, BetterHardwareIsNeverSlower) {
  ScenarioSource source;
  for (int i = 0; i < kScenarios; ++i) {
    Scenario scenario = source.Next();
    const double before = Of(scenario).e2e.time.value();
    Hardware better = *scenario.hardware;
    const double factor = 1 + source.Pick(100) / 50.0;
    if (i % 2 == 0) better.memory_bandwidth = *better.memory_bandwidth * factor;
    if (i % 2 == 1) better.peak.bf16 = *better.peak.bf16 * factor;
    scenario.hardware = &better;
    ASSERT_LE(Of(scenario).e2e.time.value(), before * (1 + 1e-3)) << Describe(scenario);
  }
}

// Decode in closed form against the slow sum: 1e-3 in general, 1e-9 where a step is piecewise linear.
TEST(PropertyTest, ClosedFormEqualsSlowSum) {
  ScenarioSource source;
  std::vector<Warning> warnings;
  for (int i = 0; i < 1000; ++i) {
    const Scenario scenario = source.Next();
    const StepModel model = *MakeStepModel(scenario, GenericPrior(), &warnings);
    const DecodePhase decode(model, scenario.workload, scenario.workload.batch_size);
    const double steps = scenario.workload.output_tokens - 1;
    double slow = 0;
    for (double j = 1; j <= steps; ++j) slow += decode.Step(j).Total().value();
    const double exponent = scenario.deployment.roofline_exponent;
    const double bound = exponent == 1 || std::isinf(exponent) ? 1e-9 : 1e-3;
    ASSERT_NEAR(decode.Sum(steps).Total().value(), slow, bound * slow) << Describe(scenario);
  }
}

TEST(PropertyTest, NoCachedPrefixAndOneChunkChangeNothing) {
  ScenarioSource source;
  for (int i = 0; i < 1000; ++i) {
    Scenario scenario = source.Next();
    scenario.workload.cached_prefix_tokens = 0;
    scenario.deployment.prefill_chunk_tokens.reset();
    const double plain = Of(scenario).ttft.time.value();
    scenario.workload.kv_cache_mode = KvCacheMode::kPromptCache;
    ASSERT_DOUBLE_EQ(Of(scenario).ttft.time.value(), plain);
    scenario.deployment.prefill_chunk_tokens = scenario.workload.prompt_tokens + source.Pick(3);
    ASSERT_DOUBLE_EQ(Of(scenario).ttft.time.value(), plain);
  }
}

TEST(PropertyTest, DataParallelMultipliesThroughputOnly) {
  ScenarioSource source;
  for (int i = 0; i < 1000; ++i) {
    Scenario scenario = source.Next();
    const Estimate one = Of(scenario);
    scenario.deployment.data_parallel = 4;
    scenario.workload.batch_size *= 4;
    const Estimate four = Of(scenario);
    ASSERT_DOUBLE_EQ(four.e2e.time.value(), one.e2e.time.value()) << Describe(scenario);
    ASSERT_NEAR(four.throughput.output_tokens_per_second, 4 * one.throughput.output_tokens_per_second,
                1e-9 * four.throughput.output_tokens_per_second);
    ASSERT_NEAR(four.throughput.output_tokens_per_second_per_device, one.throughput.output_tokens_per_second_per_device,
                1e-9 * one.throughput.output_tokens_per_second_per_device);
  }
}

TEST(PropertyTest, DoublingTheLayersDoublesTheirPart) {
  const Model once = Llama2_7b();
  Model twice = once;
  twice.num_hidden_layers *= 2;
  Model none = once;
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(once, hardware, 4, 500, 2);
  scenario.method = Method::kSpeedOfLight;
  const auto ttft = [&](const Model& model) {
    scenario.model = &model;
    return Of(scenario).ttft.time.value();
  };
  none.num_hidden_layers = 1;
  const double layer = (ttft(once) - ttft(none)) / 31;
  EXPECT_NEAR(ttft(twice) - ttft(once), 32 * layer, 1e-9 * ttft(twice));
}

// The rules of thumb of "LLM inference performance engineering: best practices" [S3].
TEST(HeuristicTest, HoldAsPublished) {
  Model mpt7b = {.id = "mpt-7b",
                 .num_hidden_layers = 32,
                 .hidden_size = 4096,
                 .num_attention_heads = 32,
                 .num_key_value_heads = 32,
                 .head_dim = 128,
                 .intermediate_size = 16384,
                 .vocab_size = 50432,
                 .tie_word_embeddings = true,
                 .mlp_matrices = 2};
  Model mpt30b = mpt7b;
  mpt30b.num_hidden_layers = 48;
  mpt30b.hidden_size = 7168;
  mpt30b.num_attention_heads = mpt30b.num_key_value_heads = 64;
  mpt30b.head_dim = 112;
  mpt30b.intermediate_size = 28672;
  const Hardware hardware = A100();
  const auto e2e = [&](const Model& model, int batch, int prompt, int output) {
    return Of(MakeScenario(model, hardware, batch, prompt, output)).e2e.time.value();
  };
  // 512 more prompt tokens cost less than 8 more output tokens.
  EXPECT_LT(e2e(mpt7b, 1, 1024, 64) - e2e(mpt7b, 1, 512, 64), e2e(mpt7b, 1, 512, 72) - e2e(mpt7b, 1, 512, 64));
  // Latency grows less than the parameters, 4.51 times as many.
  EXPECT_LT(e2e(mpt30b, 1, 512, 64) / e2e(mpt7b, 1, 512, 64), 4.51);
  // Decode dominates long outputs.
  const Estimate longer = Of(MakeScenario(mpt7b, hardware, 1, 512, 512));
  EXPECT_GT(longer.decode.time.value(), 10 * longer.prefill.time.value());
  // Throughput rises with the batch while each request slows.
  const Estimate alone = Of(MakeScenario(mpt7b, hardware, 1, 512, 64));
  const Estimate crowd = Of(MakeScenario(mpt7b, hardware, 32, 512, 64));
  EXPECT_GT(crowd.throughput.output_tokens_per_second, 4 * alone.throughput.output_tokens_per_second);
  EXPECT_GT(crowd.tpot.time.value(), alone.tpot.time.value());
  // Tensor parallelism helps relatively more at a larger batch.
  const auto tpot = [&](int batch, int tp) {
    Scenario scenario = MakeScenario(mpt30b, hardware, batch, 2048, 64);
    scenario.deployment.tensor_parallel = tp;
    return Of(scenario).tpot.time.value();
  };
  EXPECT_GT(tpot(16, 2) / tpot(16, 4), tpot(1, 2) / tpot(1, 4));
}

}  // namespace
}  // namespace foretoken

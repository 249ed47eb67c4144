#include "estimator/methods/operator_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "estimator/methods/estimator.h"
#include "estimator/phases/phases.h"
#include "estimator/scenario/calibration.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

// Llama-2-7B on an A100, batch 8, 1,024 tokens at efficiency 1 and s = infinity. Three other tools say 365, 368 and
// 390 ms of prefill (matrices and causal attention alone are 354), two of them 8.25 to 8.65 ms of decode.
TEST(OperatorModelTest, AgreesWithOtherToolsAtTheSpeedOfLight) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1023, 2);
  scenario.method = Method::kSpeedOfLight;
  const Estimate estimate = MustEstimate(scenario);
  EXPECT_GT(estimate.ttft.time.value(), 0.345);
  EXPECT_LT(estimate.ttft.time.value(), 0.390);
  EXPECT_GT(estimate.tpot.time.value(), 0.00825);
  EXPECT_LT(estimate.tpot.time.value(), 0.00865);
}

// The matrices alone, by hand: 2 * 8,192 rows * 6,476,005,376 weights of the layers / 312e12 = 340.1 ms.
TEST(OperatorModelTest, PrefillMatricesByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1024, 2);
  scenario.method = Method::kSpeedOfLight;
  double seconds = 0;
  for (const OperatorEstimate& op : MustEstimate(scenario, {.operators = true}).prefill_operators) {
    const bool matrix = op.name == "qkv_proj" || op.name == "out_proj" || op.name == "mlp_up" || op.name == "mlp_down";
    if (matrix) seconds += op.parts.Total().value();
  }
  EXPECT_NEAR(seconds, 2.0 * 8192 * 32 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) / 312e12, 1e-9);
}

// The same matrices where the units reach 0.9 of 312 TFLOP/s and every two bytes from 2,039 GB/s serve 1,300 FLOPs:
// 1 / (1 / 280.8e12 + 2 / (1,300 x 2,039e9)) = 231.7 TFLOP/s, 74% of the peak.
TEST(OperatorModelTest, MatricesFedFromMemoryByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Scenario scenario = MakeScenario(model, hardware, 8, 1024, 2);
  const StepModel step = *MakeStepModel(scenario, {.gemm = 0.9, .gemm_reuse = 1300}, nullptr);
  EXPECT_NEAR(step.machine.gemm.value(), 231.7e12, 0.05e12);
  EXPECT_NEAR(MakeStepModel(scenario, {.gemm = 0.9}, nullptr)->machine.gemm.value(), 280.8e12, 1);
}

// A quarter of 40 TFLOP/s at the reference; an A100's 19.5 TFLOP/s of fp32 give sqrt(19.5 / 40) of it, 6.982 TFLOP/s.
TEST(OperatorModelTest, DecodeAttentionScalesWithTheRootOfTheVectorPeak) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  const Scenario scenario = MakeScenario(model, hardware, 8, 1024, 2);
  const Efficiencies damped = {.decode_attention = 0.25, .vector_reference = Teraflops(40)};
  const auto rate = [&](const Efficiencies& e) {
    return MakeStepModel(scenario, e, nullptr)->machine.decode_attention;
  };
  EXPECT_NEAR(rate(damped).value(), 6.982e12, 0.001e12);
  EXPECT_NEAR(rate({.decode_attention = 0.25}).value(), 4.875e12, 1);
  hardware.peak.fp32 = Teraflops(40);
  EXPECT_NEAR(rate(damped).value(), 10e12, 1);
}

TEST(OperatorModelTest, OperatorRowsSumToTheirStep) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 4, 512, 2);
  scenario.deployment.tensor_parallel = 4;
  scenario.method = Method::kOperatorModel;
  const Estimate estimate = MustEstimate(scenario, {.operators = true, .token_latencies = true});
  double decode = 0;
  for (const OperatorEstimate& op : estimate.decode_operators) decode += op.parts.Total().value();
  EXPECT_NEAR(decode, estimate.tpot.time.value(), 1e-12);
  ASSERT_EQ(estimate.token_latencies.size(), 2u);
  EXPECT_DOUBLE_EQ(estimate.token_latencies[0].value(), estimate.ttft.time.value());
  EXPECT_DOUBLE_EQ(estimate.token_latencies[1].value(), estimate.tpot.time.value());
}

// Tokens are sent among the devices that share the experts, sums and logits among those that share the heads.
TEST(OperatorModelTest, OperatorRowsNameTheDevicesThatCommunicate) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 512, 2);
  scenario.deployment.tensor_parallel = 2;
  scenario.deployment.data_parallel = 4;
  scenario.deployment.expert_parallel = 8;
  scenario.method = Method::kOperatorModel;
  const Estimate estimate = MustEstimate(scenario, {.operators = true});
  const auto devices_of = [&](const std::string& name) {
    for (const OperatorEstimate& op : estimate.decode_operators) {
      if (op.name != name) continue;
      for (const auto& [symbol, value] : op.inputs) {
        if (symbol == "q") return value;
      }
    }
    return 0.0;
  };
  EXPECT_EQ(devices_of("expert_exchange"), 8);
  EXPECT_EQ(devices_of("all_reduce"), 2);
  EXPECT_EQ(devices_of("logits_gather"), 2);
}

// Llama-2-7B at tensor parallelism 2: gate and up are 2 x 11008 / 2 wide and read 4096, down is the other way round.
TEST(OperatorModelTest, ExplainsTheWidthsOfAProduct) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 512, 2);
  scenario.deployment.tensor_parallel = 2;
  scenario.method = Method::kOperatorModel;
  const Estimate estimate = MustEstimate(scenario, {.operators = true});
  int products = 0;
  for (const OperatorEstimate& op : estimate.decode_operators) {
    const std::map<std::string, double> inputs(op.inputs.begin(), op.inputs.end());
    if (op.name != "mlp_up" && op.name != "mlp_down") continue;
    ++products;
    EXPECT_EQ(inputs.at("N"), op.name == "mlp_up" ? 11008 : 4096) << op.name;
    EXPECT_EQ(inputs.at("K"), op.name == "mlp_up" ? 4096 : 5504) << op.name;
  }
  EXPECT_EQ(products, 2);
}

// KV of one key and value head per device: Llama-3.1-70B has 8, so tp 16 keeps one on each of 16 devices.
TEST(OperatorModelTest, KeyValueHeadsAreReplicatedPastTheirNumber) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1000, 10);
  scenario.deployment.devices_per_node = 16;
  const auto kv_per_device = [&](int tp) {
    scenario.deployment.tensor_parallel = tp;
    return MustEstimate(scenario).memory->kv_cache.value();
  };
  EXPECT_DOUBLE_EQ(kv_per_device(16), kv_per_device(8));
  EXPECT_DOUBLE_EQ(kv_per_device(8), kv_per_device(4) / 2);
}

// Cached latents are shared by all heads, so tensor parallelism does not divide them.
TEST(OperatorModelTest, LatentCacheIsNotDivided) {
  const Model model = DeepseekV2Lite();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1000, 10);
  const double one = MustEstimate(scenario).memory->kv_cache.value();
  scenario.deployment.tensor_parallel = 4;
  EXPECT_DOUBLE_EQ(MustEstimate(scenario).memory->kv_cache.value(), one);
}

TEST(OperatorModelTest, WarnsOfPaddedHeads) {
  Model model = Llama2_7b();
  model.num_attention_heads = model.num_key_value_heads = 30;
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
  scenario.deployment.tensor_parallel = 4;
  const Estimate estimate = MustEstimate(scenario);
  ASSERT_FALSE(estimate.warnings.empty());
  EXPECT_EQ(estimate.warnings.back().code, WarningCode::kHeadsPadded);
  EXPECT_THAT(estimate.warnings.back().message, HasSubstr("30 heads do not divide by tensor_parallel 4; padded to 8"));
}

TEST(OperatorModelTest, WarnsOfPartsThatItDoesNotUse) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
  EXPECT_TRUE(MustEstimate(scenario).warnings.empty());
  scenario.deployment.tensor_parallel = scenario.deployment.expert_parallel = 2;
  scenario.workload.kv_cache_written_back = true;
  scenario.workload.batching_window = Seconds(1);
  scenario.workload.prompt_arrival_tokens_per_second = 5;
  std::vector<std::string> fields;
  for (const Warning& warning : MustEstimate(scenario).warnings) {
    EXPECT_EQ(warning.code, WarningCode::kNotUsed);
    fields.push_back(warning.field);
  }
  EXPECT_THAT(fields, testing::ElementsAre("workload.kv_cache_written_back", "workload.batching_window_seconds",
                                           "workload.prompt_arrival_tokens_per_second", "deployment.expert_parallel"));
}

TEST(OperatorModelTest, RunsInWavesWhereAllowed) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1000, 1024, 128);
  scenario.workload.capacity_policy = CapacityPolicy::kWaves;
  const Estimate estimate = MustEstimate(scenario);
  EXPECT_GT(estimate.waves, 1);
  EXPECT_GE(estimate.waves * *estimate.memory->largest_batch, 1000);
  EXPECT_GT(estimate.prefill.parts->queueing.value(), 0);
  EXPECT_GE(estimate.memory->free->value(), 0);
}

TEST(NoCacheTest, EveryStepIsAPrefillOfEverything) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 100, 2);
  scenario.workload.kv_cache_mode = KvCacheMode::kNone;
  std::vector<Warning> warnings;
  const Estimate estimate = MustEstimate(scenario);
  const StepModel step = *MakeStepModel(scenario, GenericPrior(), &warnings);
  EXPECT_DOUBLE_EQ(estimate.tpot.time.value(),
                   StepTime(step, {.prefill_sequences = 1, .prefill_tokens = 101, .logits_rows = 1}).Total().value());
  EXPECT_EQ(estimate.memory->kv_cache.value(), 0);
}

TEST(PromptCacheTest, SavesPrefillAndLoadsWhatIsNotResident) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 2000, 2);
  const double cold = MustEstimate(scenario).ttft.time.value();
  scenario.workload.cached_prefix_tokens = 1500;
  const Estimate warm = MustEstimate(scenario);
  EXPECT_LT(warm.ttft.time.value(), cold / 2);
  scenario.workload.prefix_load = GigabytesPerSecond(10);
  // 1,500 tokens of 524,288 bytes at 10 GB/s.
  EXPECT_NEAR(MustEstimate(scenario).ttft.time.value() - warm.ttft.time.value(), 1500 * 524288 / 10e9, 1e-12);
}

TEST(PipelinedPromptCacheTest, HidesThePrefillBehindASlowPrompt) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1024, 2);
  scenario.deployment.prefill_chunk_tokens = 128;
  scenario.workload.kv_cache_mode = KvCacheMode::kPipelinedPromptCache;
  const auto ttft = [&](double rate) {
    scenario.workload.prompt_arrival_tokens_per_second = rate;
    return MustEstimate(scenario).ttft.time.value();
  };
  std::vector<Warning> warnings;
  const StepModel step = *MakeStepModel(scenario, GenericPrior(), &warnings);
  const double last_chunk =
      StepTime(step, {.prefill_sequences = 1, .prefill_tokens = 128, .prefill_prior = 896, .logits_rows = 1})
          .Total()
          .value();
  EXPECT_NEAR(ttft(5), last_chunk, 1e-12);
  EXPECT_LT(ttft(5), ttft(1e4));
  EXPECT_LT(ttft(1e4), ttft(1e9));
}

}  // namespace
}  // namespace foretoken

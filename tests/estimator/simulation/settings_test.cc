#include "estimator/simulation/settings.h"

#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/simulation/fixtures.h"

namespace foretoken {
namespace {

absl::StatusOr<EngineSettings> Settings(const Scenario& scenario, const SimulationSpec& spec = {}) {
  return SettingsOf(scenario, spec, *MakeStepModel(scenario, GenericServedPrior(), nullptr));
}

TEST(SettingsTest, EnginesHaveTheirDefaults) {
  struct Case {
    const char* engine;
    const char* hardware;
    double gibibytes;
    SchedulerPolicy policy;
    bool alone, cuts, reserves;
    int64_t tokens, sequences;
    int block;
  };
  const Case cases[] = {
      {"", "nvidia-h100-sxm-80gb", 80, SchedulerPolicy::kMixed, false, true, false, 8192, 1024, 16},
      {"vllm@0.14.0", "nvidia-a100-sxm-80gb", 80, SchedulerPolicy::kMixed, false, true, false, 2048, 256, 16},
      {"vllm", "nvidia-l4-24gb", 24, SchedulerPolicy::kMixed, false, true, false, 2048, 256, 16},
      {"sglang@0.5.10", "nvidia-h200", 141, SchedulerPolicy::kPrefillFirst, true, true, false, 8192, 4096, 1},
      {"sglang", "nvidia-l4-24gb", 22, SchedulerPolicy::kPrefillFirst, true, true, false, 2048, 4096, 1},
      {"sglang", "nvidia-l40-48gb", 48, SchedulerPolicy::kPrefillFirst, true, true, false, 4096, 4096, 1},
      {"sglang", "nvidia-b200-sxm-180gb", 180, SchedulerPolicy::kPrefillFirst, true, true, false, 16384, 4096, 1},
      {"tensorrt-llm@1.0.0", "nvidia-h200", 141, SchedulerPolicy::kInFlight, false, false, true, 8192, 2048, 32},
  };
  const Model model = Llama2_7b();
  for (const Case& c : cases) {
    Hardware hardware = A100();
    hardware.id = c.hardware;
    hardware.memory_capacity = Gibibytes(c.gibibytes);
    Scenario scenario = Served(model, hardware, 8, 500, 100);
    scenario.deployment.engine = c.engine;
    scenario.deployment.memory_utilization = 1;
    const absl::StatusOr<EngineSettings> s = Settings(scenario);
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(s->policy, c.policy) << c.engine;
    EXPECT_EQ(s->prompts_alone, c.alone) << c.engine;
    EXPECT_EQ(s->cuts_prompts, c.cuts) << c.engine;
    EXPECT_EQ(s->reserves_whole, c.reserves) << c.engine;
    EXPECT_EQ(s->step_tokens, c.tokens) << c.engine;
    EXPECT_EQ(s->max_sequences, c.sequences) << c.engine;
    EXPECT_EQ(s->block_tokens, c.block) << c.engine;
  }
}

TEST(SettingsTest, TakesWhatTheScenarioStatesOfTheEngine) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = Served(model, hardware, 8, 500, 100);
  scenario.deployment.scheduler = SchedulerPolicy::kInFlight;
  scenario.deployment.max_num_seqs = 3;
  EXPECT_EQ(Settings(scenario)->policy, SchedulerPolicy::kInFlight);
  EXPECT_EQ(Settings(scenario)->max_sequences, 3);
  const SimulationSpec spec{.scheduler = {.policy = SchedulerPolicy::kPrefillFirst, .max_num_seqs = 4}};
  EXPECT_EQ(Settings(scenario, spec)->policy, SchedulerPolicy::kPrefillFirst);
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 4);
}

TEST(SettingsTest, LengthsSpreadAroundTheWorkloads) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = Served(model, hardware, 8, 500, 100);
  EXPECT_EQ(std::get<FixedLength>(PromptsOf(scenario, {})).tokens, 500);
  scenario.workload.prompt_spread_tokens = 50;
  scenario.workload.output_spread_tokens = 99;
  const auto prompts = std::get<UniformLengths>(PromptsOf(scenario, {}));
  EXPECT_EQ(prompts.low, 450);
  EXPECT_EQ(prompts.high, 550);
  const auto outputs = std::get<UniformLengths>(OutputsOf(scenario, {}));
  EXPECT_EQ(outputs.low, 1);
  EXPECT_EQ(outputs.high, 199);
}

// 512 sequences for each context that the KV cache holds: 20,000 tokens are 5 contexts of 4,000, so 2,560 sequences.
TEST(SettingsTest, SglangCountsItsSequencesByTheCache) {
  Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = Served(model, hardware, 8, 500, 100);
  scenario.deployment.engine = "sglang";
  SimulationSpec spec;
  spec.scheduler.kv_tokens = 20'000;
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 4096);  // the model states no context
  model.max_position_embeddings = 4'000;
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 2560);
  model.max_position_embeddings = 100'000;
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 2048);
  model.max_position_embeddings = 100;
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 4096);
  spec.scheduler.max_num_seqs = 64;
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 64);
  spec.scheduler.max_num_seqs.reset();
  scenario.deployment.engine = "vllm";
  EXPECT_EQ(Settings(scenario, spec)->max_sequences, 256);
}

// The deployment's chunk, then the live load's limit, then the spec.
TEST(SettingsTest, WhatIsStatedComesFirst) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = Served(model, hardware, 8, 500, 100);
  scenario.deployment.prefill_chunk_tokens = 512;
  EXPECT_EQ(Settings(scenario)->step_tokens, 512);
  EXPECT_EQ(Settings(scenario)->max_sequences, 256);
  scenario.live_load = LiveLoad{.max_num_seqs = 32, .max_num_batched_tokens = 1024};
  EXPECT_EQ(Settings(scenario)->step_tokens, 1024);
  EXPECT_EQ(Settings(scenario)->max_sequences, 32);
  SimulationSpec spec;
  spec.scheduler = {.max_num_batched_tokens = 4096, .max_num_seqs = 64, .kv_block_tokens = 8, .kv_tokens = 999};
  const EngineSettings stated = *Settings(scenario, spec);
  EXPECT_EQ(stated.step_tokens, 4096);
  EXPECT_EQ(stated.max_sequences, 64);
  EXPECT_EQ(stated.block_tokens, 8);
  EXPECT_EQ(stated.kv_tokens, 999);
}

// Where a step has fewer tokens than the default has sequences, that many run at most.
TEST(SettingsTest, AStepHoldsATokenOfEverySequence) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  SimulationSpec spec;
  spec.scheduler.max_num_batched_tokens = 100;
  EXPECT_EQ(Settings(Served(model, hardware, 8, 500, 100), spec)->max_sequences, 100);
}

// 80 GiB x 0.9 = 77.309 GB less 13.477 GB of weights. A step of 2,048 tokens holds two residual streams and the MLP's
// three rows, (2 x 4,096 + 3 x 11,008) x 2 B = 82,432 B a token, 0.169 GB; eight rows of fp32 logits are 1 MB. A
// token's KV cache is 524,288 B: 121,431 tokens fit.
TEST(SettingsTest, TheCacheIsWhatMemoryHolds) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const double room = 0.9 * 80 * 1073741824 - 6738411520.0 * 2 - 2048 * 82432.0 - 8 * 32000 * 4.0;
  EXPECT_NEAR(static_cast<double>(Settings(Served(model, hardware, 8, 500, 100))->kv_tokens), room / 524288, 1);
}

TEST(SettingsTest, AModelThatDoesNotFitIsRefused) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  const auto settings = Settings(Served(model, hardware, 1, 500, 100));
  EXPECT_EQ(DetailOf(settings.status()).reason, Reason::kOutOfMemory);
}

}  // namespace
}  // namespace foretoken

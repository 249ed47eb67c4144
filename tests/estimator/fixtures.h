// Models and hardware whose numbers the tests work out by hand.
#ifndef FORETOKEN_TESTS_ESTIMATOR_FIXTURES_H_
#define FORETOKEN_TESTS_ESTIMATOR_FIXTURES_H_

#include <gtest/gtest.h>

#include "estimator/methods/estimator.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/model.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Llama-2-7B: MHA, three-matrix MLP, untied.
inline Model Llama2_7b() {
  return {.id = "llama-2-7b",
          .num_hidden_layers = 32,
          .hidden_size = 4096,
          .num_attention_heads = 32,
          .num_key_value_heads = 32,
          .head_dim = 128,
          .intermediate_size = 11008,
          .vocab_size = 32000};
}

// Llama-3.1-70B: GQA.
inline Model Llama31_70b() {
  return {.id = "llama-3.1-70b",
          .num_hidden_layers = 80,
          .hidden_size = 8192,
          .num_attention_heads = 64,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .intermediate_size = 28672,
          .vocab_size = 128256};
}

// Mixtral-8x7B: eight experts, two chosen.
inline Model Mixtral8x7b() {
  Model model{.id = "mixtral-8x7b",
              .num_hidden_layers = 32,
              .hidden_size = 4096,
              .num_attention_heads = 32,
              .num_key_value_heads = 8,
              .head_dim = 128,
              .intermediate_size = 14336,
              .vocab_size = 32000};
  model.mixture_of_experts = MixtureOfExperts{
      .num_experts = 8, .num_experts_per_tok = 2, .moe_intermediate_size = 14336, .dense_intermediate_size = 14336};
  return model;
}

// DeepSeek-V2-Lite: latent attention, dense first layer, shared experts.
inline Model DeepseekV2Lite() {
  Model model{.id = "deepseek-v2-lite",
              .num_hidden_layers = 27,
              .hidden_size = 2048,
              .num_attention_heads = 16,
              .num_key_value_heads = 16,
              .head_dim = 128,
              .intermediate_size = 10944,
              .vocab_size = 102400};
  model.latent_attention =
      LatentAttention{.kv_lora_rank = 512, .qk_rope_head_dim = 64, .qk_nope_head_dim = 128, .v_head_dim = 128};
  model.mixture_of_experts = MixtureOfExperts{.num_experts = 64,
                                              .num_experts_per_tok = 6,
                                              .moe_intermediate_size = 1408,
                                              .num_shared_experts = 2,
                                              .shared_expert_intermediate_size = 2816,
                                              .first_k_dense_replace = 1,
                                              .dense_intermediate_size = 10944};
  return model;
}

// Gemma-2-9B: every other layer sees a window of 4,096.
inline Model Gemma2_9b() {
  Model model{.id = "gemma-2-9b",
              .num_hidden_layers = 42,
              .hidden_size = 3584,
              .num_attention_heads = 16,
              .num_key_value_heads = 8,
              .head_dim = 256,
              .intermediate_size = 14336,
              .vocab_size = 256000,
              .tie_word_embeddings = true,
              .norms_per_layer = 4};
  model.sliding_window = SlidingWindow{.window_tokens = 4096, .num_full_attention_layers = 21};
  return model;
}

// A100 SXM 80 GB: 312 TFLOP/s, 2,039 GB/s, NVLink 300 GB/s in one direction.
inline Hardware A100() {
  Hardware hardware{.id = "nvidia-a100-sxm-80gb",
                    .memory_capacity = Gibibytes(80),
                    .memory_bandwidth = GigabytesPerSecond(2039),
                    .interconnect = GigabytesPerSecond(300),
                    .devices_per_node = 8,
                    .scale_out = GigabytesPerSecond(25)};
  hardware.peak.fp32 = Teraflops(19.5);
  hardware.peak.bf16 = hardware.peak.fp16 = Teraflops(312);
  return hardware;
}

// A device on which only matrix products and prefill attention take time: FLOPs over 100 TFLOP/s.
inline Hardware ArithmeticOnly() {
  Hardware hardware = A100();
  hardware.memory_bandwidth = BytesPerSecond(1e30);
  hardware.interconnect = BytesPerSecond(1e30);
  hardware.peak.fp32 = FlopsPerSecond(1e30);
  hardware.peak.bf16 = Teraflops(100);
  return hardware;
}

// A static batch of bf16 on one device.
inline Scenario MakeScenario(const Model& model, const Hardware& hardware, int batch, int prompt, int output) {
  Scenario scenario{.model = &model, .hardware = &hardware};
  scenario.workload = {.batch_size = batch, .prompt_tokens = prompt, .output_tokens = output};
  ResolveDtypes(model, scenario.deployment);
  return scenario;
}

// The generic prior where requests come as tokens, so that a server does nothing before the engine.
inline Efficiencies FedTokens() {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission_per_token = Seconds(0);
  return efficiencies;
}

// The estimate, or a failed check.
inline Estimate MustEstimate(const Scenario& scenario, const Detail& detail = {}) {
  const absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario, detail);
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_FIXTURES_H_

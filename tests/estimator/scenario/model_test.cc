#include "estimator/scenario/model.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace foretoken {
namespace {

// A model of heads x head size = hidden size, with RMSNorm and a gated MLP, before what makes it special.
Model Decoder(int layers, int hidden, int heads, int kv_heads, int mlp, int vocab) {
  Model model;
  model.num_hidden_layers = layers;
  model.hidden_size = hidden;
  model.num_attention_heads = heads;
  model.num_key_value_heads = kv_heads;
  model.head_dim = hidden / heads;
  model.intermediate_size = mlp;
  model.vocab_size = vocab;
  return model;
}

Model Llama31_8B() { return Decoder(32, 4096, 32, 8, 14336, 128256); }

Model Qwen25_7B() {
  Model model = Decoder(28, 3584, 28, 4, 18944, 152064);
  model.qkv_bias = true;
  return model;
}

Model Qwen3_8B() {
  Model model = Decoder(36, 4096, 32, 8, 12288, 151936);
  model.qk_norm = QkNorm::kPerHead;
  return model;
}

Model Olmo2_7B() {
  Model model = Decoder(32, 4096, 32, 32, 11008, 100352);
  model.qk_norm = QkNorm::kFull;
  return model;
}

Model Gemma2_2B() {
  Model model = Decoder(26, 2304, 8, 4, 9216, 256000);
  model.head_dim = 256;  // heads * head_dim is not hidden_size
  model.norms_per_layer = 4;
  model.tie_word_embeddings = true;
  return model;
}

Model Biased(Model model) {
  model.mlp_matrices = 2;
  model.norm_type = NormType::kLayerNorm;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

Model Bloom7B1() {
  Model model = Biased(Decoder(30, 4096, 32, 32, 16384, 250880));
  model.tie_word_embeddings = true;
  model.embedding_norm = true;
  return model;
}

Model Phi2() {
  Model model = Biased(Decoder(32, 2560, 32, 32, 10240, 51200));
  model.norms_per_layer = 1;
  model.lm_head_bias = true;
  return model;
}

Model Mixtral8x7B() {
  Model model = Decoder(32, 4096, 32, 8, 14336, 32000);
  model.mixture_of_experts = {.num_experts = 8, .num_experts_per_tok = 2, .moe_intermediate_size = 14336};
  return model;
}

Model GptOss20B() {
  Model model = Decoder(24, 2880, 64, 8, 2880, 201088);
  model.head_dim = 64;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.attention_sinks = true;
  model.mixture_of_experts = {
      .num_experts = 32, .num_experts_per_tok = 4, .moe_intermediate_size = 2880, .router_bias = true};
  return model;
}

Model Qwen15Moe() {
  Model model = Decoder(24, 2048, 16, 16, 5632, 151936);
  model.qkv_bias = true;
  model.mixture_of_experts = {.num_experts = 60,
                              .num_experts_per_tok = 4,
                              .moe_intermediate_size = 1408,
                              .num_shared_experts = 1,
                              .shared_expert_intermediate_size = 5632,
                              .shared_expert_gate = true};
  return model;
}

Model DeepSeekV2Lite() {
  Model model = Decoder(27, 2048, 16, 16, 10944, 102400);
  model.latent_attention = {.q_lora_rank = std::nullopt,
                            .kv_lora_rank = 512,
                            .qk_rope_head_dim = 64,
                            .qk_nope_head_dim = 128,
                            .v_head_dim = 128};
  model.mixture_of_experts = {.num_experts = 64,
                              .num_experts_per_tok = 6,
                              .moe_intermediate_size = 1408,
                              .num_shared_experts = 2,
                              .shared_expert_intermediate_size = 2816,
                              .first_k_dense_replace = 1,
                              .dense_intermediate_size = 10944};
  return model;
}

Model DeepSeekV3() {
  Model model = Decoder(61, 7168, 128, 128, 18432, 129280);
  model.latent_attention = {
      .q_lora_rank = 1536, .kv_lora_rank = 512, .qk_rope_head_dim = 64, .qk_nope_head_dim = 128, .v_head_dim = 128};
  model.mixture_of_experts = {.num_experts = 256,
                              .num_experts_per_tok = 8,
                              .moe_intermediate_size = 2048,
                              .num_shared_experts = 1,
                              .shared_expert_intermediate_size = 2048,
                              .first_k_dense_replace = 3,
                              .dense_intermediate_size = 18432,
                              .router_bias = true};
  return model;
}

// Sources: [HUB] Hugging Face Hub API, safetensors.total; [DOC] Hugging Face documentation and model cards;
// [FW] Fireworks AI model catalogue.
TEST(CountParametersTest, GivesThePublishedCountToTheLastParameter) {
  const struct Case {
    std::string name;
    Model model;
    double want;
  } kCases[] = {
      {"Llama 3.1 8B [HUB]: grouped queries", Llama31_8B(), 8'030'261'248},
      {"Qwen2.5 7B [HUB]: biases of queries, keys, values", Qwen25_7B(), 7'615'616'512},
      {"Qwen3 8B [HUB]: q/k norms per head", Qwen3_8B(), 8'190'735'360},
      {"OLMo 2 7B [HUB]: q/k norms over the projection", Olmo2_7B(), 7'298'617'344},
      {"Gemma 2 2B [HUB]: four norms, tied embedding, wide heads", Gemma2_2B(), 2'614'341'888},
      {"BLOOM 7B1 [DOC]: all biases, two matrices, norm of the embedding", Bloom7B1(), 7'069'016'064},
      {"Phi-2 [DOC]: one norm, bias of the LM head", Phi2(), 2'779'683'840},
      {"Mixtral 8x7B [HUB]: experts", Mixtral8x7B(), 46'702'792'704},
      {"gpt-oss-20b [HUB]: biased experts and router, sinks", GptOss20B(), 20'914'757'184},
      {"Qwen1.5-MoE-A2.7B [HUB]: gated shared expert", Qwen15Moe(), 14'315'784'192},
      {"DeepSeek-V2-Lite [HUB]: latent attention, one dense layer", DeepSeekV2Lite(), 15'706'484'224},
      {"DeepSeek-V3 [FW]: latent queries, router bias", DeepSeekV3(), 671'026'419'200},
  };
  for (const auto& [name, model, want] : kCases) {
    EXPECT_EQ(CountParameters(model).Total(), want) << name;
  }
}

TEST(CountParametersTest, ActiveCountsChosenAndSharedExpertsOnly) {
  // Mixtral: 6 of 8 experts of 3 x 4096 x 14336 rest in each of 32 layers.
  const ParameterCounts mixtral = CountParameters(Mixtral8x7B());
  EXPECT_EQ(mixtral.Active(), 46'702'792'704 - 32.0 * 6 * 3 * 4096 * 14336);
  // DeepSeek-V3: published as 37B; 248 of 256 experts of 3 x 7168 x 2048 rest in each of 58 layers.
  const ParameterCounts deepseek = CountParameters(DeepSeekV3());
  EXPECT_EQ(deepseek.Active(), 671'026'419'200 - 58.0 * 248 * 3 * 7168 * 2048);
}

TEST(CountParametersTest, ActiveIsTotalWithoutExperts) {
  const ParameterCounts counts = CountParameters(Llama31_8B());
  EXPECT_EQ(counts.Active(), counts.Total());
}

TEST(CountParametersTest, PartsAreThoseOfTheHeadersExample) {
  const ParameterCounts counts = CountParameters(Llama31_8B());
  EXPECT_EQ(counts.attention, 32 * 41'943'040.0);   // 4096 * (4096 + 2 * 1024 + 4096)
  EXPECT_EQ(counts.dense_mlp_per_layer, 176'160'768);  // 3 * 4096 * 14336
  EXPECT_EQ(counts.norms_per_layer, 8'192);            // 2 * 4096
  EXPECT_EQ(counts.embedding, 525'336'576);            // 128256 * 4096
  EXPECT_EQ(counts.lm_head, 525'336'576);
  EXPECT_EQ(counts.final_norm, 4'096);
}

TEST(CountParametersTest, DenseLayersInterleaveWithMoeLayers) {
  Model model = Mixtral8x7B();
  model.mixture_of_experts->moe_layer_freq = 2;
  model.mixture_of_experts->dense_intermediate_size = 16384;
  const ParameterCounts counts = CountParameters(model);
  EXPECT_EQ(counts.moe_layers, 16);
  EXPECT_EQ(counts.dense_layers, 16);
  EXPECT_EQ(counts.dense_mlp_per_layer, 3.0 * 4096 * 16384);
}

TEST(CountParametersTest, NormsCountTheVectorsTheyHave) {
  Model model = Llama31_8B();
  const struct Case {
    NormType type;
    double vectors;
  } kCases[] = {{NormType::kRmsNorm, 1},
                {NormType::kLayerNorm, 2},
                {NormType::kLayerNormNoBias, 1},
                {NormType::kNonParametric, 0}};
  for (const auto& [type, vectors] : kCases) {
    model.norm_type = type;
    EXPECT_EQ(CountParameters(model).final_norm, vectors * 4096);
    EXPECT_EQ(CountParameters(model).norms_per_layer, vectors * 2 * 4096);
  }
}

TEST(CountParametersTest, LearnedPositionsAndTiedHead) {
  Model model = Llama31_8B();
  const double before = CountParameters(model).Total();
  model.learned_position_rows = 2050;
  EXPECT_EQ(CountParameters(model).Total(), before + 2050.0 * 4096);
  model.tie_word_embeddings = true;
  EXPECT_EQ(CountParameters(model).lm_head, 0);
}

}  // namespace
}  // namespace foretoken

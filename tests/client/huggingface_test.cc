// Real config.json files, shortened, against the entries of the catalog that ships.
#include "client/cli/huggingface.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace foretoken::cli {
namespace {

using testing::HasSubstr;

struct Config {
  const char* catalog_id;
  const char* json;
};

constexpr Config kConfigs[] = {
    {"llama-3.1-8b",
     R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
         "eos_token_id": [128001, 128008], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
         "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
         "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
         "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0,
         "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})"},
    {"mistral-7b-v0.1",
     R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
         "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "sliding_window": 4096,
         "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 32000})"},
    {"mixtral-8x7b",
     R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
         "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
         "num_local_experts": 8, "output_router_logits": false, "router_aux_loss_coef": 0.02, "sliding_window": null,
         "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 32000})"},
    {"qwen2.5-7b",
     R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 131072,
         "max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
         "sliding_window": 131072, "use_sliding_window": false, "use_mrope": false, "tie_word_embeddings": false,
         "torch_dtype": "bfloat16", "vocab_size": 152064})"},
    {"qwen3-8b",
     R"({"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_size": 4096, "intermediate_size": 12288,
         "max_position_embeddings": 40960, "max_window_layers": 36, "num_attention_heads": 32, "num_hidden_layers": 36,
         "num_key_value_heads": 8, "sliding_window": null, "use_sliding_window": false, "tie_word_embeddings": false,
         "torch_dtype": "bfloat16", "vocab_size": 151936})"},
    {"qwen3-30b-a3b",
     R"({"model_type": "qwen3_moe", "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128,
         "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960, "max_window_layers": 48,
         "mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32,
         "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
         "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 151936})"},
    {"qwen2-57b-a14b",
     R"({"model_type": "qwen2_moe", "decoder_sparse_step": 1, "hidden_size": 3584, "intermediate_size": 18944,
         "max_position_embeddings": 131072, "max_window_layers": 28, "moe_intermediate_size": 2560,
         "norm_topk_prob": false, "num_attention_heads": 28, "num_experts": 64, "num_experts_per_tok": 8,
         "num_hidden_layers": 28, "num_key_value_heads": 4, "shared_expert_intermediate_size": 20480,
         "sliding_window": 65536, "use_sliding_window": false, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
         "vocab_size": 151936})"},
    {"gemma-7b",
     R"({"model_type": "gemma", "attention_bias": false, "head_dim": 256, "hidden_act": "gelu", "hidden_size": 3072,
         "intermediate_size": 24576, "max_position_embeddings": 8192, "num_attention_heads": 16,
         "num_hidden_layers": 28, "num_key_value_heads": 16, "torch_dtype": "bfloat16", "vocab_size": 256000})"},
    {"gemma-2-9b",
     R"({"model_type": "gemma2", "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "head_dim": 256,
         "hidden_size": 3584, "intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 16,
         "num_hidden_layers": 42, "num_key_value_heads": 8, "query_pre_attn_scalar": 224, "sliding_window": 4096,
         "torch_dtype": "bfloat16", "vocab_size": 256000})"},
    {"gemma-3-1b",
     R"({"model_type": "gemma3_text", "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
         "intermediate_size": 6912, "max_position_embeddings": 32768, "num_attention_heads": 4, "num_hidden_layers": 26,
         "num_key_value_heads": 1, "rope_local_base_freq": 10000, "sliding_window": 512, "sliding_window_pattern": 6,
         "torch_dtype": "bfloat16", "vocab_size": 262144})"},
    {"phi-2",
     R"({"model_type": "phi", "hidden_act": "gelu_new", "hidden_size": 2560, "intermediate_size": 10240,
         "max_position_embeddings": 2048, "num_attention_heads": 32, "num_hidden_layers": 32,
         "num_key_value_heads": 32, "partial_rotary_factor": 0.4, "qk_layernorm": false, "resid_pdrop": 0.1,
         "tie_word_embeddings": false, "torch_dtype": "float16", "vocab_size": 51200})"},
    {"gpt-neox-20b",
     R"({"model_type": "gpt_neox", "hidden_act": "gelu_fast", "hidden_size": 6144, "intermediate_size": 24576,
         "max_position_embeddings": 2048, "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_emb_base": 10000,
         "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16", "use_parallel_residual": true,
         "vocab_size": 50432})"},
    {"falcon-7b",
     R"({"model_type": "falcon", "alibi": false, "apply_residual_connection_post_layernorm": false, "bias": false,
         "hidden_size": 4544, "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71,
         "num_hidden_layers": 32, "parallel_attn": true, "torch_dtype": "bfloat16", "vocab_size": 65024})"},
    {"falcon-40b",
     R"({"model_type": "falcon", "alibi": false, "apply_residual_connection_post_layernorm": false, "bias": false,
         "hidden_size": 8192, "multi_query": true, "new_decoder_architecture": true, "num_attention_heads": 128,
         "num_kv_heads": 8, "num_hidden_layers": 60, "parallel_attn": true, "torch_dtype": "bfloat16",
         "vocab_size": 65024})"},
    {"deepseek-v2-lite",
     R"({"model_type": "deepseek_v2", "attention_bias": false, "aux_loss_alpha": 0.001, "first_k_dense_replace": 1,
         "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512, "max_position_embeddings": 163840,
         "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2,
         "norm_topk_prob": false, "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27,
         "num_key_value_heads": 16, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
         "routed_scaling_factor": 1.0, "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false,
         "topk_group": 1, "topk_method": "greedy", "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 102400})"},
    {"deepseek-v3",
     R"({"model_type": "deepseek_v3", "attention_bias": false, "ep_size": 1, "first_k_dense_replace": 3,
         "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
         "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256,
         "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8,
         "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic",
         "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}, "routed_scaling_factor": 2.5,
         "scoring_func": "sigmoid", "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc",
         "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 129280})"},
    {"kimi-k2",
     R"({"model_type": "kimi_k2", "attention_bias": false, "ep_size": 1, "first_k_dense_replace": 1, "hidden_size": 7168,
         "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 131072,
         "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384,
         "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64, "num_experts_per_tok": 8,
         "num_hidden_layers": 61, "num_key_value_heads": 64, "num_nextn_predict_layers": 0, "q_lora_rank": 1536,
         "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic",
         "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}, "routed_scaling_factor": 2.827,
         "scoring_func": "sigmoid", "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc",
         "torch_dtype": "bfloat16", "v_head_dim": 128, "vocab_size": 163840})"},
    {"glm-4.5-355b-a32b",
     R"({"model_type": "glm4_moe", "attention_bias": true, "head_dim": 128, "hidden_size": 5120,
         "partial_rotary_factor": 0.5, "intermediate_size": 12288, "max_position_embeddings": 131072,
         "moe_intermediate_size": 1536, "norm_topk_prob": true, "num_attention_heads": 96, "n_group": 1,
         "topk_group": 1, "n_routed_experts": 160, "n_shared_experts": 1, "routed_scaling_factor": 2.5,
         "num_experts_per_tok": 8, "first_k_dense_replace": 3, "num_hidden_layers": 92, "num_key_value_heads": 8,
         "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_qk_norm": true,
         "vocab_size": 151552})"},
    {"glm-4.5-air-106b-a12b",
     R"({"model_type": "glm4_moe", "attention_bias": true, "head_dim": 128, "hidden_size": 4096,
         "intermediate_size": 10944, "max_position_embeddings": 131072, "moe_intermediate_size": 1408,
         "num_attention_heads": 96, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
         "first_k_dense_replace": 1, "num_hidden_layers": 46, "num_key_value_heads": 8,
         "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_qk_norm": false, "vocab_size": 151552})"},
    {"minimax-m2",
     R"({"model_type": "minimax_m2", "attn_type_list": [1, 1], "head_dim": 128, "hidden_size": 3072,
         "intermediate_size": 1536, "max_position_embeddings": 196608, "mlp_intermediate_size": 8192,
         "mtp_transformer_layers": 1, "num_attention_heads": 48, "num_experts_per_tok": 8, "num_hidden_layers": 62,
         "num_key_value_heads": 8, "num_local_experts": 256, "num_mtp_modules": 3, "qk_norm_type": "per_layer",
         "quantization_config": {"activation_scheme": "dynamic", "fmt": "float8_e4m3fn", "quant_method": "fp8",
         "weight_block_size": [128, 128]}, "rotary_dim": 64, "scoring_func": "sigmoid", "shared_intermediate_size": 0,
         "tie_word_embeddings": false, "use_mtp": true, "use_qk_norm": true, "use_routing_bias": true,
         "vocab_size": 200064})"},
    {"gpt-oss-20b",
     R"({"model_type": "gpt_oss", "attention_bias": true, "experts_per_token": 4, "head_dim": 64, "hidden_size": 2880,
         "initial_context_length": 4096, "intermediate_size": 2880, "max_position_embeddings": 131072,
         "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 8,
         "num_local_experts": 32, "quantization_config": {"modules_to_not_convert": ["lm_head"],
         "quant_method": "mxfp4"}, "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0,
         "tie_word_embeddings": false, "vocab_size": 201088})"},
    // A window that the context never fills, and fields that Transformers does not read.
    {"phi-4-mini",
     R"({"model_type": "phi3", "attention_bias": false, "full_attn_mod": 1, "hidden_size": 3072,
         "intermediate_size": 8192, "interpolate_factor": 1, "max_position_embeddings": 131072,
         "num_attention_heads": 24, "num_hidden_layers": 32, "num_key_value_heads": 8, "partial_rotary_factor": 0.75,
         "sliding_window": 262144, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 200064})"},
    // As newer versions of Transformers write them.
    {"qwen3-0.6b",
     R"({"model_type": "qwen3", "attention_bias": false, "dtype": "bfloat16", "head_dim": 128, "hidden_size": 1024,
         "intermediate_size": 3072, "layer_types": ["full_attention", "full_attention"],
         "max_position_embeddings": 40960, "max_window_layers": 28, "num_attention_heads": 16, "num_hidden_layers": 28,
         "num_key_value_heads": 8, "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"},
         "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})"},
    {"qwen3-30b-a3b",
     R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "dtype": "bfloat16", "head_dim": 128, "hidden_size": 2048,
         "intermediate_size": 6144, "max_position_embeddings": 40960, "mlp_only_layers": [],
         "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts_per_tok": 8, "num_hidden_layers": 48,
         "num_key_value_heads": 4, "num_local_experts": 128, "qkv_bias": false, "shared_expert_intermediate_size": 0,
         "tie_word_embeddings": false, "use_qk_norm": true, "vocab_size": 151936})"},
    {"gemma-2-9b",
     R"({"model_type": "gemma2", "head_dim": 256, "hidden_size": 3584, "intermediate_size": 14336,
         "max_position_embeddings": 8192, "num_attention_heads": 16, "num_hidden_layers": 42, "num_key_value_heads": 8,
         "sliding_window": 4096, "sliding_window_size": 4096, "torch_dtype": "bfloat16", "vocab_size": 256000})"},
    {"gemma-3-1b",
     R"({"model_type": "gemma3_text", "_sliding_window_pattern": 6, "head_dim": 256, "hidden_size": 1152,
         "intermediate_size": 6912, "max_position_embeddings": 32768, "num_attention_heads": 4, "num_hidden_layers": 26,
         "num_key_value_heads": 1, "sliding_window": 512, "dtype": "bfloat16", "use_bidirectional_attention": false,
         "vocab_size": 262144})"},
};

v1::ModelSpec CatalogEntry(const std::string& id) {
  std::ifstream file(std::string(FORETOKEN_SOURCE_DIR) + "/catalogs/models/" + id + ".textproto");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  v1::ModelSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << id;
  return spec;
}

// Without what a config.json does not say, and with what it says by silence spelled out.
v1::ModelSpec Comparable(v1::ModelSpec spec) {
  for (const char* field : {"id", "hf_id", "family", "parameter_count", "active_parameter_count", "sources", "notes",
                            "unsupported_reason"}) {
    spec.GetReflection()->ClearField(&spec, spec.GetDescriptor()->FindFieldByName(field));
  }
  if (spec.attention_type() != v1::ATTENTION_TYPE_MLA) spec.clear_attention_type();
  if (!spec.has_head_dim()) spec.set_head_dim(spec.hidden_size() / spec.num_attention_heads());
  if (spec.attention_type() == v1::ATTENTION_TYPE_MLA) spec.clear_head_dim();
  if (!spec.has_num_key_value_heads()) spec.set_num_key_value_heads(spec.num_attention_heads());
  return spec;
}

TEST(HuggingFaceTest, GivesWhatTheCatalogHas) {
  for (const Config& config : kConfigs) {
    ASSERT_TRUE(IsHuggingFaceConfig(config.json)) << config.catalog_id;
    const auto spec = ModelFromHuggingFace(config.json, "config.json", {});
    ASSERT_TRUE(spec.ok()) << config.catalog_id << ": " << spec.status();
    v1::ModelSpec got = Comparable(*spec);
    const v1::ModelSpec want = Comparable(CatalogEntry(config.catalog_id));
    if (!got.has_max_position_embeddings()) got.set_max_position_embeddings(want.max_position_embeddings());
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(want, got)) << config.catalog_id << "\n" << differences;
  }
}

TEST(HuggingFaceTest, Gpt2) {
  const auto spec = ModelFromHuggingFace(
      R"({"model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
          "activation_function": "gelu_new", "resid_pdrop": 0.1, "vocab_size": 50257})",
      "config.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->intermediate_size(), 3072);
  EXPECT_EQ(spec->learned_position_rows(), 1024);
  EXPECT_TRUE(spec->tie_word_embeddings());
  EXPECT_EQ(spec->mlp_matrices(), 2);
  EXPECT_EQ(spec->norm_type(), v1::NORM_TYPE_LAYERNORM);
}

constexpr char kLlama[] =
    R"("model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
       "num_hidden_layers": 2, "vocab_size": 100)";

TEST(HuggingFaceTest, WhatIsNotUnderstoodIsNamed) {
  struct Case {
    const char* name;
    std::string json;
    const char* want;
  };
  const std::string llama = kLlama;
  const Case cases[] = {
      {"another architecture", R"({"model_type": "mamba"})", "model_type \"mamba\"; allowed: deepseek_v2"},
      {"a new field", "{" + llama + R"(, "num_memory_tokens": 4})", "num_memory_tokens: is not understood"},
      {"two of them", "{" + llama + R"(, "b_new": 4, "a_new": "x"})",
       "a_new: is not understood; b_new: is not understood"},
      {"a missing field", R"({"model_type": "llama", "hidden_size": 64})", "num_hidden_layers: is missing"},
      {"a field of the wrong kind", "{" + llama + R"(, "num_key_value_heads": "two"})",
       "num_key_value_heads: a whole number is needed"},
      {"quantisation", "{" + llama + R"(, "quantization_config": {"quant_method": "awq"}})",
       "quantization_config.quant_method: \"awq\"; allowed: fp8, and mxfp4 of experts"},
      {"experts' quantisation without experts", "{" + llama + R"(, "quantization_config": {"quant_method": "mxfp4"}})",
       "quantization_config.quant_method: \"mxfp4\"; allowed: fp8, and mxfp4 of experts"},
      {"a kind of layer",
       R"({"model_type": "qwen3", "layer_types": ["full_attention", "linear_attention"], "hidden_size": 64})",
       "layer_types: \"linear_attention\"; allowed: full_attention, sliding_attention"},
      {"a dtype", "{" + llama + R"(, "torch_dtype": "float8"})", "torch_dtype: \"float8\"; allowed: bfloat16"},
      {"not JSON", "{\"model_type\": ", "config.json: "},
  };
  for (const Case& c : cases) {
    const absl::Status status = ModelFromHuggingFace(c.json, "config.json", {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.want)) << c.name;
  }
}

TEST(HuggingFaceTest, LayerTypesCountTheLayersThatSeeEverything) {
  const auto spec = ModelFromHuggingFace(
      R"({"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
          "num_hidden_layers": 3, "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
          "max_window_layers": 2, "use_sliding_window": true, "sliding_window": 512, "vocab_size": 100})",
      "config.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->sliding_window().window_tokens(), 512);
  EXPECT_EQ(spec->sliding_window().num_full_attention_layers(), 1);
}

TEST(HuggingFaceTest, WhatIsSwitchedOffOrVouchedForIsFine) {
  const std::string llama = kLlama;
  EXPECT_TRUE(
      ModelFromHuggingFace("{" + llama + R"(, "new_switch": false, "new_list": [], "new_null": null})", "c", {}).ok());
  EXPECT_TRUE(ModelFromHuggingFace("{" + llama + R"(, "mystery": 4})", "c", {"mystery"}).ok());
}

TEST(HuggingFaceTest, AModelSpecIsNotAConfig) {
  EXPECT_FALSE(IsHuggingFaceConfig(R"({"id": "m", "hidden_size": 64})"));
  EXPECT_FALSE(IsHuggingFaceConfig("id: \"m\""));
}

}  // namespace
}  // namespace foretoken::cli

// The config.json of each architecture with layers of several kinds gives the entry of the catalog, whose parameter
// count is checked against the architecture when the catalog is read.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/huggingface/huggingface.h"
#include "tests/paths.h"

namespace foretoken::cli {
namespace {

using testing::HasSubstr;

// `times` times the entries of a JSON list.
std::string Times(int times, const std::string& entries) {
  return absl::StrJoin(std::vector<std::string>(static_cast<size_t>(times), entries), ", ");
}

std::string Linear(const char* name) { return absl::StrCat("\"", name, "_attention\""); }

const std::string kThreeOfFour = absl::StrCat(Times(3, Linear("linear")), ", ", Linear("full"));
const std::string kFiveOfSix = absl::StrCat(Times(5, Linear("sliding")), ", ", Linear("full"));
const std::string kFourOfFive = absl::StrCat(Times(4, Linear("sliding")), ", ", Linear("full"));
const std::string kFourOfForty =
    absl::StrCat(Times(5, "\"mamba\""), ", \"attention\", ",
                 Times(3, absl::StrCat(Times(9, "\"mamba\""), ", \"attention\"")), ", ", Times(4, "\"mamba\""));

struct Config {
  const char* catalog_id;
  std::string json;
};

std::vector<Config> Recurrent() {
  return {
      {"qwen3-next-80b-a3b",
       R"({"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "decoder_sparse_step": 1,
           "full_attention_interval": 4, "head_dim": 256, "hidden_size": 2048, "intermediate_size": 5120,
           "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
           "linear_num_value_heads": 32, "linear_value_head_dim": 128, "max_position_embeddings": 262144,
           "mlp_only_layers": [], "moe_intermediate_size": 512, "norm_topk_prob": true, "num_attention_heads": 16,
           "num_experts": 512, "num_experts_per_tok": 10, "num_hidden_layers": 48, "num_key_value_heads": 2,
           "partial_rotary_factor": 0.25, "rope_theta": 10000000, "router_aux_loss_coef": 0.001,
           "shared_expert_intermediate_size": 512, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
           "use_sliding_window": false, "vocab_size": 151936})"},
      {"qwen3.5-397b-a17b",
       absl::StrCat(R"({"model_type": "qwen3_5_moe", "image_token_id": 248056, "tie_word_embeddings": false,
           "text_config": {"model_type": "qwen3_5_moe_text", "attention_bias": false, "attn_output_gate": true,
           "dtype": "bfloat16", "full_attention_interval": 4, "head_dim": 256, "hidden_size": 4096, "layer_types": [)",
                    Times(15, kThreeOfFour), R"(], "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
           "linear_num_key_heads": 16, "linear_num_value_heads": 64, "linear_value_head_dim": 128,
           "max_position_embeddings": 262144, "mlp_only_layers": [], "moe_intermediate_size": 1024,
           "mtp_num_hidden_layers": 1, "num_attention_heads": 32, "num_experts": 512, "num_experts_per_tok": 10,
           "num_hidden_layers": 60, "num_key_value_heads": 2, "shared_expert_intermediate_size": 1024,
           "vocab_size": 248320}, "vision_config": {"depth": 27, "hidden_size": 1152},
           "vision_end_token_id": 248054})")},
      {"qwen3.5-0.8b",
       absl::StrCat(R"({"model_type": "qwen3_5_text", "attn_output_gate": true, "dtype": "bfloat16", "head_dim": 256,
           "hidden_size": 1024, "intermediate_size": 3584, "layer_types": [)",
                    Times(6, kThreeOfFour), R"(], "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
           "linear_num_key_heads": 16, "linear_num_value_heads": 16, "linear_value_head_dim": 128,
           "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144, "num_attention_heads": 8,
           "num_hidden_layers": 24, "num_key_value_heads": 2, "tie_word_embeddings": true, "vocab_size": 248320})")},
      {"nemotron-3-nano-30b-a3b",
       R"({"model_type": "nemotron_h", "attention_bias": false, "chunk_size": 128, "conv_kernel": 4, "expand": 2,
           "head_dim": 128, "hidden_size": 2688,
           "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
           "intermediate_size": 1856, "mamba_head_dim": 64, "mamba_hidden_act": "silu", "mamba_num_heads": 64,
           "mamba_proj_bias": false, "mamba_ssm_cache_dtype": "float32", "max_position_embeddings": 262144,
           "mlp_hidden_act": "relu2", "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
           "n_groups": 8, "n_routed_experts": 128, "n_shared_experts": 1, "norm_topk_prob": true,
           "num_attention_heads": 32, "num_experts_per_tok": 6, "num_hidden_layers": 52, "num_key_value_heads": 2,
           "ssm_state_size": 128, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_conv_bias": true,
           "vocab_size": 131072})"},
      {"nemotron-h-56b",
       R"({"model_type": "nemotron_h", "attention_head_dim": 128, "chunk_size": 128, "conv_kernel": 4,
           "hidden_size": 8192, "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
           "intermediate_size": 32768, "mamba_head_dim": 64, "mamba_num_heads": 256, "max_position_embeddings": 8192,
           "mlp_hidden_act": "relu2", "n_groups": 8, "num_attention_heads": 64, "num_hidden_layers": 118,
           "num_key_value_heads": 8, "ssm_state_size": 256, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
           "vocab_size": 131072})"},
      {"kimi-linear-48b-a3b",
       R"({"model_type": "kimi_linear", "first_k_dense_replace": 1, "head_dim": 72, "hidden_act": "silu",
           "hidden_size": 2304, "intermediate_size": 9216, "kv_lora_rank": 512, "linear_attn_config": {"full_attn_layers":
           [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18,
           19, 21, 22, 23, 25, 26], "num_heads": 32, "short_conv_kernel_size": 4}, "mla_use_nope": true,
           "max_position_embeddings": 1048576, "moe_intermediate_size": 1024, "moe_layer_freq": 1,
           "moe_renormalize": true, "moe_router_activation_func": "sigmoid", "num_attention_heads": 32,
           "num_expert_group": 1, "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27,
           "num_key_value_heads": 32, "num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "routed_scaling_factor": 2.446, "tie_word_embeddings": false, "topk_group": 1,
           "torch_dtype": "bfloat16", "use_grouped_topk": true, "v_head_dim": 128, "vocab_size": 163840})"},
      {"granite-4.0-h-small",
       absl::StrCat(R"({"model_type": "granitemoehybrid", "attention_multiplier": 0.0078125, "embedding_multiplier": 12,
           "hidden_size": 4096, "intermediate_size": 768, "layer_types": [)",
                    kFourOfForty, R"(], "logits_scaling": 16, "mamba_chunk_size": 256, "mamba_conv_bias": true,
           "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1,
           "mamba_n_heads": 128, "mamba_proj_bias": false, "max_position_embeddings": 131072,
           "normalization_function": "rmsnorm", "num_attention_heads": 32, "num_experts_per_tok": 10,
           "num_hidden_layers": 40, "num_key_value_heads": 8, "num_local_experts": 72,
           "position_embedding_type": "nope", "residual_multiplier": 0.22, "shared_intermediate_size": 1536,
           "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 100352})")},
      {"granite-4.0-h-micro",
       absl::StrCat(
           R"({"model_type": "granitemoehybrid", "hidden_size": 2048, "intermediate_size": 8192, "layer_types": [)",
           kFourOfForty, R"(], "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_d_conv": 4,
           "mamba_d_head": 64, "mamba_d_state": 128, "mamba_expand": 2, "mamba_n_groups": 1, "mamba_n_heads": 64,
           "max_position_embeddings": 131072, "num_attention_heads": 32, "num_experts_per_tok": 0,
           "num_hidden_layers": 40, "num_key_value_heads": 8, "num_local_experts": 0, "shared_intermediate_size": 8192,
           "tie_word_embeddings": true, "torch_dtype": "bfloat16", "vocab_size": 100352})")},
      {"falcon-h1-7b",
       R"({"model_type": "falcon_h1", "head_dim": 128, "hidden_size": 3072, "intermediate_size": 12288,
           "key_multiplier": 0.5, "mamba_chunk_size": 128, "mamba_conv_bias": true, "mamba_d_conv": 4,
           "mamba_d_head": 128, "mamba_d_ssm": 3072, "mamba_d_state": 256, "mamba_expand": 2, "mamba_n_groups": 1,
           "mamba_n_heads": 24, "mamba_norm_before_gate": false, "mamba_rms_norm": false,
           "max_position_embeddings": 262144, "num_attention_heads": 12, "num_hidden_layers": 44,
           "num_key_value_heads": 2, "projectors_bias": false, "tie_word_embeddings": false,
           "torch_dtype": "bfloat16", "vocab_size": 130048})"},
  };
}

std::vector<Config> Sparse() {
  const std::string flash = absl::StrCat("0, 0, ", Times(20, "4, 128"), ", 4, 0");
  return {
      {"deepseek-v3.2",
       R"({"model_type": "deepseek_v32", "attention_bias": false, "first_k_dense_replace": 3, "hidden_size": 7168,
           "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048, "intermediate_size": 18432,
           "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
           "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
           "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "q_lora_rank": 1536,
           "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"quant_method": "fp8",
           "weight_block_size": [128, 128]}, "tie_word_embeddings": false, "v_head_dim": 128, "vocab_size": 129280})"},
      {"glm-5",
       R"({"model_type": "glm_moe_dsa", "attention_bias": false, "first_k_dense_replace": 3, "head_dim": 64,
           "hidden_size": 6144, "index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048,
           "indexer_rope_interleave": true, "intermediate_size": 12288, "kv_lora_rank": 512,
           "max_position_embeddings": 202752, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
           "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8,
           "num_hidden_layers": 78, "num_key_value_heads": 64, "q_lora_rank": 2048, "qk_head_dim": 256,
           "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
           "v_head_dim": 256, "vocab_size": 154880})"},
      {"deepseek-v4-flash",
       absl::StrCat(R"({"model_type": "deepseek_v4", "attention_bias": false, "compress_ratios": [)", flash,
                    R"(], "compress_rope_theta": 160000, "expert_dtype": "fp4", "hc_eps": 1e-06, "hc_mult": 4,
           "hc_sinkhorn_iters": 20, "head_dim": 512, "hidden_size": 4096, "index_head_dim": 128, "index_n_heads": 64,
           "index_topk": 512, "max_position_embeddings": 1048576, "moe_intermediate_size": 2048,
           "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 6,
           "num_hash_layers": 3, "num_hidden_layers": 43, "num_key_value_heads": 1, "num_nextn_predict_layers": 1,
           "o_groups": 8, "o_lora_rank": 1024, "q_lora_rank": 1024, "qk_rope_head_dim": 64, "quantization_config":
           {"quant_method": "fp8", "weight_block_size": [128, 128]}, "sliding_window": 128, "swiglu_limit": 10.0,
           "tie_word_embeddings": false, "vocab_size": 129280})")},
      {"gemma-4-31b",
       absl::StrCat(
           R"({"model_type": "gemma4", "boi_token_id": 255999, "audio_config": null, "tie_word_embeddings": true,
           "text_config": {"model_type": "gemma4_text", "attention_bias": false, "attention_k_eq_v": true,
           "dtype": "bfloat16", "enable_moe_block": false, "final_logit_softcapping": 30.0, "global_head_dim": 512,
           "head_dim": 256, "hidden_size": 5376, "hidden_size_per_layer_input": 0, "intermediate_size": 21504,
           "layer_types": [)",
           Times(10, kFiveOfSix), R"(], "max_position_embeddings": 262144, "num_attention_heads": 32,
           "num_global_key_value_heads": 4, "num_hidden_layers": 60, "num_key_value_heads": 16,
           "num_kv_shared_layers": 0, "sliding_window": 1024, "use_bidirectional_attention": "vision",
           "use_double_wide_mlp": false, "vocab_size": 262144, "vocab_size_per_layer_input": 262144},
           "vision_config": {"hidden_size": 1152}})")},
      {"gemma-4-26b-a4b",
       absl::StrCat(R"({"model_type": "gemma4_text", "attention_k_eq_v": true, "dtype": "bfloat16",
           "enable_moe_block": true, "global_head_dim": 512, "head_dim": 256, "hidden_size": 2816,
           "hidden_size_per_layer_input": 0, "intermediate_size": 2112, "layer_types": [)",
                    Times(5, kFiveOfSix), R"(], "max_position_embeddings": 262144, "moe_intermediate_size": 704,
           "num_attention_heads": 16, "num_experts": 128, "num_global_key_value_heads": 2, "num_hidden_layers": 30,
           "num_key_value_heads": 8, "sliding_window": 1024, "top_k_experts": 8, "vocab_size": 262144})")},
      {"gemma-4-e2b",
       absl::StrCat(R"({"model_type": "gemma4_text", "attention_k_eq_v": false, "dtype": "bfloat16",
           "global_head_dim": 512, "head_dim": 256, "hidden_size": 1536, "hidden_size_per_layer_input": 256,
           "intermediate_size": 6144, "layer_types": [)",
                    Times(7, kFourOfFive), R"(], "max_position_embeddings": 131072, "num_attention_heads": 8,
           "num_global_key_value_heads": null, "num_hidden_layers": 35, "num_key_value_heads": 1,
           "num_kv_shared_layers": 20, "sliding_window": 512, "use_double_wide_mlp": true, "vocab_size": 262144,
           "vocab_size_per_layer_input": 262144})")},
  };
}

// Without what a config.json does not say, and with what it says by silence spelled out.
v1::ModelSpec Comparable(v1::ModelSpec spec) {
  for (const char* field : {"id", "hf_id", "aliases", "family", "parameter_count", "active_parameter_count", "sources",
                            "notes", "unsupported_reason"}) {
    spec.GetReflection()->ClearField(&spec, spec.GetDescriptor()->FindFieldByName(field));
  }
  if (spec.attention_type() == v1::ATTENTION_TYPE_MLA) {
    spec.clear_head_dim();
  } else {
    spec.clear_attention_type();
    if (!spec.has_head_dim()) spec.set_head_dim(spec.hidden_size() / spec.num_attention_heads());
  }
  return spec;
}

v1::ModelSpec CatalogEntry(const std::string& id) {
  std::ifstream file(SourcePath("catalogs/models/") + id + ".textproto");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  v1::ModelSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << id;
  return spec;
}

void ExpectEntries(const std::vector<Config>& configs) {
  for (const Config& config : configs) {
    const auto spec = ModelFromHuggingFace(config.json, "config.json", {});
    ASSERT_TRUE(spec.ok()) << config.catalog_id << ": " << spec.status();
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(Comparable(CatalogEntry(config.catalog_id)), Comparable(*spec)))
        << config.catalog_id << "\n"
        << differences;
  }
}

TEST(HuggingFaceMixedTest, RecurrentLayersAreWhatTheCatalogHas) { ExpectEntries(Recurrent()); }
TEST(HuggingFaceMixedTest, SparseAttentionIsWhatTheCatalogHas) { ExpectEntries(Sparse()); }

// Where an indexer serves several layers, those that have one are counted.
TEST(HuggingFaceMixedTest, IndexersThatLayersShareAreCounted) {
  std::string json = Sparse()[1].json;
  json.insert(
      1, absl::StrCat(R"("index_topk_freq": 4, "indexer_types": ["full", "full", )", Times(76, "\"shared\""), "], "));
  const auto spec = ModelFromHuggingFace(json, "config.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->sparse_attention().num_indexer_layers(), 2);
}

TEST(HuggingFaceMixedTest, WhatIsNotUnderstoodIsNamed) {
  struct Case {
    const char* name;
    const char* json;
    const char* want;
  };
  const Case cases[] = {
      {"a block of another kind", R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*G"})",
       "hybrid_override_pattern: \"M*G\"; allowed: M, * and one of - and E"},
      {"a recurrence that is not there", R"({"model_type": "kimi_linear"})", "linear_attn_config: is missing"},
      {"a field of the recurrence", R"({"model_type": "kimi_linear", "linear_attn_config": {"new": 1}})",
       "linear_attn_config.new: is not understood"},
      {"a layer of another kind", R"({"model_type": "granitemoehybrid", "layer_types": ["mamba", "rwkv"]})",
       "layer_types: \"rwkv\" is not understood"},
      {"another compression", R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "compress_ratios": [8]})",
       "compress_ratios: allowed: 0, 4, 128"},
      {"a state in another dtype", R"({"model_type": "qwen3_next", "mamba_ssm_dtype": "float8"})",
       "mamba_ssm_dtype: \"float8\"; allowed: float32, bfloat16"},
  };
  for (const Case& c : cases) {
    const absl::Status status = ModelFromHuggingFace(c.json, "config.json", {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.want)) << c.name;
  }
}

}  // namespace
}  // namespace foretoken::cli

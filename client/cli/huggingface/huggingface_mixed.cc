// Families whose layers are of several kinds: recurrence beside attention, blocks of one kind each, attention of two
// shapes, and a choice of the tokens that attention sees.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/huggingface/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

// What all of these have, without the width of an MLP.
void ReadCommon(Config& config, ModelSpec& spec, bool tied) {
  spec.set_hidden_size(config.Int("hidden_size"));
  spec.set_num_attention_heads(config.Int("num_attention_heads"));
  spec.set_num_key_value_heads(config.MaybeInt("num_key_value_heads").value_or(spec.num_attention_heads()));
  if (const auto head = config.MaybeInt("head_dim")) spec.set_head_dim(*head);
  spec.set_vocab_size(config.Int("vocab_size"));
  if (const auto context = config.MaybeInt("max_position_embeddings")) spec.set_max_position_embeddings(*context);
  spec.set_mlp_matrices(3);
  spec.set_norm_type(v1::NORM_TYPE_RMSNORM);
  spec.set_norms_per_layer(2);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", tied));
  config.MustBeOff("attention_bias");
  config.MustBeOff("mlp_bias");
}

// How many entries of a list of layer types are `type`; a type that is not among `known` is a fault.
int32_t CountTypes(Config& config, const std::string& name, const std::vector<std::string>& known,
                   const std::string& type) {
  const std::vector<std::string> types = config.Texts(name);
  for (const std::string& one : types) {
    if (std::find(known.begin(), known.end(), one) != known.end()) continue;
    config.Fault(name, absl::StrCat("\"", one, "\" is not understood"));
    break;
  }
  return static_cast<int32_t>(std::count(types.begin(), types.end(), type));
}

v1::Dtype StateDtype(Config& config, const std::string& name) {
  const std::string dtype = config.Text(name);
  if (dtype.empty() || dtype == "float32") return v1::DTYPE_UNSPECIFIED;
  if (dtype == "bfloat16") return v1::DTYPE_BF16;
  config.Fault(name, absl::StrCat("\"", dtype, "\"; allowed: float32, bfloat16"));
  return v1::DTYPE_UNSPECIFIED;
}

// Every `full_attention_interval`th layer has full attention, unless the types are listed.
void ReadGatedDeltaNet(Config& config, ModelSpec& spec) {
  const int32_t layers = spec.num_hidden_layers();
  v1::LinearAttention& linear = *spec.mutable_linear_attention();
  linear.set_type(v1::LINEAR_ATTENTION_TYPE_GATED_DELTA_NET);
  const int32_t interval = std::max(1, config.MaybeInt("full_attention_interval").value_or(4));
  const int32_t listed = CountTypes(config, "layer_types", {"linear_attention", "full_attention"}, "linear_attention");
  linear.set_num_layers(config.Has("layer_types") ? listed : layers - layers / interval);
  linear.set_num_key_heads(config.Int("linear_num_key_heads"));
  linear.set_num_value_heads(config.Int("linear_num_value_heads"));
  linear.set_key_head_dim(config.Int("linear_key_head_dim"));
  linear.set_value_head_dim(config.Int("linear_value_head_dim"));
  linear.set_conv_kernel_size(config.Int("linear_conv_kernel_dim"));
  linear.set_state_dtype(StateDtype(config, "mamba_ssm_dtype"));
}

void ReadQwen(Config& config, ModelSpec& spec) {
  ReadCommon(config, spec, false);
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
  spec.set_attention_output_gate(config.Bool("attn_output_gate", true));
  ReadGatedDeltaNet(config, spec);
  // Multi-token prediction is left out.
  config.Ignore({"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"});
}

void Qwen35(Config& config, ModelSpec& spec) {
  ReadQwen(config, spec);
  spec.set_intermediate_size(config.Int("intermediate_size"));
  config.MustBeOff("mlp_only_layers");
}

void QwenExperts(Config& config, ModelSpec& spec) {
  ReadQwen(config, spec);
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int("num_experts"));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  moe.set_num_shared_experts(1);
  moe.set_shared_expert_intermediate_size(config.Int("shared_expert_intermediate_size"));
  moe.set_shared_expert_gate(true);
  spec.set_intermediate_size(config.MaybeInt("intermediate_size").value_or(moe.moe_intermediate_size()));
  config.MustBeOff("mlp_only_layers");
  config.MustBeInt("decoder_sparse_step", 1);
}

// Of blocks in the order of the model: M a Mamba 2, * attention, - an MLP, E experts.
std::string Blocks(Config& config) {
  const std::string pattern = config.Text("hybrid_override_pattern");
  if (!pattern.empty()) return pattern;
  std::string blocks;
  for (const std::string& type : config.Texts("layers_block_type")) {
    blocks += type == "mamba" ? 'M' : type == "attention" ? '*' : type == "mlp" ? '-' : type == "moe" ? 'E' : '?';
  }
  return blocks;
}

void ReadNemotronMamba(Config& config, v1::LinearAttention& linear) {
  linear.set_type(v1::LINEAR_ATTENTION_TYPE_MAMBA_2);
  linear.set_num_key_heads(config.Int("n_groups"));
  linear.set_num_value_heads(config.Int("mamba_num_heads"));
  linear.set_key_head_dim(config.Int("ssm_state_size"));
  linear.set_value_head_dim(config.Int("mamba_head_dim"));
  linear.set_conv_kernel_size(config.Int("conv_kernel"));
  if (const auto chunk = config.MaybeInt("chunk_size")) linear.set_chunk_size(*chunk);
  linear.set_conv_bias(config.Bool("use_conv_bias", true));
  linear.set_state_dtype(StateDtype(config, "mamba_ssm_cache_dtype"));
  config.MustBeOff("mamba_proj_bias");
}

void ReadNemotronExperts(Config& config, v1::MixtureOfExperts& moe) {
  moe.set_num_experts(config.Int("n_routed_experts"));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  moe.set_num_shared_experts(config.MaybeInt("n_shared_experts").value_or(1));
  moe.set_shared_expert_intermediate_size(config.Int("moe_shared_expert_intermediate_size"));
  moe.set_router_bias(true);
  if (const auto latent = config.MaybeInt("moe_latent_size")) moe.set_moe_latent_size(*latent);
}

void NemotronH(Config& config, ModelSpec& spec) {
  ReadCommon(config, spec, false);
  if (const auto head = config.MaybeInt("attention_head_dim")) spec.set_head_dim(*head);
  spec.set_norms_per_layer(1);
  spec.set_mlp_matrices(2);
  const std::string activation = config.Text("mlp_hidden_act");
  if (!activation.empty() && activation != "relu2") config.Fault("mlp_hidden_act", "allowed: relu2");
  const std::string blocks = Blocks(config);
  const auto count = [&blocks](char kind) {
    return static_cast<int32_t>(std::count(blocks.begin(), blocks.end(), kind));
  };
  if (blocks.find_first_not_of("M*-E") != std::string::npos || (count('-') > 0 && count('E') > 0)) {
    config.Fault("hybrid_override_pattern", absl::StrCat("\"", blocks, "\"; allowed: M, * and one of - and E"));
  }
  spec.set_num_hidden_layers(static_cast<int32_t>(blocks.size()));
  config.MustBeInt("num_hidden_layers", spec.num_hidden_layers());
  spec.set_num_attention_layers(count('*'));
  spec.set_num_mlp_layers(count('-') + count('E'));
  ReadNemotronMamba(config, *spec.mutable_linear_attention());
  spec.mutable_linear_attention()->set_num_layers(count('M'));
  spec.set_intermediate_size(config.Int("intermediate_size"));
  if (count('E') > 0) ReadNemotronExperts(config, *spec.mutable_mixture_of_experts());
  config.MustBeOff("use_bias");
  config.Ignore({"expand",
                 "mamba_hidden_act",
                 "residual_in_fp32",
                 "rescale_prenorm_residual",
                 "use_mamba_kernels",
                 "num_logits_to_keep",
                 "norm_eps",
                 "time_step_floor",
                 "time_step_limit",
                 "time_step_max",
                 "time_step_min",
                 "time_step_rank",
                 "moe_shared_expert_overlap",
                 "mtp_hybrid_override_pattern",
                 "mtp_layers_block_type",
                 "keep_mtp_spec_in_bf16",
                 "n_routed_experts",
                 "n_shared_experts",
                 "num_experts_per_tok",
                 "moe_intermediate_size",
                 "moe_shared_expert_intermediate_size"});
}

// Mamba 2 as Bamba's family names it.
void ReadBambaMamba(Config& config, v1::LinearAttention& linear) {
  linear.set_type(v1::LINEAR_ATTENTION_TYPE_MAMBA_2);
  linear.set_num_key_heads(config.Int("mamba_n_groups"));
  linear.set_num_value_heads(config.Int("mamba_n_heads"));
  linear.set_key_head_dim(config.Int("mamba_d_state"));
  linear.set_value_head_dim(config.Int("mamba_d_head"));
  linear.set_conv_kernel_size(config.Int("mamba_d_conv"));
  if (const auto chunk = config.MaybeInt("mamba_chunk_size")) linear.set_chunk_size(*chunk);
  linear.set_conv_bias(config.Bool("mamba_conv_bias", true));
  config.MustBeOff("mamba_proj_bias");
  config.Ignore({"mamba_expand", "time_step_floor", "time_step_limit", "time_step_max", "time_step_min"});
}

// Experts beside an MLP that is always used; without experts that MLP alone.
void GraniteHybrid(Config& config, ModelSpec& spec) {
  ReadCommon(config, spec, false);
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  const int32_t recurrent = CountTypes(config, "layer_types", {"mamba", "attention"}, "mamba");
  if (recurrent > 0) {
    ReadBambaMamba(config, *spec.mutable_linear_attention());
    spec.mutable_linear_attention()->set_num_layers(recurrent);
  }
  const int32_t shared = config.Int("shared_intermediate_size");
  const int32_t experts = config.MaybeInt("num_local_experts").value_or(0);
  spec.set_intermediate_size(experts > 0 ? config.Int("intermediate_size") : shared);
  if (experts > 0) {
    v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
    moe.set_num_experts(experts);
    moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
    moe.set_moe_intermediate_size(spec.intermediate_size());
    moe.set_num_shared_experts(1);
    moe.set_shared_expert_intermediate_size(shared);
  }
  config.Ignore({"attention_multiplier", "embedding_multiplier", "init_method", "logits_scaling", "residual_multiplier",
                 "normalization_function", "position_embedding_type", "intermediate_size", "num_experts_per_tok",
                 "mamba_n_groups", "mamba_n_heads", "mamba_d_state", "mamba_d_head", "mamba_d_conv", "mamba_chunk_size",
                 "mamba_conv_bias", "mamba_expand"});
}

void FalconH1(Config& config, ModelSpec& spec) {
  ReadCommon(config, spec, false);
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  spec.set_intermediate_size(config.Int("intermediate_size"));
  v1::LinearAttention& linear = *spec.mutable_linear_attention();
  ReadBambaMamba(config, linear);
  linear.set_num_layers(spec.num_hidden_layers());
  linear.set_beside_attention(true);
  linear.set_no_output_norm(!config.Bool("mamba_rms_norm", false));
  config.MustBeInt("mamba_d_ssm", linear.num_value_heads() * linear.value_head_dim());
  config.MustBeOff("projectors_bias");
  config.Ignore({"attention_in_multiplier", "attention_out_multiplier", "embedding_multiplier", "key_multiplier",
                 "lm_head_multiplier", "mamba_norm_before_gate", "mamba_use_mlp", "mlp_expansion_factor",
                 "mlp_multipliers", "ssm_in_multiplier", "ssm_multipliers", "ssm_out_multiplier",
                 "num_logits_to_keep"});
}

void KimiLinear(Config& config, ModelSpec& spec) {
  ReadCommon(config, spec, false);
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  spec.set_intermediate_size(config.Int("intermediate_size"));
  spec.clear_head_dim();  // hidden_size over heads, which no layer has
  ReadLatents(config, spec);
  if (const google::protobuf::Struct* linear_config = config.Object("linear_attn_config")) {
    ConfigReader reader(*linear_config, "linear_attn_config.");
    v1::LinearAttention& linear = *spec.mutable_linear_attention();
    linear.set_type(v1::LINEAR_ATTENTION_TYPE_KIMI_DELTA_ATTENTION);
    linear.set_num_layers(static_cast<int32_t>(reader.Numbers("kda_layers").size()));
    linear.set_num_key_heads(reader.Int("num_heads"));
    linear.set_num_value_heads(linear.num_key_heads());
    linear.set_key_head_dim(reader.Int("head_dim"));
    linear.set_value_head_dim(linear.key_head_dim());
    linear.set_conv_kernel_size(reader.Int("short_conv_kernel_size"));
    reader.Ignore({"full_attn_layers"});  // the others
    config.Take(reader);
  } else {
    config.Fault("linear_attn_config", "is missing");
  }
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int("num_experts"));
  moe.set_num_experts_per_tok(config.FirstInt({"num_experts_per_token", "num_experts_per_tok"}));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  if (const auto shared = config.MaybeInt("num_shared_experts")) moe.set_num_shared_experts(*shared);
  if (const auto dense = config.MaybeInt("first_k_dense_replace")) moe.set_first_k_dense_replace(*dense);
  moe.set_router_bias(true);
  config.MustBeInt("moe_layer_freq", 1);
  config.Ignore(
      {"mla_use_nope", "moe_renormalize", "moe_router_activation_func", "use_grouped_topk", "num_expert_group"});
}

}  // namespace

std::map<std::string, FamilyReader> MixedFamilies() {
  return {{"qwen3_next", QwenExperts},         {"qwen3_5_text", Qwen35},
          {"qwen3_5_moe_text", QwenExperts},   {"nemotron_h", NemotronH},
          {"granitemoehybrid", GraniteHybrid}, {"falcon_h1", FalconH1},
          {"kimi_linear", KimiLinear}};
}

}  // namespace foretoken::cli

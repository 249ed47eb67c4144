// Families with RMS norms and a gated MLP.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/huggingface/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

// Every layer is windowed where a window is stated that can act.
void ReadUniformWindow(Config& config, ModelSpec& spec) {
  const auto window = config.MaybeInt("sliding_window");
  if (!window.has_value()) return;
  if (spec.has_max_position_embeddings() && *window >= spec.max_position_embeddings()) return;
  SetWindow(*window, std::nullopt, spec);
}

void Llama(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  const bool bias = config.Bool("attention_bias", false);
  spec.set_qkv_bias(bias);
  spec.set_attention_output_bias(bias);
  spec.set_mlp_bias(config.Bool("mlp_bias", false));
}

void Mistral(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadUniformWindow(config, spec);
}

void Mixtral(Config& config, ModelSpec& spec) {
  Mistral(config, spec);
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int("num_local_experts"));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(spec.intermediate_size());
}

// Qwen states a window even if it does not use one.
void ReadQwenWindow(Config& config, ModelSpec& spec) {
  const bool used = config.Bool("use_sliding_window", false);
  const auto window = config.MaybeInt("sliding_window");
  const int32_t leading = config.MaybeInt("max_window_layers").value_or(0);
  const int32_t full_layers = FullLayers(config, spec.num_hidden_layers(), std::min(leading, spec.num_hidden_layers()));
  if (used && window.has_value()) SetWindow(*window, full_layers, spec);
}

void Qwen2(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadQwenWindow(config, spec);
  spec.set_qkv_bias(true);
}

void Qwen3(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadQwenWindow(config, spec);
  const bool bias = config.Bool("attention_bias", false);
  spec.set_qkv_bias(bias);
  spec.set_attention_output_bias(bias);
  spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
}

void ReadQwenExperts(Config& config, ModelSpec& spec) {
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.FirstInt({"num_experts", "num_local_experts"}));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  config.MustBeOff("mlp_only_layers");
  config.MustBeInt("decoder_sparse_step", 1);
}

void Qwen2Moe(Config& config, ModelSpec& spec) {
  Qwen2(config, spec);
  ReadQwenExperts(config, spec);
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_shared_experts(1);
  moe.set_shared_expert_intermediate_size(config.Int("shared_expert_intermediate_size"));
  moe.set_shared_expert_gate(true);
}

void Qwen3Moe(Config& config, ModelSpec& spec) {
  Qwen3(config, spec);
  config.Ignore({"use_qk_norm"});  // Transformers has the norm whatever it says
  ReadQwenExperts(config, spec);
}

void Gemma(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, true);
  if (!spec.has_head_dim()) spec.set_head_dim(256);
  config.MustBeOff("attention_bias");
}

void Gemma2(Config& config, ModelSpec& spec) {
  Gemma(config, spec);
  const int32_t layers = spec.num_hidden_layers();
  spec.set_norms_per_layer(4);
  SetWindow(config.MaybeInt("sliding_window").value_or(4096), FullLayers(config, layers, layers / 2), spec);
  config.Ignore({"sliding_window_size"});  // the same again
}

void Gemma3(Config& config, ModelSpec& spec) {
  Gemma(config, spec);
  spec.set_norms_per_layer(4);
  spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
  const std::string pattern =
      config.Has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  const int32_t period = config.MaybeInt(pattern).value_or(6);
  if (period < 1) config.Fault(pattern, absl::StrCat(period, "; allowed from 1"));
  const int32_t layers = spec.num_hidden_layers();
  SetWindow(config.MaybeInt("sliding_window").value_or(4096), FullLayers(config, layers, layers / std::max(1, period)),
            spec);
}

void Phi3(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadUniformWindow(config, spec);
  config.MustBeOff("attention_bias");
  config.Ignore({"full_attn_mod", "interpolate_factor"});  // Transformers reads neither
}

void DeepseekV2(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  spec.clear_head_dim();  // some files state the rotary part here; latent_attention has the sizes
  ReadLatents(config, spec);
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int("n_routed_experts"));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  if (const auto shared = config.MaybeInt("n_shared_experts")) moe.set_num_shared_experts(*shared);
  if (const auto dense = config.MaybeInt("first_k_dense_replace")) moe.set_first_k_dense_replace(*dense);
  config.MustBeInt("moe_layer_freq", 1);
  config.MustBeOff("attention_bias");
}

void DeepseekV3(Config& config, ModelSpec& spec) {
  DeepseekV2(config, spec);
  // The correction that balances the choice of experts, without an auxiliary loss.
  spec.mutable_mixture_of_experts()->set_router_bias(true);
}

}  // namespace

std::map<std::string, FamilyReader> GatedFamilies() {
  return {{"llama", Llama},
          {"mistral", Mistral},
          {"mixtral", Mixtral},
          {"qwen2", Qwen2},
          {"qwen2_moe", Qwen2Moe},
          {"qwen3", Qwen3},
          {"qwen3_moe", Qwen3Moe},
          {"gemma", Gemma},
          {"gemma2", Gemma2},
          {"gemma3_text", Gemma3},
          {"phi3", Phi3},
          {"deepseek_v2", DeepseekV2},
          {"deepseek_v3", DeepseekV3},
          {"kimi_k2", DeepseekV3}};
}

}  // namespace foretoken::cli

// Families with RMS norms and a gated MLP.
#include <algorithm>

#include "client/cli/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

// Pre-norm blocks of RMS norms with a gated MLP.
void ReadGated(Config& config, ModelSpec& spec, bool tied) {
  ReadShape(config, spec);
  spec.set_mlp_matrices(3);
  spec.set_norm_type(v1::NORM_TYPE_RMSNORM);
  spec.set_norms_per_layer(2);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", tied));
}

void SetWindow(int32_t tokens, std::optional<int32_t> full_layers, ModelSpec& spec) {
  spec.mutable_sliding_window()->set_window_tokens(tokens);
  if (full_layers.has_value()) spec.mutable_sliding_window()->set_num_full_attention_layers(*full_layers);
}

// Every layer is windowed where a window is stated.
void ReadUniformWindow(Config& config, ModelSpec& spec) {
  if (const auto window = config.MaybeInt("sliding_window")) SetWindow(*window, std::nullopt, spec);
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

// Qwen states a window even where it does not use one.
void ReadQwenWindow(Config& config, ModelSpec& spec) {
  const bool used = config.Bool("use_sliding_window", false);
  const auto window = config.MaybeInt("sliding_window");
  const auto full_layers = config.MaybeInt("max_window_layers");
  if (!used || !window.has_value()) return;
  SetWindow(*window, std::min(full_layers.value_or(0), spec.num_hidden_layers()), spec);
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
  moe.set_num_experts(config.Int("num_experts"));
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
  ReadQwenExperts(config, spec);
}

void Gemma(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, true);
  if (!spec.has_head_dim()) spec.set_head_dim(256);
  config.MustBeOff("attention_bias");
}

// Layers that see everything: stated layer by layer, else every `period`-th.
int32_t FullLayers(Config& config, const ModelSpec& spec, int32_t period) {
  const std::vector<std::string> types = config.Texts("layer_types");
  if (types.empty()) return spec.num_hidden_layers() / period;
  return static_cast<int32_t>(std::count(types.begin(), types.end(), "full_attention"));
}

void Gemma2(Config& config, ModelSpec& spec) {
  Gemma(config, spec);
  spec.set_norms_per_layer(4);
  SetWindow(config.MaybeInt("sliding_window").value_or(4096), FullLayers(config, spec, 2), spec);
}

void Gemma3(Config& config, ModelSpec& spec) {
  Gemma(config, spec);
  spec.set_norms_per_layer(4);
  spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
  const int32_t period = std::max(1, config.MaybeInt("sliding_window_pattern").value_or(6));
  SetWindow(config.MaybeInt("sliding_window").value_or(4096), FullLayers(config, spec, period), spec);
}

void Phi3(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadUniformWindow(config, spec);
  config.MustBeOff("attention_bias");
}

void ReadLatentAttention(Config& config, ModelSpec& spec) {
  spec.set_attention_type(v1::ATTENTION_TYPE_MLA);
  v1::LatentAttention& latent = *spec.mutable_latent_attention();
  if (const auto rank = config.MaybeInt("q_lora_rank")) latent.set_q_lora_rank(*rank);
  latent.set_kv_lora_rank(config.Int("kv_lora_rank"));
  latent.set_qk_rope_head_dim(config.Int("qk_rope_head_dim"));
  latent.set_qk_nope_head_dim(config.Int("qk_nope_head_dim"));
  latent.set_v_head_dim(config.Int("v_head_dim"));
}

void DeepseekV2(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  spec.clear_head_dim();  // some files state the rotary part here; latent_attention has the sizes
  ReadLatentAttention(config, spec);
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
  return {{"llama", Llama},           {"mistral", Mistral},    {"mixtral", Mixtral},    {"qwen2", Qwen2},
          {"qwen2_moe", Qwen2Moe},    {"qwen3", Qwen3},        {"qwen3_moe", Qwen3Moe}, {"gemma", Gemma},
          {"gemma2", Gemma2},         {"gemma3_text", Gemma3}, {"phi3", Phi3},          {"deepseek_v2", DeepseekV2},
          {"deepseek_v3", DeepseekV3}};
}

}  // namespace foretoken::cli

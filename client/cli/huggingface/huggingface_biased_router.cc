// Families with RMS norms and gated experts, chosen by a router with a bias per expert.
#include "client/cli/huggingface/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

v1::MixtureOfExperts& ReadExperts(Config& config, const char* count, const char* width, ModelSpec& spec) {
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int(count));
  moe.set_num_experts_per_tok(config.FirstInt({"num_experts_per_tok", "experts_per_token"}));
  moe.set_moe_intermediate_size(config.Int(width));
  moe.set_router_bias(true);
  return moe;
}

void Glm4Moe(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  spec.set_qkv_bias(config.Bool("attention_bias", false));
  if (config.Bool("use_qk_norm", false)) spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
  v1::MixtureOfExperts& moe = ReadExperts(config, "n_routed_experts", "moe_intermediate_size", spec);
  if (const auto shared = config.MaybeInt("n_shared_experts")) moe.set_num_shared_experts(*shared);
  if (const auto dense = config.MaybeInt("first_k_dense_replace")) moe.set_first_k_dense_replace(*dense);
}

void MiniMaxM2(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  ReadExperts(config, "num_local_experts", "intermediate_size", spec)
      .set_router_bias(config.Bool("use_routing_bias", true));
  const std::string norm = config.Text("qk_norm_type");
  if (!norm.empty() && norm != "per_layer") config.Fault("qk_norm_type", "\"" + norm + "\"; allowed: per_layer");
  if (config.Bool("use_qk_norm", true)) spec.set_qk_norm(v1::QK_NORM_FULL);
  config.MustBeOff("shared_intermediate_size");
  // Multi-token prediction is left out; the others are of its linear-attention ancestor, which this family is not.
  config.Ignore({"use_mtp", "num_mtp_modules", "mtp_transformer_layers", "attn_type_list", "mlp_intermediate_size",
                 "layernorm_full_attention_beta", "layernorm_linear_attention_beta", "layernorm_mlp_beta"});
}

void GptOss(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, false);
  const int32_t layers = spec.num_hidden_layers();
  const bool bias = config.Bool("attention_bias", true);
  spec.set_qkv_bias(bias);
  spec.set_attention_output_bias(bias);
  spec.set_mlp_bias(true);
  spec.set_attention_sinks(true);
  SetWindow(config.MaybeInt("sliding_window").value_or(128), FullLayers(config, layers, layers / 2), spec);
  ReadExperts(config, "num_local_experts", "intermediate_size", spec);
  if (spec.native_dtype() == v1::DTYPE_UNSPECIFIED) spec.set_native_dtype(v1::DTYPE_BF16);
  config.Ignore({"experts_per_token", "initial_context_length", "swiglu_limit"});
}

}  // namespace

std::map<std::string, FamilyReader> BiasedRouterFamilies() {
  return {{"glm4_moe", Glm4Moe}, {"minimax_m2", MiniMaxM2}, {"gpt_oss", GptOss}};
}

}  // namespace foretoken::cli

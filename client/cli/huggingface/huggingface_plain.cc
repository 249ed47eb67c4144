// Families with layer norms and a two-matrix MLP.
#include "client/cli/huggingface/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

// Layer norms with bias and a plain two-matrix MLP.
void SetPlain(ModelSpec& spec) {
  spec.set_mlp_matrices(2);
  spec.set_norm_type(v1::NORM_TYPE_LAYERNORM);
  spec.set_norms_per_layer(2);
}

void SetAllBiases(ModelSpec& spec) {
  spec.set_qkv_bias(true);
  spec.set_attention_output_bias(true);
  spec.set_mlp_bias(true);
}

void Phi(Config& config, ModelSpec& spec) {
  ReadShape(config, spec);
  SetPlain(spec);
  SetAllBiases(spec);
  spec.set_norms_per_layer(1);
  spec.set_parallel_block(true);
  spec.set_lm_head_bias(true);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", false));
  config.MustBeOff("qk_layernorm");
}

void Gpt2(Config& config, ModelSpec& spec) {
  spec.set_num_hidden_layers(config.Int("n_layer"));
  spec.set_hidden_size(config.Int("n_embd"));
  spec.set_num_attention_heads(config.Int("n_head"));
  spec.set_intermediate_size(config.MaybeInt("n_inner").value_or(4 * spec.hidden_size()));
  spec.set_vocab_size(config.Int("vocab_size"));
  spec.set_learned_position_rows(config.FirstInt({"n_positions", "n_ctx"}));
  spec.set_max_position_embeddings(spec.learned_position_rows());
  config.Ignore({"n_ctx"});
  SetPlain(spec);
  SetAllBiases(spec);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", true));
  config.MustBeOff("add_cross_attention");
}

void GptNeox(Config& config, ModelSpec& spec) {
  ReadShape(config, spec);
  SetPlain(spec);
  SetAllBiases(spec);
  const bool bias = config.Bool("attention_bias", true);
  spec.set_qkv_bias(bias);
  spec.set_attention_output_bias(bias);
  spec.set_parallel_block(config.Bool("use_parallel_residual", true));
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", false));
}

int32_t FalconKeyValueHeads(Config& config, bool new_architecture, int32_t heads) {
  const auto stated = config.MaybeInt(config.Has("num_kv_heads") ? "num_kv_heads" : "n_head_kv");
  const bool multi_query = config.Bool("multi_query", true);
  if (new_architecture) return stated.value_or(heads);
  return multi_query ? 1 : heads;
}

void Falcon(Config& config, ModelSpec& spec) {
  spec.set_num_hidden_layers(config.FirstInt({"num_hidden_layers", "n_layer"}));
  spec.set_hidden_size(config.Int("hidden_size"));
  spec.set_num_attention_heads(config.FirstInt({"num_attention_heads", "n_head"}));
  const bool new_architecture = config.Bool("new_decoder_architecture", false);
  spec.set_num_key_value_heads(FalconKeyValueHeads(config, new_architecture, spec.num_attention_heads()));
  spec.set_intermediate_size(config.MaybeInt("ffn_hidden_size").value_or(4 * spec.hidden_size()));
  spec.set_vocab_size(config.Int("vocab_size"));
  if (const auto context = config.MaybeInt("max_position_embeddings")) spec.set_max_position_embeddings(*context);
  SetPlain(spec);
  if (config.Bool("bias", false)) SetAllBiases(spec);
  spec.set_parallel_block(config.Bool("parallel_attn", true) || new_architecture);
  const int32_t parallel_norms = config.MaybeInt("num_ln_in_parallel_attn").value_or(new_architecture ? 2 : 1);
  spec.set_norms_per_layer(spec.parallel_block() ? parallel_norms : 2);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", true));
  config.MustBeOff("apply_residual_connection_post_layernorm");
  config.Ignore({"alibi"});
}

}  // namespace

std::map<std::string, FamilyReader> PlainFamilies() {
  return {{"phi", Phi}, {"gpt2", Gpt2}, {"gpt_neox", GptNeox}, {"falcon", Falcon}};
}

}  // namespace foretoken::cli

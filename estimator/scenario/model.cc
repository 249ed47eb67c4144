#include "estimator/scenario/model.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"

namespace foretoken {
namespace {

// Vectors of a norm: its weight, its bias.
double NormVectors(NormType type) {
  switch (type) {
    case NormType::kLayerNorm:
      return 2;
    case NormType::kNonParametric:
      return 0;
    case NormType::kRmsNorm:
    case NormType::kLayerNormNoBias:
      return 1;
  }
  return 1;
}

double QkNormWeights(const Model& model) {
  switch (model.qk_norm) {
    case QkNorm::kPerHead:
      return 2.0 * model.head_dim;
    case QkNorm::kFull:
      return static_cast<double>(model.num_attention_heads + model.num_key_value_heads) * model.head_dim;
    case QkNorm::kNone:
      return 0;
  }
  return 0;
}

// Q, K and V from the residual stream, and back.
double HeadAttention(const Model& model) {
  const double d = model.hidden_size;
  const double query_width = static_cast<double>(model.num_attention_heads) * model.head_dim;
  const double qkv_width = query_width + 2.0 * model.num_key_value_heads * model.head_dim;
  return d * (qkv_width + query_width) + (model.qkv_bias ? qkv_width : 0) + (model.attention_output_bias ? d : 0) +
         QkNormWeights(model);
}

// Queries through their own latent or directly; keys and values through the shared latent and a rotary key that all
// heads share. Each latent has a norm.
double LatentAttentionWeights(const Model& model, const LatentAttention& mla) {
  const double d = model.hidden_size;
  const double heads = model.num_attention_heads;
  const double query_width = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
  const double query = mla.q_lora_rank ? *mla.q_lora_rank * (d + 1 + query_width) : d * query_width;
  const double latent = d * (mla.kv_lora_rank + mla.qk_rope_head_dim) + mla.kv_lora_rank;
  const double expand = mla.kv_lora_rank * heads * (mla.qk_nope_head_dim + mla.v_head_dim);
  const double output = heads * mla.v_head_dim * d;
  return query + latent + expand + output;
}

double Attention(const Model& model) {
  const double sinks = model.attention_sinks ? model.num_attention_heads : 0;
  return sinks +
         (model.latent_attention ? LatentAttentionWeights(model, *model.latent_attention) : HeadAttention(model));
}

// Up (and gate) matrices of d x width, a down matrix of width x d.
double Mlp(const Model& model, double width) {
  const double bias = model.mlp_bias ? (model.mlp_matrices - 1) * width + model.hidden_size : 0;
  return model.mlp_matrices * model.hidden_size * width + bias;
}

void CountExperts(const Model& model, const MixtureOfExperts& moe, ParameterCounts& counts) {
  const double d = model.hidden_size;
  const double shared_width = moe.shared_expert_intermediate_size;
  counts.expert = Mlp(model, moe.moe_intermediate_size);
  counts.shared_experts_per_layer =
      (shared_width > 0 ? Mlp(model, shared_width) : 0) + (moe.shared_expert_gate ? d : 0);
  counts.router_per_layer = moe.num_experts * (d + (moe.router_bias ? 1 : 0));
  counts.moe_layers = (model.num_hidden_layers - moe.first_k_dense_replace) / moe.moe_layer_freq;
  counts.num_experts = moe.num_experts;
  counts.num_experts_per_tok = moe.num_experts_per_tok;
}

double Sum(const ParameterCounts& counts, int experts_per_layer) {
  const int layers = counts.dense_layers + counts.moe_layers;
  const double moe = experts_per_layer * counts.expert + counts.shared_experts_per_layer + counts.router_per_layer;
  return layers * (counts.attention_per_layer + counts.norms_per_layer) +
         counts.dense_layers * counts.dense_mlp_per_layer + counts.moe_layers * moe + counts.embedding +
         counts.lm_head + counts.final_norm;
}

}  // namespace

double ParameterCounts::Total() const { return Sum(*this, num_experts); }

double ParameterCounts::Active() const { return Sum(*this, num_experts_per_tok); }

ParameterCounts CountParameters(const Model& model) {
  const double d = model.hidden_size;
  const double norm = NormVectors(model.norm_type) * d;
  ParameterCounts counts;
  counts.attention_per_layer = Attention(model);
  counts.norms_per_layer = model.norms_per_layer * norm;
  counts.final_norm = norm;
  counts.embedding =
      (static_cast<double>(model.vocab_size) + model.learned_position_rows) * d + (model.embedding_norm ? norm : 0);
  counts.lm_head = (model.tie_word_embeddings ? 0 : model.vocab_size * d) + (model.lm_head_bias ? model.vocab_size : 0);
  if (model.mixture_of_experts) CountExperts(model, *model.mixture_of_experts, counts);
  counts.dense_layers = model.num_hidden_layers - counts.moe_layers;
  const int dense_width =
      model.mixture_of_experts ? model.mixture_of_experts->dense_intermediate_size : model.intermediate_size;
  if (counts.dense_layers > 0) counts.dense_mlp_per_layer = Mlp(model, dense_width);
  return counts;
}

absl::Status CheckSupported(const Model& model, std::string_view field) {
  if (model.unsupported_reason.empty()) return absl::OkStatus();
  return Refusal(Reason::kUnsupportedModel, field,
                 absl::StrCat("model ", model.id, " is listed but not supported: ", model.unsupported_reason));
}

}  // namespace foretoken

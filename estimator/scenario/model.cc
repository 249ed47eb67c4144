#include "estimator/scenario/model.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/layers.h"

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

// Of a layer; keys of another layer are normalised there.
double QkNormWeights(const Model& model, const AttentionLayers& layers) {
  const double key_heads = layers.own_keys ? layers.key_value_heads : 0;
  switch (model.qk_norm) {
    case QkNorm::kPerHead:
      return (layers.own_keys ? 2.0 : 1.0) * layers.head_dim;
    case QkNorm::kFull:
      return (model.num_attention_heads + key_heads) * layers.head_dim;
    case QkNorm::kNone:
      return 0;
  }
  return 0;
}

// Q, K and V from the residual stream, and back.
double HeadAttention(const Model& model, const AttentionLayers& layers) {
  const double d = model.hidden_size;
  const double query_width = static_cast<double>(model.num_attention_heads) * layers.head_dim;
  const double gate_width = model.attention_output_gate ? query_width : 0;
  const double projected = layers.own_keys ? (layers.keys_are_values ? 1 : 2) : 0;
  const double qkv_width = query_width + gate_width + projected * layers.key_value_heads * layers.head_dim;
  return d * (qkv_width + query_width) + (model.qkv_bias ? qkv_width : 0) + (model.attention_output_bias ? d : 0) +
         QkNormWeights(model, layers);
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

// Queries and weights of heads, one key for all heads, and that key's layer norm.
double Indexer(const Model& model, const SparseAttention& sparse) {
  const double d = model.hidden_size;
  const double heads = sparse.index_n_heads;
  const double dim = sparse.index_head_dim;
  const double query_rank =
      model.latent_attention ? model.latent_attention->q_lora_rank.value_or(model.hidden_size) : 0;
  return query_rank * heads * dim + d * (dim + heads) + 2 * dim;
}

// Entries of `compression` tokens that are `dim` wide: projections of entry and gate, each twice as wide where entries
// overlap, a position bias, and a norm.
double Compressor(double d, double dim, double compression, double overlap) {
  return overlap * dim * (2 * d + compression) + dim;
}

double CompressedLayers(const Model& model, const CompressedAttention& c) {
  const double d = model.hidden_size;
  const double dim = model.head_dim;
  const double query_width = model.num_attention_heads * dim;
  const double query = c.q_lora_rank * (d + 1 + query_width);
  const double output = query_width * c.o_lora_rank + static_cast<double>(c.o_groups) * c.o_lora_rank * d;
  double all = model.num_hidden_layers * (query + d * dim + dim + output);
  all += c.num_heavy_layers * Compressor(d, dim, c.heavy_compression, 1);
  if (!model.sparse_attention) return all;
  const double index_dim = model.sparse_attention->index_head_dim;
  const double index_heads = model.sparse_attention->index_n_heads;
  const double indexer =
      Compressor(d, index_dim, c.sparse_compression, 2) + c.q_lora_rank * index_heads * index_dim + d * index_heads;
  return all + c.num_sparse_layers * (Compressor(d, dim, c.sparse_compression, 2) + indexer);
}

double Attention(const Model& model) {
  const double sinks = model.attention_sinks ? model.num_attention_heads : 0;
  if (model.compressed_attention) {
    return model.num_hidden_layers * sinks + CompressedLayers(model, *model.compressed_attention);
  }
  if (model.latent_attention) {
    const double indexers = model.sparse_attention
                                ? model.sparse_attention->num_indexer_layers * Indexer(model, *model.sparse_attention)
                                : 0;
    return model.attention_layers() * (sinks + LatentAttentionWeights(model, *model.latent_attention)) + indexers;
  }
  double all = 0;
  for (const AttentionLayers& layers : AttentionLayersOf(model)) {
    all += layers.layers * (sinks + HeadAttention(model, layers));
  }
  return all;
}

// Scalars per head: a decay and its bias, and in Mamba 2 a skip weight.
double RecurrentLayer(const Model& model, const LinearAttention& linear) {
  const double d = model.hidden_size;
  const double heads = linear.num_value_heads;
  const double convolution = linear.conv_width() * (linear.conv_kernel_size + (linear.conv_bias ? 1 : 0));
  const double products = RecurrentInputsOf(linear).Elements(d) + linear.value_width() * d;
  switch (linear.type) {
    case LinearAttentionType::kGatedDeltaNet:
      return products + convolution + 2 * heads + linear.value_head_dim;
    case LinearAttentionType::kKimiDeltaAttention:
      return products + convolution + heads + linear.key_width() + linear.value_head_dim;
    case LinearAttentionType::kMamba2:
      return products + convolution + 3 * heads + (linear.no_output_norm ? 0 : linear.value_width());
  }
  return 0;
}

// Up (and gate) matrices of d x width, a down matrix of width x d.
double Mlp(const Model& model, double width, double d) {
  const double bias = model.mlp_bias ? (model.mlp_matrices - 1) * width + d : 0;
  return model.mlp_matrices * d * width + bias;
}

// Of all layers: gate, projection back and norm of each, and the one projection that makes the inputs of all.
double PerLayerInputs(const Model& model) {
  if (!model.per_layer_input) return 0;
  const double d = model.hidden_size;
  const double width = model.per_layer_input->hidden_size;
  return model.num_hidden_layers * (3 * d * width + d) + width;
}

// Around attention and MLP of each layer, and before the final norm.
double HyperConnections(const Model& model) {
  const double streams = model.residual_streams;
  if (streams <= 1) return 0;
  const double all = streams * model.hidden_size;
  const double mixed = (2 + streams) * streams;
  return 2.0 * model.num_hidden_layers * (mixed * (all + 1) + 3) + streams * (all + 1) + 1;
}

double WiderMlps(const Model& model) {
  if (!model.shared_key_values || !model.shared_key_values->intermediate_size) return 0;
  const double wider = *model.shared_key_values->intermediate_size - model.intermediate_size;
  return model.shared_key_values->layers() * model.mlp_matrices * wider * model.hidden_size;
}

void CountExperts(const Model& model, const MixtureOfExperts& moe, ParameterCounts& counts) {
  const double d = model.hidden_size;
  const double shared_width = moe.shared_expert_intermediate_size;
  counts.expert = Mlp(model, moe.moe_intermediate_size, moe.moe_latent_size > 0 ? moe.moe_latent_size : d);
  counts.shared_experts_per_layer =
      (shared_width > 0 ? Mlp(model, shared_width, d) : 0) + (moe.shared_expert_gate ? d : 0);
  counts.router_per_layer = moe.num_experts * (d + (moe.router_bias ? 1 : 0)) + 2 * d * moe.moe_latent_size;
  counts.moe_layers = (model.mlp_layers() - moe.first_k_dense_replace) / moe.moe_layer_freq;
  counts.num_experts = moe.num_experts;
  counts.num_experts_per_tok = moe.num_experts_per_tok;
}

double Sum(const ParameterCounts& counts, int experts_per_layer) {
  const double moe = experts_per_layer * counts.expert + counts.shared_experts_per_layer + counts.router_per_layer;
  return counts.attention + counts.recurrence + counts.others + counts.layers * counts.norms_per_layer +
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
  counts.layers = model.num_hidden_layers;
  counts.attention = Attention(model);
  if (model.linear_attention) {
    counts.recurrence = model.linear_attention->num_layers * RecurrentLayer(model, *model.linear_attention);
  }
  counts.others = PerLayerInputs(model) + HyperConnections(model) + WiderMlps(model);
  counts.norms_per_layer = model.norms_per_layer * norm;
  counts.final_norm = norm;
  counts.embedding =
      (static_cast<double>(model.vocab_size) + model.learned_position_rows) * d + (model.embedding_norm ? norm : 0);
  if (model.per_layer_input) {
    counts.embedding += static_cast<double>(model.per_layer_input->vocab_size) * model.num_hidden_layers *
                        model.per_layer_input->hidden_size;
  }
  counts.lm_head = (model.tie_word_embeddings ? 0 : model.vocab_size * d) + (model.lm_head_bias ? model.vocab_size : 0);
  if (model.mixture_of_experts) CountExperts(model, *model.mixture_of_experts, counts);
  counts.dense_layers = model.mlp_layers() - counts.moe_layers;
  const int dense_width =
      model.mixture_of_experts ? model.mixture_of_experts->dense_intermediate_size : model.intermediate_size;
  if (counts.dense_layers > 0) counts.dense_mlp_per_layer = Mlp(model, dense_width, d);
  return counts;
}

absl::Status CheckSupported(const Model& model, std::string_view field) {
  if (model.unsupported_reason.empty()) return absl::OkStatus();
  return Refusal(Reason::kUnsupportedModel, field,
                 absl::StrCat("model ", model.id, " is listed but not supported: ", model.unsupported_reason));
}

}  // namespace foretoken

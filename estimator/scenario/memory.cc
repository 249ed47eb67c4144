#include "estimator/scenario/memory.h"

#include <algorithm>
#include <cmath>

#include "estimator/scenario/layers.h"

namespace foretoken {

namespace {

// Layers that keep keys of an indexer, each for so many tokens.
double IndexedTokens(const Model& model) {
  if (!model.sparse_attention) return 0;
  if (!model.compressed_attention) return model.sparse_attention->num_indexer_layers;
  const CompressedAttention& compressed = *model.compressed_attention;
  return compressed.num_sparse_layers / static_cast<double>(compressed.sparse_compression);
}

}  // namespace

double KvElementsPerToken(const Model& model) {
  if (model.latent_attention) {
    const LatentAttention& latent = *model.latent_attention;
    return model.attention_layers() * (latent.kv_lora_rank + static_cast<double>(latent.qk_rope_head_dim));
  }
  if (model.compressed_attention) {
    const CompressedAttention& c = *model.compressed_attention;
    return model.head_dim * (c.num_sparse_layers / static_cast<double>(c.sparse_compression) +
                             c.num_heavy_layers / static_cast<double>(c.heavy_compression));
  }
  if (!model.sliding_window && !model.shared_key_values) {  // most models, and every estimate asks
    return model.attention_layers() * 2.0 * model.num_key_value_heads * model.head_dim;
  }
  double elements = 0;
  for (const AttentionLayers& layers : AttentionLayersOf(model)) {
    if (layers.own_keys) elements += layers.layers * 2.0 * layers.key_value_heads * layers.head_dim;
  }
  return elements;
}

Bytes KvBytesPerToken(const Model& model, Dtype kv_cache_dtype) {
  const Bytes keys = model.sparse_attention ? IndexedTokens(model) * IndexKeyBytes(*model.sparse_attention) : Bytes(0);
  return KvElementsPerToken(model) * BytesPerElement(kv_cache_dtype) + keys;
}

Bytes StateBytesPerSequence(const Model& model, Dtype kv_cache_dtype) {
  Bytes bytes;
  if (model.linear_attention) {
    const LinearAttention& linear = *model.linear_attention;
    bytes += linear.num_layers * (StateElements(linear) * BytesPerElement(linear.state_dtype) +
                                  ConvolutionElements(linear) * BytesPerElement(Dtype::kBf16));
  }
  if (model.compressed_attention && model.sliding_window) {
    const double window = model.sliding_window->window_tokens;
    bytes += model.num_hidden_layers * window * model.head_dim * BytesPerElement(kv_cache_dtype);
  }
  return bytes;
}

double TokensThatFit(Bytes memory, Bytes weights, Bytes per_token) {
  return std::max(0.0, std::floor((memory - weights) / per_token));
}

double SequencesThatFit(double tokens, double tokens_per_sequence) { return std::floor(tokens / tokens_per_sequence); }

double ComputeBoundBatch(FlopsPerSecond peak, BytesPerSecond bandwidth, Bytes per_weight) {
  return per_weight / bandwidth / (Flops(2) / peak);
}

std::optional<double> ComputeBoundBatch(const DecodeBalance& step) {
  const Seconds weights = step.parameters * step.per_weight / step.bandwidth;
  const Seconds compute = Flops(2 * step.parameters) / step.peak;        // of one more sequence
  const Seconds kv = step.context * step.kv_per_token / step.bandwidth;  // likewise
  if (compute <= kv) return std::nullopt;
  return weights / (compute - kv);
}

Bytes NaiveAttentionScores(double tokens, double heads, Bytes per_activation) {
  return tokens * tokens * heads * per_activation;
}

}  // namespace foretoken

#include "estimator/scenario/memory.h"

#include <algorithm>
#include <cmath>

namespace foretoken {

double KvElementsPerTokenAndLayer(const Model& model) {
  if (model.latent_attention) return model.latent_attention->kv_lora_rank + model.latent_attention->qk_rope_head_dim;
  return 2.0 * model.num_key_value_heads * model.head_dim;
}

Bytes KvBytesPerToken(const Model& model, Dtype kv_cache_dtype) {
  return model.num_hidden_layers * KvElementsPerTokenAndLayer(model) * BytesPerElement(kv_cache_dtype);
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

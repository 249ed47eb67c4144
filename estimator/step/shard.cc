#include "estimator/step/shard.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

double DivideUp(double amount, double parts) { return std::ceil(amount / parts); }

bool IsLlamaCppFormat(Dtype dtype) { return dtype == Dtype::kQ8_0 || dtype == Dtype::kQ4_0 || dtype == Dtype::kQ4_K_M; }

Bytes HeadBytes(Dtype weight_dtype) {
  const Bytes weight = BytesPerElement(weight_dtype);
  return IsLlamaCppFormat(weight_dtype) ? weight : std::max(weight, BytesPerElement(Dtype::kBf16));
}

void AddAttentionGroups(const Model& model, Shard& shard) {
  if (!model.sliding_window) {
    shard.attention.push_back({.layers = shard.layers});
    return;
  }
  const SlidingWindow& window = *model.sliding_window;
  const double full = window.num_full_attention_layers;
  if (full > 0) shard.attention.push_back({.layers = full});
  shard.attention.push_back(
      {.layers = shard.layers - full, .window = static_cast<double>(window.window_tokens), .chunked = window.chunked});
}

void AddLatentAttention(const Model& model, Shard& shard) {
  const LatentAttention& latent = *model.latent_attention;
  const double r = latent.kv_lora_rank;
  const double rope = latent.qk_rope_head_dim;
  const double nope = latent.qk_nope_head_dim;
  shard.prefill_qk_dim = nope + rope;
  shard.prefill_v_dim = latent.v_head_dim;
  shard.decode_qk_dim = r + rope;
  shard.decode_v_dim = r;
  shard.latent_rank = r;
  shard.latent_expand_dim = nope + latent.v_head_dim;
  shard.kv_elements = r + rope;  // one latent for all heads: not divided by tensor parallelism
  const double q_rank = latent.q_lora_rank.value_or(0);
  const double q_in = q_rank > 0 ? q_rank : shard.hidden;
  shard.matrices.push_back({Matrix::Kind::kLatentDown, shard.layers, r + rope + q_rank, shard.hidden});
  shard.matrices.push_back({Matrix::Kind::kLatentQueryUp, shard.layers, shard.heads * (nope + rope), q_in});
  shard.matrices.push_back({Matrix::Kind::kLatentUp, shard.layers, shard.heads * shard.latent_expand_dim, r});
}

void AddAttention(const Model& model, double tp, Shard& shard) {
  shard.heads = DivideUp(model.num_attention_heads, tp);
  shard.heads_padded = shard.heads * tp != model.num_attention_heads;
  if (model.latent_attention) {
    AddLatentAttention(model, shard);
  } else {
    const double head_dim = model.head_dim;
    const double kv_heads = std::max(1.0, DivideUp(model.num_key_value_heads, tp));
    shard.prefill_qk_dim = shard.prefill_v_dim = shard.decode_qk_dim = shard.decode_v_dim = head_dim;
    shard.kv_elements = 2 * kv_heads * head_dim;
    shard.matrices.push_back({Matrix::Kind::kQkv, shard.layers, (shard.heads + 2 * kv_heads) * head_dim, shard.hidden});
  }
  shard.matrices.push_back({Matrix::Kind::kOut, shard.layers, shard.hidden, shard.heads * shard.prefill_v_dim});
  AddAttentionGroups(model, shard);
}

void AddMlp(double layers, double width, Matrix::Kind up, Matrix::Kind down, Shard& shard) {
  if (layers <= 0 || width <= 0) return;
  shard.matrices.push_back({up, layers, (shard.mlp_matrices - 1) * width, shard.hidden});
  shard.matrices.push_back({down, layers, shard.hidden, width});
}

void AddExperts(const Model& model, const Placement& placement, double moe_layers, Shard& shard) {
  const MixtureOfExperts& moe = *model.mixture_of_experts;
  const double ep = placement.expert_parallel;
  // Without expert parallelism every replica keeps its own copy of the experts.
  const double replicas = ep > 1 ? placement.data_parallel : 1;
  const double group = placement.tensor_parallel * replicas;
  const double width = DivideUp(moe.moe_intermediate_size, group / ep);
  shard.experts = ExpertShard{
      .layers = moe_layers,
      .num_experts = static_cast<double>(moe.num_experts),
      .chosen = static_cast<double>(moe.num_experts_per_tok),
      .expert_parallel = ep,
      .load_imbalance = placement.expert_load_imbalance,
      .replicas = replicas,
      .devices = group,
      .exchange = placement.expert_exchange,
      .up_n = (shard.mlp_matrices - 1) * width,
      .up_k = shard.hidden,
      .down_n = shard.hidden,
      .down_k = width,
      .bytes_per_weight = BytesPerElement(ExpertDtype(model, placement)),
  };
  shard.matrices.push_back({Matrix::Kind::kRouter, moe_layers, static_cast<double>(moe.num_experts), shard.hidden});
}

void AddMlps(const Model& model, const Placement& placement, const ParameterCounts& counts, Shard& shard) {
  const double tp = placement.tensor_parallel;
  const auto& moe = model.mixture_of_experts;
  const double dense_width = DivideUp(moe ? moe->dense_intermediate_size : model.intermediate_size, tp);
  AddMlp(counts.dense_layers, dense_width, Matrix::Kind::kMlpUp, Matrix::Kind::kMlpDown, shard);
  shard.mlp_width = counts.dense_layers > 0 ? dense_width : 0;
  double elements = counts.dense_layers * dense_width;
  if (moe) {
    const double shared_width = DivideUp(moe->shared_expert_intermediate_size, tp);
    AddMlp(counts.moe_layers, shared_width, Matrix::Kind::kSharedUp, Matrix::Kind::kSharedDown, shard);
    AddExperts(model, placement, counts.moe_layers, shard);
    const double moe_width = moe->num_experts_per_tok * moe->moe_intermediate_size / tp + shared_width;
    shard.mlp_width = std::max(shard.mlp_width, moe_width);
    elements += counts.moe_layers * moe_width;
  }
  shard.elementwise_width = elements / shard.layers;
}

// Norms are replicated on every device and stay in 16 bits. Biases are not counted: in bundled models they are at most
// a thousandth of the weights.
Bytes WeightsOfFullestDevice(const Model& model, const ParameterCounts& counts, const Shard& shard) {
  Bytes layers;
  for (const Matrix& m : shard.matrices) layers += m.layers * m.n * m.k * shard.weight;
  if (shard.experts) {
    const ExpertShard& e = *shard.experts;
    const double elements = e.up_n * e.up_k + e.down_n * e.down_k;
    layers += e.layers * std::ceil(e.num_experts / e.expert_parallel) * elements * e.bytes_per_weight;
  }
  layers += shard.layers * counts.norms_per_layer * shard.head;
  const Bytes table = shard.vocab * shard.hidden * shard.head;
  const bool both = shard.stages == 1 && !model.tie_word_embeddings;
  const Bytes positions = model.learned_position_rows * shard.hidden * shard.head;
  return layers * shard.fullest_stage + table * (both ? 2 : 1) + positions + counts.final_norm * shard.head;
}

}  // namespace

Dtype ExpertDtype(const Model& model, const Placement& placement) {
  if (!model.mixture_of_experts) return Dtype::kUnspecified;
  const bool native = placement.weight_dtype == model.native_dtype;
  return native ? model.mixture_of_experts->native_expert_dtype : placement.weight_dtype;
}

Shard MakeShard(const Model& model, const Placement& placement) {
  Shard shard;
  shard.layers = model.num_hidden_layers;
  shard.stages = placement.pipeline_parallel;
  shard.fullest_stage = std::ceil(shard.layers / shard.stages) / shard.layers;
  shard.tensor_parallel = placement.tensor_parallel;
  shard.hidden = model.hidden_size;
  shard.vocab = DivideUp(model.vocab_size, shard.tensor_parallel);
  shard.norms_per_layer = model.norms_per_layer;
  shard.mlp_matrices = model.mlp_matrices;
  shard.all_reduces_per_layer = model.parallel_block ? 1 : 2;
  shard.weight = BytesPerElement(placement.weight_dtype);
  shard.activation = BytesPerElement(placement.activation_dtype);
  shard.residual = std::max(shard.activation, BytesPerElement(Dtype::kBf16));
  shard.kv = BytesPerElement(placement.kv_cache_dtype);
  shard.head = HeadBytes(placement.weight_dtype);
  AddAttention(model, shard.tensor_parallel, shard);
  const ParameterCounts counts = CountParameters(model);
  AddMlps(model, placement, counts, shard);
  shard.parameters = counts.Total();
  shard.weights_of_fullest_device = WeightsOfFullestDevice(model, counts, shard);
  return shard;
}

}  // namespace foretoken

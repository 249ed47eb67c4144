#include "estimator/step/mixer_shard.h"

#include <algorithm>
#include <cmath>

#include "estimator/scenario/layers.h"

namespace foretoken {
namespace {

double DivideUp(double amount, double parts) { return std::ceil(amount / parts); }

// Heads that kernels of sparse attention compute together; fewer are filled up. Source: FlashMLA, whose kernels take 64
// or 128 heads; of the two, this predicts kernels of three engines best.
constexpr double kSparseTile = 64;

// Layers with the same matrix are one product.
void AddMatrix(const Matrix& matrix, Shard& shard) {
  for (Matrix& other : shard.matrices) {
    if (other.kind != matrix.kind || other.n != matrix.n || other.k != matrix.k) continue;
    other.layers += matrix.layers;
    return;
  }
  if (matrix.layers > 0) shard.matrices.push_back(matrix);
}

AttentionGroup Group(const Model& model, const AttentionLayers& layers) {
  AttentionGroup group{.layers = static_cast<double>(layers.layers)};
  if (!layers.windowed) return group;
  group.window = model.sliding_window->window_tokens;
  group.chunked = model.sliding_window->chunked;
  return group;
}

void AddHeadAttention(const Model& model, Shard& shard) {
  const double gates = model.attention_output_gate ? shard.heads : 0;
  const auto all = AttentionLayersOf(model);
  for (const AttentionLayers& layers : all) {
    const double dim = layers.head_dim;
    const double kv_heads = std::max(1.0, DivideUp(layers.key_value_heads, shard.tensor_parallel));
    const double projected = layers.own_keys ? (layers.keys_are_values ? 1 : 2) : 0;
    AddMatrix(
        {Matrix::Kind::kQkv, 1.0 * layers.layers, (shard.heads + gates + projected * kv_heads) * dim, shard.hidden},
        shard);
    AttentionGroup group = Group(model, layers);
    group.kv_elements = 2 * kv_heads * dim;
    group.prefill_dims = group.decode_dims = 2 * dim;
    if (shard.kv_elements <= 0) shard.kv_elements = group.kv_elements;
    group.kv_share = layers.own_keys ? group.kv_elements / shard.kv_elements : 0;
    shard.prefill_qk_dim = shard.prefill_v_dim = std::max(shard.prefill_v_dim, dim);
    shard.attention.push_back(group);
  }
  for (const AttentionLayers& layers : all) {
    AddMatrix({Matrix::Kind::kOut, 1.0 * layers.layers, shard.hidden, shard.heads * layers.head_dim}, shard);
  }
}

// Queries of all heads of the indexer, its key and the weights of its heads. Every device has all of it.
void AddIndexer(const SparseAttention& sparse, double layers, double query_rank, Shard& shard) {
  shard.indexer = IndexerShard{.layers = layers,
                               .heads = static_cast<double>(sparse.index_n_heads),
                               .head_dim = static_cast<double>(sparse.index_head_dim),
                               .key = IndexKeyBytes(sparse)};
  const double queries = shard.indexer->heads * shard.indexer->head_dim;
  AddMatrix({Matrix::Kind::kIndexer, layers, queries, query_rank}, shard);
}

// Attention sees the chosen tokens only, by their latents, in prefill as in decode; all of them are kept.
void AddSparse(const SparseAttention& sparse, double query_rank, Shard& shard) {
  const double layers = sparse.num_indexer_layers;
  AddIndexer(sparse, layers, query_rank, shard);
  AddMatrix({Matrix::Kind::kIndexer, layers, shard.indexer->head_dim + shard.indexer->heads, shard.hidden}, shard);
  AttentionGroup& group = shard.attention.front();
  group.window = sparse.index_topk;
  group.keeps_all = true;
  group.tile_heads = kSparseTile;
  group.prefill_dims = group.decode_dims;
  group.kv_share = 1 + layers / group.layers * (shard.indexer->key / (shard.kv_elements * shard.kv));
  shard.latent_expand_layers = 0;
}

void AddLatentAttention(const Model& model, Shard& shard) {
  const LatentAttention& latent = *model.latent_attention;
  const double layers = model.attention_layers();
  const double r = latent.kv_lora_rank;
  const double rope = latent.qk_rope_head_dim;
  const double nope = latent.qk_nope_head_dim;
  shard.prefill_qk_dim = nope + rope;
  shard.prefill_v_dim = latent.v_head_dim;
  shard.latent_rank = r;
  shard.latent_expand_dim = nope + latent.v_head_dim;
  shard.latent_expand_layers = layers;
  shard.attends_on_matrix_units = true;
  shard.kv_elements = r + rope;  // one latent for all heads: not divided by tensor parallelism
  const double q_rank = latent.q_lora_rank.value_or(0);
  const double q_in = q_rank > 0 ? q_rank : shard.hidden;
  shard.matrices.push_back({Matrix::Kind::kLatentDown, layers, r + rope + q_rank, shard.hidden});
  shard.matrices.push_back({Matrix::Kind::kLatentQueryUp, layers, shard.heads * (nope + rope), q_in});
  shard.matrices.push_back({Matrix::Kind::kLatentUp, layers, shard.heads * shard.latent_expand_dim, r});
  shard.matrices.push_back({Matrix::Kind::kOut, layers, shard.hidden, shard.heads * shard.prefill_v_dim});
  for (const AttentionLayers& each : AttentionLayersOf(model)) {
    AttentionGroup group = Group(model, each);
    group.kv_elements = shard.kv_elements;
    group.prefill_dims = shard.prefill_qk_dim + shard.prefill_v_dim;
    group.decode_dims = (r + rope) + r;  // absorbed
    shard.attention.push_back(group);
  }
  if (model.sparse_attention) AddSparse(*model.sparse_attention, q_in, shard);
}

// Products of DeepSeek-V4: query and key from the residual stream, the compressors beside them, and an output in groups
// of heads.
void AddCompressedProducts(const Model& model, const CompressedAttention& c, Shard& shard) {
  const double dim = model.head_dim;
  const double groups = DivideUp(c.o_groups, shard.tensor_parallel);
  shard.matrices.push_back({Matrix::Kind::kLatentDown, shard.layers, c.q_lora_rank + dim, shard.hidden});
  shard.matrices.push_back({Matrix::Kind::kLatentQueryUp, shard.layers, shard.heads * dim, 1.0 * c.q_lora_rank});
  AddMatrix({Matrix::Kind::kCompressor, 1.0 * c.num_heavy_layers, 2 * dim, shard.hidden}, shard);
  if (c.num_sparse_layers > 0) {
    const IndexerShard& indexer = *shard.indexer;
    const double overlapping = 4 * dim + 4 * indexer.head_dim + indexer.heads;
    AddMatrix({Matrix::Kind::kCompressor, 1.0 * c.num_sparse_layers, overlapping, shard.hidden}, shard);
  }
  shard.matrices.push_back(
      {Matrix::Kind::kGroupedOut, shard.layers * groups, 1.0 * c.o_lora_rank, shard.heads * dim / groups});
  shard.matrices.push_back({Matrix::Kind::kOut, shard.layers, shard.hidden, groups * c.o_lora_rank});
}

// Key and value are one: all heads read the same elements, whatever the tensor parallelism.
void AddCompressedAttention(const Model& model, Shard& shard) {
  const CompressedAttention& c = *model.compressed_attention;
  const double dim = model.head_dim;
  shard.prefill_qk_dim = shard.prefill_v_dim = dim;
  shard.attends_on_matrix_units = true;
  shard.kv_elements = dim;
  const AttentionGroup each{.prefill_dims = 2 * dim, .decode_dims = 2 * dim, .kv_elements = dim};
  AttentionGroup windows = each;
  windows.layers = shard.layers;
  windows.window = model.sliding_window->window_tokens;
  windows.kv_share = 0;  // its tokens count in the state
  shard.attention.push_back(windows);
  const Bytes window = shard.layers * windows.window * dim * shard.kv;
  shard.state_per_sequence += window * shard.fullest_stage;
  if (c.num_sparse_layers > 0) {
    AddIndexer(*model.sparse_attention, c.num_sparse_layers, c.q_lora_rank, shard);
    shard.indexer->compression = c.sparse_compression;
    AttentionGroup chosen = each;
    chosen.layers = c.num_sparse_layers;
    chosen.window = model.sparse_attention->index_topk;
    chosen.keeps_all = true;
    chosen.tile_heads = kSparseTile;
    chosen.compression = c.sparse_compression;
    chosen.kv_share = (1 + shard.indexer->key / (dim * shard.kv)) / c.sparse_compression;
    shard.attention.push_back(chosen);
  }
  if (c.num_heavy_layers > 0) {
    AttentionGroup heavy = each;
    heavy.layers = c.num_heavy_layers;
    heavy.compression = c.heavy_compression;
    heavy.kv_share = 1.0 / c.heavy_compression;
    shard.attention.push_back(heavy);
  }
  AddCompressedProducts(model, c, shard);
}

// The heads of one device. Queries and keys of Mamba 2 are replicated past their number, as those of attention.
LinearAttention OwnHeads(LinearAttention linear, double tp) {
  linear.num_value_heads = static_cast<int>(DivideUp(linear.num_value_heads, tp));
  linear.num_key_heads = static_cast<int>(std::max(1.0, DivideUp(linear.num_key_heads, tp)));
  return linear;
}

}  // namespace

void AddAttention(const Model& model, Shard& shard) {
  shard.heads = DivideUp(model.num_attention_heads, shard.tensor_parallel);
  shard.heads_padded = shard.heads * shard.tensor_parallel != model.num_attention_heads;
  if (model.compressed_attention) {
    AddCompressedAttention(model, shard);
  } else if (model.latent_attention) {
    AddLatentAttention(model, shard);
  } else {
    AddHeadAttention(model, shard);
  }
  for (const AttentionGroup& group : shard.attention) shard.kv_layers += group.layers * group.kv_share;
}

void AddRecurrence(const Model& model, Shard& shard) {
  if (!model.linear_attention) return;
  const LinearAttention own = OwnHeads(*model.linear_attention, shard.tensor_parallel);
  const RecurrentInputs inputs = RecurrentInputsOf(own);
  const double layers = own.num_layers;
  const bool mamba = own.type == LinearAttentionType::kMamba2;
  shard.recurrence = RecurrenceShard{.layers = layers,
                                     .chunk = 1.0 * own.chunk_size,
                                     .heads = 1.0 * own.num_value_heads,
                                     .key_heads = 1.0 * (mamba ? own.num_key_heads : own.num_value_heads),
                                     .key_dim = 1.0 * own.key_head_dim,
                                     .value_dim = 1.0 * own.value_head_dim,
                                     .delta_rule = !mamba,
                                     .gated_width = own.value_width(),
                                     .convolution_width = own.conv_width(),
                                     .state = StateElements(own) * BytesPerElement(own.state_dtype),
                                     .convolution = ConvolutionElements(own) * BytesPerElement(Dtype::kBf16)};
  const RecurrenceShard& recurrence = *shard.recurrence;
  shard.state_per_sequence += layers * (recurrence.state + recurrence.convolution) * shard.fullest_stage;
  shard.recurrent_width = inputs.width + inputs.gate_width + own.value_width();
  shard.matrices.push_back({Matrix::Kind::kRecurrentIn, layers, inputs.width, shard.hidden});
  if (inputs.rank > 0) {
    shard.matrices.push_back({Matrix::Kind::kRecurrentGate, layers, inputs.gate_width, inputs.rank});
  }
  shard.matrices.push_back({Matrix::Kind::kRecurrentOut, layers, shard.hidden, own.value_width()});
}

}  // namespace foretoken

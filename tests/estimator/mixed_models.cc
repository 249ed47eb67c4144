#include "tests/estimator/mixed_models.h"

#include <algorithm>

namespace foretoken {
namespace {

Model Base(RandomScenarios& source) {
  const int kv_heads = 1 << source.Pick(4);
  Model m{.id = "made-up-mixed",
          .num_hidden_layers = source.LogUniform(6, 100),
          .hidden_size = 64 * source.LogUniform(4, 128),
          .num_attention_heads = kv_heads * source.LogUniform(1, 8),
          .num_key_value_heads = kv_heads,
          .head_dim = 32 << source.Pick(4),
          .intermediate_size = 64 * source.LogUniform(8, 256),
          .vocab_size = source.LogUniform(1000, 200000),
          .tie_word_embeddings = source.OneIn(2),
          .mlp_matrices = 2 + source.Pick(2),
          .norms_per_layer = 1 + source.Pick(4)};
  if (source.OneIn(2)) {
    const int experts = source.LogUniform(4, 256);
    m.mixture_of_experts = MixtureOfExperts{.num_experts = experts,
                                            .num_experts_per_tok = 1 + source.Pick(std::min(experts, 10)),
                                            .moe_intermediate_size = 64 * source.LogUniform(2, 64),
                                            .first_k_dense_replace = source.Pick(3),
                                            .dense_intermediate_size = m.intermediate_size};
    if (source.OneIn(2)) m.mixture_of_experts->shared_expert_intermediate_size = 64 * source.LogUniform(2, 64);
    if (source.OneIn(3)) m.mixture_of_experts->moe_latent_size = 64 * source.LogUniform(2, 32);
  }
  return m;
}

void AddLatents(RandomScenarios& source, Model& m) {
  m.num_key_value_heads = m.num_attention_heads;
  m.latent_attention = LatentAttention{.q_lora_rank = 64 * source.LogUniform(2, 32),
                                       .kv_lora_rank = 64 * source.LogUniform(1, 16),
                                       .qk_rope_head_dim = 32 * source.Pick(4),
                                       .qk_nope_head_dim = 32 * source.LogUniform(1, 8),
                                       .v_head_dim = 32 * source.LogUniform(1, 8)};
}

void AddRecurrence(RandomScenarios& source, Model& m) {
  const int layers = m.num_hidden_layers;
  const int key_heads = 1 << source.Pick(4);
  LinearAttention linear{.type = static_cast<LinearAttentionType>(source.Pick(3)),
                         .num_layers = 1 + source.Pick(layers - 3),
                         .num_key_heads = key_heads,
                         .num_value_heads = key_heads * (1 << source.Pick(3)),
                         .key_head_dim = 32 << source.Pick(3),
                         .value_head_dim = 32 << source.Pick(3),
                         .conv_kernel_size = 2 + source.Pick(3),
                         .chunk_size = 64 << source.Pick(3),
                         .beside_attention = source.OneIn(4)};
  if (linear.type == LinearAttentionType::kKimiDeltaAttention) linear.num_value_heads = key_heads;
  if (source.OneIn(4)) linear.state_dtype = Dtype::kBf16;
  if (!linear.beside_attention && source.OneIn(2)) {  // layers of one block each
    m.num_attention_layers = 1 + source.Pick(layers - linear.num_layers);
    m.num_mlp_layers = 3 + source.Pick(layers - 3);
  }
  m.linear_attention = linear;
  if (source.OneIn(4)) AddLatents(source, m);
  if (!m.latent_attention) m.attention_output_gate = source.OneIn(2);
}

SparseAttention Indexer(RandomScenarios& source, int layers) {
  return {.index_n_heads = 1 << source.Pick(7),
          .index_head_dim = 32 << source.Pick(3),
          .index_topk = source.LogUniform(16, 4096),
          .num_indexer_layers = source.OneIn(2) ? layers : 1 + source.Pick(layers)};
}

void AddCompression(RandomScenarios& source, Model& m) {
  const int layers = m.num_hidden_layers;
  m.num_key_value_heads = 1;
  m.sliding_window = SlidingWindow{.window_tokens = source.LogUniform(16, 512)};
  m.compressed_attention = CompressedAttention{.q_lora_rank = 64 * source.LogUniform(2, 32),
                                               .o_groups = m.num_attention_heads % 2 == 0 ? 2 : 1,
                                               .o_lora_rank = 64 * source.LogUniform(1, 16),
                                               .num_sparse_layers = 1 + source.Pick(layers / 2),
                                               .sparse_compression = 2 << source.Pick(3),
                                               .num_heavy_layers = source.Pick(layers / 2),
                                               .heavy_compression = 16 << source.Pick(4)};
  m.sparse_attention = Indexer(source, layers);
  m.residual_streams = 1 + source.Pick(4);
}

// Layers of two shapes, of which later ones share the keys of earlier ones.
void AddShapes(RandomScenarios& source, Model& m) {
  const int full = 2 + source.Pick(m.num_hidden_layers - 4);
  m.sliding_window = SlidingWindow{.window_tokens = source.LogUniform(16, 4096), .num_full_attention_layers = full};
  m.sliding_window->full_attention_head_dim = 2 * m.head_dim;
  if (source.OneIn(2)) m.sliding_window->num_full_attention_key_value_heads = 1;
  m.sliding_window->full_attention_keys_are_values = source.OneIn(2);
  m.qk_norm = QkNorm::kPerHead;
  if (source.OneIn(2)) {
    m.shared_key_values = SharedKeyValues{.num_windowed_layers = source.Pick(m.num_hidden_layers - full),
                                          .num_full_attention_layers = source.Pick(full)};
    if (!m.mixture_of_experts) m.shared_key_values->intermediate_size = 2 * m.intermediate_size;
  }
  if (source.OneIn(2)) m.per_layer_input = PerLayerInput{.hidden_size = 64, .vocab_size = m.vocab_size};
}

}  // namespace

bool IsMixed(const Model& m) {
  const auto& window = m.sliding_window;
  const bool shapes = window && (window->full_attention_head_dim || window->num_full_attention_key_value_heads ||
                                 window->full_attention_keys_are_values);
  const bool latent_experts = m.mixture_of_experts && m.mixture_of_experts->moe_latent_size > 0;
  return m.linear_attention || m.sparse_attention || m.compressed_attention || m.num_attention_layers ||
         m.num_mlp_layers || m.attention_output_gate || m.per_layer_input || m.shared_key_values ||
         m.residual_streams > 1 || shapes || latent_experts;
}

Model MixedModel(RandomScenarios& source) {
  Model m = Base(source);
  switch (source.Pick(4)) {
    case 0:
      AddLatents(source, m);
      m.sparse_attention = Indexer(source, m.num_hidden_layers);
      break;
    case 1:
      AddCompression(source, m);
      break;
    case 2:
      AddShapes(source, m);
      break;
    default:
      AddRecurrence(source, m);
  }
  return m;
}

}  // namespace foretoken

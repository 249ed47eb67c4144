// A decoder-only transformer by its config.json fields, and how many parameters follow from them. Fields mirror
// foretoken.v1.ModelSpec with its defaults resolved: heads, head size and widths are always set.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_MODEL_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_MODEL_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "estimator/base/dtype.h"

namespace foretoken {

enum class NormType { kRmsNorm, kLayerNorm, kNonParametric, kLayerNormNoBias };
enum class QkNorm { kNone, kPerHead, kFull };
enum class LinearAttentionType { kGatedDeltaNet, kKimiDeltaAttention, kMamba2 };

struct SlidingWindow {
  int window_tokens = 0;
  int num_full_attention_layers = 0;
  bool chunked = false;                                   // a position sees its own chunk of window_tokens only
  std::optional<int> full_attention_head_dim;             // of the layers that see everything; else head_dim
  std::optional<int> num_full_attention_key_value_heads;  // likewise
  bool full_attention_keys_are_values = false;            // these layers have no value projection
};

// Later layers that attend to the keys and values of an earlier one.
struct SharedKeyValues {
  int num_windowed_layers = 0;
  int num_full_attention_layers = 0;
  std::optional<int> intermediate_size;  // of the MLP in all of these layers; else the model's

  int layers() const { return num_windowed_layers + num_full_attention_layers; }
};

// A second embedding with a part for each layer.
struct PerLayerInput {
  int hidden_size = 0;
  int vocab_size = 0;
};

// Recurrent layers. Queries and keys of Mamba 2 are its C and B, in `num_key_heads` groups.
struct LinearAttention {
  LinearAttentionType type = LinearAttentionType::kGatedDeltaNet;
  int num_layers = 0;
  int num_key_heads = 0;
  int num_value_heads = 0;
  int key_head_dim = 0;
  int value_head_dim = 0;
  int conv_kernel_size = 0;
  int chunk_size = 64;
  bool beside_attention = false;
  bool conv_bias = false;
  bool no_output_norm = false;
  Dtype state_dtype = Dtype::kFp32;

  double key_width() const { return static_cast<double>(num_key_heads) * key_head_dim; }
  double value_width() const { return static_cast<double>(num_value_heads) * value_head_dim; }
  double conv_width() const { return 2 * key_width() + value_width(); }  // queries, keys and values
};

struct SparseAttention {
  int index_n_heads = 0;
  int index_head_dim = 0;
  int index_topk = 0;
  int num_indexer_layers = 0;
};

// Each layer sees a window of tokens; beside it, entries of several tokens each.
struct CompressedAttention {
  int q_lora_rank = 0;
  int o_groups = 1;
  int o_lora_rank = 0;
  int num_sparse_layers = 0;  // entries chosen by the indexer
  int sparse_compression = 1;
  int num_heavy_layers = 0;  // all entries
  int heavy_compression = 1;
};

struct LatentAttention {
  std::optional<int> q_lora_rank;
  int kv_lora_rank = 0;
  int qk_rope_head_dim = 0;
  int qk_nope_head_dim = 0;
  int v_head_dim = 0;
};

struct MixtureOfExperts {
  int num_experts = 0;
  int num_experts_per_tok = 0;
  int moe_intermediate_size = 0;
  int num_shared_experts = 0;
  int shared_expert_intermediate_size = 0;  // of all shared experts together
  int first_k_dense_replace = 0;
  int moe_layer_freq = 1;
  int dense_intermediate_size = 0;  // MLP width of the dense layers
  Dtype native_expert_dtype = Dtype::kBf16;
  bool router_bias = false;         // one per routed expert
  bool shared_expert_gate = false;  // one row of hidden_size
  // Width at which routed experts read and write, between two projections; 0: hidden_size, without projections.
  int moe_latent_size = 0;
};

struct Model {
  std::string id;
  int num_hidden_layers = 0;
  int hidden_size = 0;
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int head_dim = 0;
  int intermediate_size = 0;
  int vocab_size = 0;
  bool tie_word_embeddings = false;
  int mlp_matrices = 3;
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool lm_head_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  NormType norm_type = NormType::kRmsNorm;
  int norms_per_layer = 2;
  bool parallel_block = false;
  int learned_position_rows = 0;
  bool attention_sinks = false;  // one per query head and layer
  bool embedding_norm = false;
  std::optional<SlidingWindow> sliding_window;
  std::optional<LatentAttention> latent_attention;
  std::optional<MixtureOfExperts> mixture_of_experts;
  std::optional<LinearAttention> linear_attention;
  std::optional<SparseAttention> sparse_attention;
  std::optional<CompressedAttention> compressed_attention;
  std::optional<int> num_attention_layers;  // else all without recurrence
  std::optional<int> num_mlp_layers;        // else all
  bool attention_output_gate = false;       // as wide as the queries, projected with them
  std::optional<PerLayerInput> per_layer_input;
  std::optional<SharedKeyValues> shared_key_values;
  int residual_streams = 1;
  std::optional<int> max_position_embeddings;
  Dtype native_dtype = Dtype::kBf16;
  std::string unsupported_reason;  // not empty: refuse with this text

  int attention_layers() const;
  int mlp_layers() const { return num_mlp_layers.value_or(num_hidden_layers); }
};

// Parameters of each part of a model, elements. Biases and norms count.
//
// Example: Llama-3.1-8B has 32 layers of 41,943,040 in attention, 176,160,768 in the MLP and 8,192 in norms, two
// matrices of 128,256 x 4,096 for embedding and LM head, and a final norm of 4,096: 8,030,261,248.
struct ParameterCounts {
  // Of all layers together.
  double attention = 0;   // projections, their biases, q/k and latent norms, sinks, indexers, compressors
  double recurrence = 0;  // projections, convolutions, decays and norms of recurrent layers
  double others = 0;      // hyper-connections, per-layer inputs, and MLPs that are wider than the others

  double dense_mlp_per_layer = 0;       // of a dense layer
  double expert = 0;                    // one routed expert
  double shared_experts_per_layer = 0;  // all shared experts of a MoE layer and their gate
  double router_per_layer = 0;          // with the projections to the width of the experts and back
  double norms_per_layer = 0;
  double embedding = 0;  // token, per-layer and learned position embeddings, and their norms
  double lm_head = 0;    // where tied, its bias only
  double final_norm = 0;
  int layers = 0;
  int dense_layers = 0;
  int moe_layers = 0;
  int num_experts = 0;
  int num_experts_per_tok = 0;

  double Total() const;
  // Parameters that one token uses: chosen and shared experts only, and the whole embedding.
  double Active() const;
};

// Counts the parameters that follow from the architecture. Exact: every count is an integer below 2^53.
//
// Of the layers with an MLP, the leading first_k_dense_replace are dense; of the others, every moe_layer_freq-th is a
// MoE layer.
// REQUIRES: heads, head size and widths are set; moe_layer_freq is at least 1.
ParameterCounts CountParameters(const Model& model);

// Refuses a model that the catalog lists as unsupported, with the catalog's reason. Errors: kUnsupportedModel, about
// `field`.
absl::Status CheckSupported(const Model& model, std::string_view field);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_MODEL_H_

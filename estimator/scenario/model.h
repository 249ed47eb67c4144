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

struct SlidingWindow {
  int window_tokens = 0;
  int num_full_attention_layers = 0;
  bool chunked = false;  // a position sees its own chunk of window_tokens only
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
  std::optional<int> max_position_embeddings;
  Dtype native_dtype = Dtype::kBf16;
  std::string unsupported_reason;  // not empty: refuse with this text
};

// Parameters of each part of a model, elements. Biases and norms count.
//
// Example: Llama-3.1-8B has 32 layers of 41,943,040 in attention, 176,160,768 in the MLP and 8,192 in norms, two
// matrices of 128,256 x 4,096 for embedding and LM head, and a final norm of 4,096: 8,030,261,248.
struct ParameterCounts {
  double attention_per_layer = 0;       // projections, their biases, q/k and latent norms, sinks
  double dense_mlp_per_layer = 0;       // of a dense layer
  double expert = 0;                    // one routed expert
  double shared_experts_per_layer = 0;  // all shared experts of a MoE layer and their gate
  double router_per_layer = 0;
  double norms_per_layer = 0;
  double embedding = 0;  // token and learned position embeddings, and their norm
  double lm_head = 0;    // where tied, its bias only
  double final_norm = 0;
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
// Leading first_k_dense_replace layers are dense; of the others, every moe_layer_freq-th is a MoE layer.
// REQUIRES: heads, head size and widths are set; moe_layer_freq is at least 1.
ParameterCounts CountParameters(const Model& model);

// Refuses a model that the catalog lists as unsupported, with the catalog's reason. Errors: kUnsupportedModel, about
// `field`.
absl::Status CheckSupported(const Model& model, std::string_view field);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_MODEL_H_

// The part of a model that one device computes: layers grouped by operator, heads and widths divided by tensor
// parallelism, bytes per element resolved. Everything that follows from model and placement alone, derived once.
//
// Heads that tensor_parallel does not divide are padded up; key and value heads are replicated past their number.
// Embedding, LM head and norms stay in 16 bits under weight quantisation, as engines keep them, except in llama.cpp's
// block formats, which quantise them too.
#ifndef FORETOKEN_ESTIMATOR_STEP_SHARD_H_
#define FORETOKEN_ESTIMATOR_STEP_SHARD_H_

#include <optional>

#include "absl/container/inlined_vector.h"
#include "estimator/base/units.h"
#include "estimator/scenario/model.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Layers whose attention sees the same span and has the same shape. window 0: the full context.
struct AttentionGroup {
  double layers = 0;
  double window = 0;  // positions that a token sees at most, entries where `compression` is not 1
  bool chunked = false;
  bool keeps_all = false;   // the KV cache holds the whole context although a token sees `window` of it at most
  double tile_heads = 0;    // kernels compute as many heads at least
  double compression = 1;   // tokens of an entry of the KV cache
  double kv_share = 1;      // bytes that a token and layer keep, over kv_elements * kv of the shard
  double prefill_dims = 0;  // of queries and values, per head
  double decode_dims = 0;   // likewise (MLA: absorbed)
  double kv_elements = 0;   // that each position seen costs to read, of this device
};

// Scores every position of the context for each token; the same on all devices.
struct IndexerShard {
  double layers = 0;
  double compression = 1;  // tokens of a position
  double heads = 0;
  double head_dim = 0;
  Bytes key;  // of a position
};

// What one device does in a recurrent layer beside its products.
struct RecurrenceShard {
  double layers = 0;
  double chunk = 0;      // tokens that kernels of a prefill multiply together
  double heads = 0;      // value heads of this device
  double key_heads = 0;  // of C and B, which all value heads of a group share; else as heads
  double key_dim = 0;    // of a head: the state is key_dim x value_dim
  double value_dim = 0;
  bool delta_rule = true;  // what a state holds already is subtracted from what a token adds
  double gated_width = 0;  // of outputs and their gate
  double convolution_width = 0;
  Bytes state;        // of a sequence and layer
  Bytes convolution;  // likewise: what the convolution remembers
};

// A weight matrix of n x k elements, applied in `layers` layers.
struct Matrix {
  enum class Kind {
    kQkv,
    kLatentDown,
    kLatentQueryUp,
    kLatentUp,
    kIndexer,
    kCompressor,
    kRecurrentIn,
    kRecurrentGate,
    kOut,
    kGroupedOut,
    kRecurrentOut,
    kPerLayerInput,
    kResidualMixing,
    kExpertProjection,
    kMlpUp,
    kMlpDown,
    kSharedUp,
    kSharedDown,
    kRouter
  };
  Kind kind;
  double layers = 0;
  double n = 0;
  double k = 0;
};

// The routed experts, as the devices of one expert-parallel group share them.
struct ExpertShard {
  double layers = 0;
  double num_experts = 0;      // E
  double chosen = 0;           // K_exp
  double expert_parallel = 1;  // ep
  double load_imbalance = 1;   // tokens of the busiest device over their mean
  double replicas = 1;         // attention replicas whose tokens meet in one expert group
  double devices = 1;          // that hold them: tp of each of those replicas
  ExpertExchange exchange = ExpertExchange::kAllGather;
  double up_n = 0, up_k = 0;  // gate and up of one expert, per device
  double down_n = 0, down_k = 0;
  Bytes bytes_per_weight;
  double hidden = 0;  // width of the rows that experts read and write
};

struct Shard {
  double layers = 0;         // of the whole model
  double stages = 1;         // pipeline parallel
  double fullest_stage = 1;  // share of the layers on the stage that has most
  double tensor_parallel = 1;
  double hidden = 0;                             // d
  double vocab = 0;                              // of this device
  double heads = 0;                              // query heads of this device
  double prefill_qk_dim = 0, prefill_v_dim = 0;  // per head, prefill
  double decode_qk_dim = 0, decode_v_dim = 0;    // per head, decode (MLA: absorbed)
  double latent_rank = 0;                        // MLA: r; else 0
  double latent_expand_dim = 0;                  // MLA: nope + v per head
  double latent_expand_layers = 0;               // MLA: layers that expand cached latents again in prefill
  bool attends_on_matrix_units = false;          // decode too, because all heads share a key: MLA, compressed entries
  double kv_elements = 0;                        // per token and layer that keeps them, of this device
  double kv_layers = 0;                          // that keep them: of all attention groups, by kv_share
  double mlp_width = 0;                          // widest MLP of this device, for activations
  double norms_per_layer = 2;
  double mlp_matrices = 3;
  double elementwise_width = 0;  // MLP activation elements per token, averaged over layers
  double all_reduces = 0;        // of all layers
  double residual_streams = 1;   // that hyper-connections read, mix and write around attention and MLP
  double per_layer_width = 0;    // of the second embedding, of all layers
  double recurrent_width = 0;    // of what a recurrent layer computes of a token before its state

  Bytes weight;      // bytes of a matrix element
  Bytes activation;  // of an element that enters a matrix
  Bytes residual;    // of every other activation: what leaves a matrix, the residual stream, messages
  Bytes kv;          // of a KV element
  Bytes head;        // of an embedding or LM head element

  absl::InlinedVector<Matrix, 10> matrices;
  absl::InlinedVector<AttentionGroup, 2> attention;
  std::optional<IndexerShard> indexer;
  std::optional<RecurrenceShard> recurrence;
  Bytes state_per_sequence;  // of all layers: states, convolutions and windows beside compressed entries
  std::optional<ExpertShard> experts;

  double parameters = 0;  // of the whole model
  // The layers of the fullest stage with the larger of embedding and LM head, both where there is one stage.
  Bytes weights_of_fullest_device;
  bool heads_padded = false;
};

// The dtype of the weights of routed experts: the model's own where the deployment keeps the model's dtype, else the
// deployment's. kUnspecified: the model has none.
Dtype ExpertDtype(const Model& model, const Placement& placement);

// REQUIRES: a supported model; a deployment with resolved dtypes.
Shard MakeShard(const Model& model, const Placement& placement);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_SHARD_H_

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

// Layers whose attention sees the same span. window 0: the full context.
struct AttentionGroup {
  double layers = 0;
  double window = 0;
  bool chunked = false;
};

// A weight matrix of n x k elements, applied in `layers` layers.
struct Matrix {
  enum class Kind {
    kQkv,
    kLatentDown,
    kLatentQueryUp,
    kLatentUp,
    kOut,
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
  double latent_rank = 0;                        // MLA: r, for the re-expansion of cached latents; else 0
  double latent_expand_dim = 0;                  // MLA: nope + v per head
  double kv_elements = 0;                        // per token and layer, of this device
  double mlp_width = 0;                          // widest MLP of this device, for activations
  double norms_per_layer = 2;
  double mlp_matrices = 3;
  double elementwise_width = 0;  // MLP activation elements per token, averaged over layers
  double all_reduces_per_layer = 2;

  Bytes weight;      // bytes of a matrix element
  Bytes activation;  // of an element that enters a matrix
  Bytes residual;    // of every other activation: what leaves a matrix, the residual stream, messages
  Bytes kv;          // of a KV element
  Bytes head;        // of an embedding or LM head element

  absl::InlinedVector<Matrix, 10> matrices;
  absl::InlinedVector<AttentionGroup, 2> attention;
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

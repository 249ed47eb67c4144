#include "estimator/step/shard.h"

#include <algorithm>
#include <cmath>

#include "estimator/step/mixer_shard.h"

namespace foretoken {
namespace {

double DivideUp(double amount, double parts) { return std::ceil(amount / parts); }

bool IsLlamaCppFormat(Dtype dtype) { return dtype == Dtype::kQ8_0 || dtype == Dtype::kQ4_0 || dtype == Dtype::kQ4_K_M; }

Bytes HeadBytes(Dtype weight_dtype) {
  const Bytes weight = BytesPerElement(weight_dtype);
  return IsLlamaCppFormat(weight_dtype) ? weight : std::max(weight, BytesPerElement(Dtype::kBf16));
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
  const double hidden = moe.moe_latent_size > 0 ? moe.moe_latent_size : shard.hidden;
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
      .up_k = hidden,
      .down_n = hidden,
      .down_k = width,
      .bytes_per_weight = BytesPerElement(ExpertDtype(model, placement)),
      .hidden = hidden,
  };
  if (moe.moe_latent_size > 0) {
    shard.matrices.push_back({Matrix::Kind::kExpertProjection, moe_layers, hidden, shard.hidden});
    shard.matrices.push_back({Matrix::Kind::kExpertProjection, moe_layers, shard.hidden, hidden});
  }
  shard.matrices.push_back({Matrix::Kind::kRouter, moe_layers, static_cast<double>(moe.num_experts), shard.hidden});
}

// The width of the MLPs that differ from the others; 0: there are none.
double WiderMlp(const Model& model, double tp) {
  if (!model.shared_key_values || !model.shared_key_values->intermediate_size) return 0;
  return DivideUp(*model.shared_key_values->intermediate_size, tp);
}

// Gate and share of the common projection, and the way back. Engines keep them whole on every device.
void AddPerLayerInputs(const Model& model, Shard& shard) {
  if (!model.per_layer_input) return;
  const double width = model.per_layer_input->hidden_size;
  shard.per_layer_width = shard.layers * width;
  shard.matrices.push_back({Matrix::Kind::kPerLayerInput, 2 * shard.layers, width, shard.hidden});
  shard.matrices.push_back({Matrix::Kind::kPerLayerInput, shard.layers, shard.hidden, width});
}

// Weights of the mix of all streams, around attention and MLP.
void AddHyperConnections(const Model& model, Shard& shard) {
  const double streams = shard.residual_streams = model.residual_streams;
  if (streams <= 1) return;
  shard.matrices.push_back(
      {Matrix::Kind::kResidualMixing, 2 * shard.layers, (2 + streams) * streams, streams * shard.hidden});
}

void AddMlps(const Model& model, const Placement& placement, const ParameterCounts& counts, Shard& shard) {
  const double tp = placement.tensor_parallel;
  const auto& moe = model.mixture_of_experts;
  const double dense_width = DivideUp(moe ? moe->dense_intermediate_size : model.intermediate_size, tp);
  const double wider_width = WiderMlp(model, tp);
  const double wider_layers = wider_width > 0 ? model.shared_key_values->layers() : 0;
  const double dense_layers = counts.dense_layers - wider_layers;
  AddMlp(dense_layers, dense_width, Matrix::Kind::kMlpUp, Matrix::Kind::kMlpDown, shard);
  AddMlp(wider_layers, wider_width, Matrix::Kind::kMlpUp, Matrix::Kind::kMlpDown, shard);
  shard.mlp_width = std::max(dense_layers > 0 ? dense_width : 0, wider_width);
  double elements = dense_layers * dense_width + wider_layers * wider_width;
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
  Bytes positions = model.learned_position_rows * shard.hidden * shard.head;
  if (model.per_layer_input) {
    positions +=
        DivideUp(model.per_layer_input->vocab_size, shard.tensor_parallel) * shard.per_layer_width * shard.head;
  }
  return layers * shard.fullest_stage + table * (both ? 2 : 1) + positions + counts.final_norm * shard.head;
}

// One for each mixer of tokens (attention or recurrence) and each MLP; one where they work side by side.
double AllReduces(const Model& model) {
  if (model.parallel_block) return model.num_hidden_layers;
  const bool own_layers = model.linear_attention && !model.linear_attention->beside_attention;
  const int recurrent = own_layers ? model.linear_attention->num_layers : 0;
  return static_cast<double>(model.attention_layers()) + recurrent + model.mlp_layers();
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
  shard.all_reduces = AllReduces(model);
  shard.weight = BytesPerElement(placement.weight_dtype);
  shard.activation = BytesPerElement(placement.activation_dtype);
  shard.residual = std::max(shard.activation, BytesPerElement(Dtype::kBf16));
  shard.kv = BytesPerElement(placement.kv_cache_dtype);
  shard.head = HeadBytes(placement.weight_dtype);
  AddAttention(model, shard);
  AddRecurrence(model, shard);
  AddPerLayerInputs(model, shard);
  AddHyperConnections(model, shard);
  const ParameterCounts counts = CountParameters(model);
  AddMlps(model, placement, counts, shard);
  shard.parameters = counts.Total();
  shard.weights_of_fullest_device = WeightsOfFullestDevice(model, counts, shard);
  return shard;
}

}  // namespace foretoken

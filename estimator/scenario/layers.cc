#include "estimator/scenario/layers.h"

#include <cmath>

namespace foretoken {
namespace {

using Layers = absl::InlinedVector<AttentionLayers, 2>;

// Splits layers by whose keys they attend to.
void Add(AttentionLayers layers, int sharing, Layers& all) {
  const int own = layers.layers - sharing;
  if (own > 0) all.push_back(layers);
  if (own > 0) all.back().layers = own;
  if (sharing <= 0) return;
  all.push_back(layers);
  all.back().layers = sharing;
  all.back().own_keys = false;
}

}  // namespace

int Model::attention_layers() const {
  if (num_attention_layers) return *num_attention_layers;
  if (!linear_attention || linear_attention->beside_attention) return num_hidden_layers;
  return num_hidden_layers - linear_attention->num_layers;
}

Layers AttentionLayersOf(const Model& model) {
  const SharedKeyValues shared = model.shared_key_values.value_or(SharedKeyValues());
  AttentionLayers each{
      .layers = model.attention_layers(), .key_value_heads = model.num_key_value_heads, .head_dim = model.head_dim};
  Layers all;
  if (!model.sliding_window) {
    Add(each, shared.num_full_attention_layers, all);
    return all;
  }
  const SlidingWindow& window = *model.sliding_window;
  AttentionLayers full = each;
  full.layers = window.num_full_attention_layers;
  full.head_dim = window.full_attention_head_dim.value_or(model.head_dim);
  full.key_value_heads = window.num_full_attention_key_value_heads.value_or(model.num_key_value_heads);
  full.keys_are_values = window.full_attention_keys_are_values;
  Add(full, shared.num_full_attention_layers, all);
  each.layers -= full.layers;
  each.windowed = true;
  Add(each, shared.num_windowed_layers, all);
  return all;
}

RecurrentInputs RecurrentInputsOf(const LinearAttention& linear) {
  const double heads = linear.num_value_heads;
  const double without_gate = linear.conv_width();
  switch (linear.type) {
    case LinearAttentionType::kGatedDeltaNet:
      return {.width = without_gate + linear.value_width() + 2 * heads};
    case LinearAttentionType::kMamba2:
      return {.width = without_gate + linear.value_width() + heads};
    case LinearAttentionType::kKimiDeltaAttention:
      return {.width = without_gate + heads + 2.0 * linear.value_head_dim,
              .rank = static_cast<double>(linear.value_head_dim),
              .gate_width = linear.key_width() + linear.value_width()};
  }
  return {};
}

double StateElements(const LinearAttention& linear) { return linear.value_width() * linear.key_head_dim; }

double ConvolutionElements(const LinearAttention& linear) {
  return linear.conv_width() * (linear.conv_kernel_size - 1);
}

Bytes IndexKeyBytes(const SparseAttention& sparse) {
  constexpr double kScaled = 128;
  return Bytes(sparse.index_head_dim + 4 * std::ceil(sparse.index_head_dim / kScaled));
}

}  // namespace foretoken

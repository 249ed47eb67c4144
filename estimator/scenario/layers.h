// What the layers of a model are: attention of one shape or of several, and recurrence.
//
//   for (const AttentionLayers& layers : AttentionLayersOf(model)) cache += layers.layers * layers.CachedElements();
//
// Sources of the shapes: the architectures' code in Transformers (models qwen3_next, kimi_linear, mamba2, gemma4,
// deepseek_v3, deepseek_v32, deepseek_v4).
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_LAYERS_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_LAYERS_H_

#include "absl/container/inlined_vector.h"
#include "estimator/base/units.h"
#include "estimator/scenario/model.h"

namespace foretoken {

// Layers whose attention has one shape.
struct AttentionLayers {
  int layers = 0;
  bool windowed = false;  // by the model's sliding window
  int key_value_heads = 0;
  int head_dim = 0;
  bool keys_are_values = false;  // one projection for both
  bool own_keys = true;          // false: those of an earlier layer
};

// All layers with attention: those that see everything, then those with a window, each first with keys of their own. A
// model without windows and shared keys has one entry. REQUIRES: heads and head size are set; no compressed attention.
absl::InlinedVector<AttentionLayers, 2> AttentionLayersOf(const Model& model);

// Products that enter the recurrence of a layer. Queries, keys, values, output gate and scalars of each head come from
// the residual stream in one. Gates of low rank come from there too, and then from `rank` to the widths of keys and
// values.
struct RecurrentInputs {
  double width = 0;       // of the first product
  double rank = 0;        // of each of two gates; 0: no low-rank gates
  double gate_width = 0;  // both gates after their second products

  double Elements(double hidden) const { return hidden * width + rank * gate_width; }
};

RecurrentInputs RecurrentInputsOf(const LinearAttention& linear);

// Elements of the state of one recurrent layer and sequence: a matrix per value head. Qwen3-Next: 32 x 128 x 128.
double StateElements(const LinearAttention& linear);

// Elements that the convolution of one recurrent layer and sequence remembers: all its taps but the newest.
double ConvolutionElements(const LinearAttention& linear);

// Bytes of an indexer's key of one token: 8 bits an element, and a scale of 4 bytes for each 128 of them.
// Source: the indexer cache of vLLM and SGLang (132 bytes for 128 elements).
Bytes IndexKeyBytes(const SparseAttention& sparse);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_LAYERS_H_

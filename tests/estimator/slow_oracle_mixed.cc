#include "tests/estimator/slow_oracle_mixed.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace foretoken {
namespace {

double Up(double amount, double parts) { return std::ceil(amount / parts); }

double Bytes8(Dtype dtype) { return BytesPerElement(dtype).value(); }

}  // namespace

SlowOracle::Mixer SlowOracle::MixerOf(int layer) const {
  const int layers = model_.num_hidden_layers;
  const int recurrent = model_.linear_attention ? model_.linear_attention->num_layers : 0;
  const bool beside = model_.linear_attention && model_.linear_attention->beside_attention;
  const int attending = model_.num_attention_layers.value_or(layers - (beside ? 0 : recurrent));
  const int mlps = model_.num_mlp_layers.value_or(layers);
  Mixer m{.attention = layer < attending, .recurrence = layer >= layers - recurrent};
  const int full = model_.sliding_window ? model_.sliding_window->num_full_attention_layers : attending;
  m.windowed = m.attention && layer >= full;
  if (model_.shared_key_values) {
    const SharedKeyValues& shared = *model_.shared_key_values;
    m.shares_keys = m.windowed ? layer >= attending - shared.num_windowed_layers
                               : layer < full && layer >= full - shared.num_full_attention_layers;
    m.wide = m.shares_keys && shared.intermediate_size.has_value();
  }
  m.indexed = model_.sparse_attention && layer < model_.sparse_attention->num_indexer_layers;
  if (model_.compressed_attention) {
    const CompressedAttention& c = *model_.compressed_attention;
    m.indexed = m.sparse_entries = layer < c.num_sparse_layers;
    m.heavy_entries = !m.sparse_entries && layer < c.num_sparse_layers + c.num_heavy_layers;
  }
  if (layer < mlps) {
    m.experts = model_.mixture_of_experts && layer >= model_.mixture_of_experts->first_k_dense_replace;
    m.dense = !m.experts;
  }
  return m;
}

// Layers of a kind take the same time.
Spent SlowOracle::MixedLayers(const Shape& x) const {
  std::map<Mixer, Spent> kinds;
  Spent all;
  for (int layer = 0; layer < model_.num_hidden_layers; ++layer) {
    const Mixer mixer = MixerOf(layer);
    const auto known = kinds.find(mixer);
    all += known != kinds.end() ? known->second : kinds.emplace(mixer, MixedLayer(mixer, x)).first->second;
  }
  if (model_.per_layer_input) {  // one product makes the inputs of all layers; each has its own part of it
    const double tokens = x.decoding + x.prefilling * x.n;
    const double width = model_.per_layer_input->hidden_size;
    all += model_.num_hidden_layers *
           (2 * Gemm(tokens, width, model_.hidden_size, weight_) + Gemm(tokens, model_.hidden_size, width, weight_));
  }
  return all;
}

Spent SlowOracle::MixedLayer(const Mixer& mixer, const Shape& x) const {
  const double tokens = x.decoding + x.prefilling * x.n;
  Spent spent{.memory = MixedElementwise(mixer, tokens), .host = e_.layer_gap.value()};
  if (mixer.attention) {
    if (model_.compressed_attention) {
      spent += CompressedMixer(mixer, x);
    } else {
      spent += model_.latent_attention ? LatentMixer(mixer, x) : HeadMixer(mixer, x);
    }
  }
  if (mixer.recurrence) spent += Recurrence(x);
  const double streams = model_.residual_streams;
  if (streams > 1) {
    spent += 2 * Gemm(tokens, (2 + streams) * streams, streams * model_.hidden_size, weight_);
  }
  return spent + MixedMlp(mixer, x);
}

// Pairs are counted query by query. A query sees a fraction of an entry as soon as it has begun.
Spent SlowOracle::Attend(const Sight& sight, const Shape& x) const {
  const auto seen = [&](double context) {
    const double positions = context / sight.compression;
    return sight.window > 0 ? std::min(positions, sight.window) : positions;
  };
  Spent spent;
  if (x.prefilling > 0) {
    double pairs = 0;
    for (double i = 1; i <= x.n; ++i) pairs += sight.chooses ? sight.window : seen(x.p + i);
    const bool all = sight.window <= 0 || sight.chooses;
    const double positions = all ? (x.p + x.n) / sight.compression : std::min(x.p, sight.window) + x.n;
    double bytes = positions * sight.elements * kv_ + x.n * heads_ * sight.prefill_dims * residual_;
    if (d_.attention_kernel == AttentionKernel::kNaive) bytes += 4 * x.n * (x.p + x.n) * heads_ * residual_;
    const double flops = 2 * pairs * (sight.chooses ? std::max(64.0, heads_) : heads_) * sight.prefill_dims;
    Spent one = Roofline(flops / attention_, bytes / (bandwidth_ * e_.kv_read));
    one.flops = flops;
    spent += x.prefilling * one;
  }
  if (x.decoding > 0) {
    const double positions = x.decoding * seen(x.context);
    const double flops = 2 * positions * (sight.chooses ? std::max(64.0, heads_) : heads_) * sight.decode_dims;
    const double bytes = positions * sight.elements * kv_;
    Spent one = Roofline(flops / (sight.matrix_units ? attention_ : vector_), bytes / (bandwidth_ * e_.kv_read));
    one.flops = flops;
    one.kv = bytes;
    spent += one;
  }
  return spent;
}

// Scores of all positions; 8 bytes of each pass memory.
Spent SlowOracle::Index(double compression, const Shape& x) const {
  const SparseAttention& sparse = *model_.sparse_attention;
  const double key = sparse.index_head_dim + 4 * Up(sparse.index_head_dim, 128);
  const auto scored = [&](double pairs, double positions) {
    const double flops = 2 * pairs * sparse.index_n_heads * sparse.index_head_dim;
    Spent one = Roofline(flops / index_, (positions * key + pairs * 8) / (bandwidth_ * e_.kv_read));
    one.flops = flops;
    return one;
  };
  Spent spent;
  if (x.prefilling > 0) {
    double pairs = 0;
    for (double i = 1; i <= x.n; ++i) pairs += (x.p + i) / compression;
    spent += x.prefilling * scored(pairs, (x.p + x.n) / compression);
  }
  if (x.decoding > 0) {
    const double positions = x.decoding * x.context / compression;
    Spent one = scored(positions, positions);
    one.kv = positions * key;
    spent += one;
  }
  return spent;
}

Spent SlowOracle::HeadMixer(const Mixer& m, const Shape& x) const {
  const double tokens = x.decoding + x.prefilling * x.n;
  const auto& window = model_.sliding_window;
  const bool own_shape = window && !m.windowed;
  const double dim = own_shape ? window->full_attention_head_dim.value_or(model_.head_dim) : model_.head_dim;
  const double kv_heads =
      own_shape ? Up(window->num_full_attention_key_value_heads.value_or(model_.num_key_value_heads), tp_) : kv_heads_;
  const double gates = model_.attention_output_gate ? heads_ : 0;
  const bool same = own_shape && window->full_attention_keys_are_values;
  const double projected = m.shares_keys ? 0 : (same ? 1 : 2);
  const Sight sight{.window = m.windowed ? 1.0 * window->window_tokens : 0,
                    .prefill_dims = 2 * dim,
                    .decode_dims = 2 * dim,
                    .elements = 2 * kv_heads * dim};
  return Gemm(tokens, (heads_ + gates + projected * kv_heads) * dim, model_.hidden_size, weight_) +
         Gemm(tokens, model_.hidden_size, heads_ * dim, weight_) + Attend(sight, x);
}

Spent SlowOracle::LatentMixer(const Mixer& m, const Shape& x) const {
  const LatentAttention& mla = *model_.latent_attention;
  const double tokens = x.decoding + x.prefilling * x.n;
  const double d = model_.hidden_size;
  const double r = mla.kv_lora_rank;
  const double rope = mla.qk_rope_head_dim;
  const double nope = mla.qk_nope_head_dim;
  const double q = mla.q_lora_rank.value_or(0);
  const double q_in = q > 0 ? q : d;
  Spent spent = Gemm(tokens, r + rope + q, d, weight_) + Gemm(tokens, heads_ * (nope + rope), q_in, weight_) +
                Gemm(tokens, heads_ * (nope + mla.v_head_dim), r, weight_) +
                Gemm(tokens, d, heads_ * mla.v_head_dim, weight_);
  const double absorbed = r + rope + r;
  Sight sight{.prefill_dims = nope + rope + mla.v_head_dim,
              .decode_dims = absorbed,
              .elements = r + rope,
              .matrix_units = true};
  if (model_.sparse_attention) {
    const SparseAttention& sparse = *model_.sparse_attention;
    sight.window = sparse.index_topk;
    sight.chooses = true;
    sight.prefill_dims = absorbed;
    if (m.indexed) {
      spent += Gemm(tokens, sparse.index_n_heads * sparse.index_head_dim, q_in, weight_) +
               Gemm(tokens, sparse.index_head_dim + sparse.index_n_heads, d, weight_) + Index(1, x);
    }
  } else if (x.prefilling > 0 && x.p > 0) {  // cached latents are expanded again
    const double rows = x.prefilling * x.p;
    const double expanded = heads_ * (nope + mla.v_head_dim);
    Spent one =
        Roofline(2 * rows * r * expanded / gemm_, rows * (r + expanded) * residual_ / (bandwidth_ * e_.elementwise));
    one.flops = 2 * rows * r * expanded;
    spent += one;
  }
  return spent + Attend(sight, x);
}

Spent SlowOracle::CompressedMixer(const Mixer& m, const Shape& x) const {
  const CompressedAttention& c = *model_.compressed_attention;
  const double tokens = x.decoding + x.prefilling * x.n;
  const double d = model_.hidden_size;
  const double dim = model_.head_dim;
  const double groups = Up(c.o_groups, tp_);
  Spent spent = Gemm(tokens, c.q_lora_rank + dim, d, weight_) + Gemm(tokens, heads_ * dim, c.q_lora_rank, weight_) +
                groups * Gemm(tokens, c.o_lora_rank, heads_ * dim / groups, weight_) +
                Gemm(tokens, d, groups * c.o_lora_rank, weight_);
  const auto sees = [&](double window, bool chooses, double compression) {
    return Attend({.window = window,
                   .chooses = chooses,
                   .compression = compression,
                   .prefill_dims = 2 * dim,
                   .decode_dims = 2 * dim,
                   .elements = dim,
                   .matrix_units = true},
                  x);
  };
  spent += sees(model_.sliding_window->window_tokens, false, 1);
  if (m.sparse_entries) {
    const SparseAttention& sparse = *model_.sparse_attention;
    const double entries = 2 * 2 * dim;  // entry and gate, of overlapping windows
    const double keys = 2 * 2 * sparse.index_head_dim;
    spent += Gemm(tokens, entries + keys + sparse.index_n_heads, d, weight_) +
             Gemm(tokens, sparse.index_n_heads * sparse.index_head_dim, c.q_lora_rank, weight_) +
             Index(c.sparse_compression, x) + sees(sparse.index_topk, true, c.sparse_compression);
  }
  if (m.heavy_entries) spent += Gemm(tokens, 2 * dim, d, weight_) + sees(0, false, c.heavy_compression);
  return spent;
}

Spent SlowOracle::Recurrence(const Shape& x) const {
  const LinearAttention& l = *model_.linear_attention;
  const bool mamba = l.type == LinearAttentionType::kMamba2;
  const double tokens = x.decoding + x.prefilling * x.n;
  const double heads = Up(l.num_value_heads, tp_);
  const double key_heads = Up(l.num_key_heads, tp_);
  const double dk = l.key_head_dim;
  const double dv = l.value_head_dim;
  const double mixed = 2 * key_heads * dk + heads * dv;  // what the convolution mixes
  Spent spent;
  if (l.type == LinearAttentionType::kKimiDeltaAttention) {
    spent += Gemm(tokens, mixed + heads + 2 * dv, model_.hidden_size, weight_) +
             Gemm(tokens, key_heads * dk + heads * dv, dv, weight_);
  } else {
    spent += Gemm(tokens, mixed + heads * dv + (mamba ? 1 : 2) * heads, model_.hidden_size, weight_);
  }
  spent += Gemm(tokens, model_.hidden_size, heads * dv, weight_);
  const double state = heads * dk * dv * Bytes8(l.state_dtype);
  const double taps = mixed * (l.conv_kernel_size - 1) * 2;
  const auto kernels = [&](double flops, double bytes) {
    Spent one = Roofline(flops / recurrence_, bytes / (bandwidth_ * e_.kv_read));
    one.flops = flops;
    return one;
  };
  if (x.prefilling > 0) {
    const double c = l.chunk_size;
    const double n = x.prefilling * x.n;
    double flops = heads * (2 * c * dv + 2 * dk * dv + 2 * dk * dv) + key_heads * 2 * c * dk;
    // Keys of a group: for scores both, for states one, for outputs one. Values three times, and outputs.
    double elements = key_heads * (2 * dk + dk + dk) + heads * (3 * dv + dv + 2 * dk * dv / c);
    if (!mamba) {
      const double scores = 2 * c * dk;                 // keys by keys
      const double inverted = 2 * c * dk + 2 * c * dv;  // w and u
      const double within = 2 * c * dk + 2 * c * dv;    // queries by keys, by values
      const double between = 2 * dk * dv * 3;           // w by state, queries by state, keys by values
      flops = heads * (scores + inverted + within + between);
      const double kernel_scores = dk + c;  // reads, writes
      const double kernel_inverse = c + c;
      const double kernel_wu = dk + dv + c + dk + dv;
      const double kernel_states = dk + dk + dv + dv + dk * dv / c;
      const double kernel_outputs = dk + dk + dv + dk * dv / c + dv;
      elements = heads * (kernel_scores + kernel_inverse + kernel_wu + kernel_states + kernel_outputs);
    }
    spent += kernels(n * flops, n * elements * residual_ + x.prefilling * (2 * state + 2 * taps));
  }
  if (x.decoding > 0) {
    Spent one = kernels(x.decoding * heads * dk * dv * (mamba ? 5 : 7),
                        x.decoding * ((mixed + heads * dv) * residual_ + 2 * state + 2 * taps));
    one.kv = x.decoding * (state + taps);
    spent += one;
  }
  return spent;
}

Spent SlowOracle::MixedMlp(const Mixer& m, const Shape& x) const {
  const double tokens = x.decoding + x.prefilling * x.n;
  const double d = model_.hidden_size;
  const auto dense = [&](double width) {
    if (width <= 0) return Spent{};
    return Gemm(tokens, (model_.mlp_matrices - 1) * width, d, weight_) + Gemm(tokens, d, width, weight_);
  };
  const auto& moe = model_.mixture_of_experts;
  if (m.dense) {
    const double width = moe ? moe->dense_intermediate_size : model_.intermediate_size;
    return dense(Up(m.wide ? *model_.shared_key_values->intermediate_size : width, tp_));
  }
  if (!m.experts) return {};
  Spent spent = Gemm(tokens, moe->num_experts, d, weight_) + dense(Up(moe->shared_expert_intermediate_size, tp_)) +
                Experts(tokens, x);
  const double latent = moe->moe_latent_size;
  if (latent > 0) spent += Gemm(tokens, latent, d, weight_) + Gemm(tokens, d, latent, weight_);
  return spent;
}

// Of a token and layer: what is kept for attention, in elements of the KV cache's dtype.
double SlowOracle::KvElements(const Mixer& m) const {
  if (!m.attention || m.shares_keys) return 0;
  const auto& window = model_.sliding_window;
  const double key =
      m.indexed ? (model_.sparse_attention->index_head_dim + 4 * Up(model_.sparse_attention->index_head_dim, 128)) / kv_
                : 0;
  if (model_.compressed_attention) {
    const CompressedAttention& c = *model_.compressed_attention;
    if (m.sparse_entries) return (model_.head_dim + key) / c.sparse_compression;
    return m.heavy_entries ? 1.0 * model_.head_dim / c.heavy_compression : 0;
  }
  if (model_.latent_attention) {
    return model_.latent_attention->kv_lora_rank + model_.latent_attention->qk_rope_head_dim + key;
  }
  if (!window || m.windowed) return 2 * kv_heads_ * model_.head_dim;
  return 2 * Up(window->num_full_attention_key_value_heads.value_or(model_.num_key_value_heads), tp_) *
         window->full_attention_head_dim.value_or(model_.head_dim);
}

double SlowOracle::MixedElementwise(const Mixer& m, double tokens) const {
  const auto& moe = model_.mixture_of_experts;
  double width = 0;
  if (m.dense) width = Up(moe ? moe->dense_intermediate_size : model_.intermediate_size, tp_);
  if (m.dense && m.wide) width = Up(*model_.shared_key_values->intermediate_size, tp_);
  if (m.experts) {
    width = moe->num_experts_per_tok * moe->moe_intermediate_size / tp_ + Up(moe->shared_expert_intermediate_size, tp_);
  }
  const double normed = model_.norms_per_layer * model_.hidden_size;
  const double gated = (model_.mlp_matrices - 1) * width;
  double bytes = (normed + gated) * residual_ + (normed + width) * activation_;
  if (d_.unfused_elementwise) bytes *= 2;
  bytes += KvElements(m) * kv_;
  if (m.recurrence) {
    const LinearAttention& l = *model_.linear_attention;
    const double values = Up(l.num_value_heads, tp_) * l.value_head_dim;
    const double mixed = 2 * Up(l.num_key_heads, tp_) * l.key_head_dim + values;
    bytes += (2 * mixed + 3 * values) * residual_;
  }
  if (model_.residual_streams > 1) bytes += 6.0 * model_.residual_streams * model_.hidden_size * residual_;
  return tokens * bytes / (bandwidth_ * e_.elementwise);
}

// Of all layers, whatever the context.
double SlowOracle::StateBytes() const {
  double bytes = 0;
  if (model_.linear_attention) {
    const LinearAttention& l = *model_.linear_attention;
    const double heads = Up(l.num_value_heads, tp_);
    const double mixed = 2 * Up(l.num_key_heads, tp_) * l.key_head_dim + heads * l.value_head_dim;
    bytes += l.num_layers *
             (heads * l.key_head_dim * l.value_head_dim * Bytes8(l.state_dtype) + mixed * (l.conv_kernel_size - 1) * 2);
  }
  if (model_.compressed_attention) {
    bytes += 1.0 * model_.num_hidden_layers * model_.sliding_window->window_tokens * model_.head_dim * kv_;
  }
  return bytes;
}

double SlowOracle::MixedKvKept() const {
  const int context = w_.prompt_tokens + w_.output_tokens;
  double bytes = StateBytes();
  for (int layer = 0; layer < model_.num_hidden_layers; ++layer) {
    const Mixer m = MixerOf(layer);
    const bool bounded = m.windowed && !model_.compressed_attention;
    const int kept = bounded ? std::min(model_.sliding_window->window_tokens, context) : context;
    for (int token = 0; token < kept; token += 16) bytes += 16 * KvElements(m) * kv_;
  }
  const double layers = model_.num_hidden_layers;
  return bytes * Up(layers, pp_) / layers;
}

// One for each mixer of tokens and each MLP.
double SlowOracle::AllReduces() const {
  if (!mixed_) return model_.num_hidden_layers * (model_.parallel_block ? 1 : 2);
  double count = 0;
  for (int layer = 0; layer < model_.num_hidden_layers; ++layer) {
    const Mixer m = MixerOf(layer);
    count += (m.attention || m.recurrence ? 1 : 0) + (m.dense || m.experts ? 1 : 0);
  }
  return count;
}

}  // namespace foretoken

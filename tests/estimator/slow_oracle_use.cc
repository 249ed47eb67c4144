#include <algorithm>

#include "tests/estimator/slow_oracle.h"

namespace foretoken {

double SlowOracle::Joules(const Spent& spent) const {
  const Hardware& h = *scenario_.hardware;
  const double time = spent.Total();
  const double busy = std::max(spent.compute, spent.memory);  // the rest of the time the device idles
  return *h.tdp_watts * busy + h.idle_watts.value_or(0) * (time - busy);
}

// A device holds the layers of its stage, which each token of each sequence passes once.
double SlowOracle::Mbu(double sequences, double decode_seconds) const {
  double read = 0;
  for (double j = 1; j < w_.output_tokens; ++j) {
    const Spent step = Step({.decoding = sequences, .context = w_.prompt_tokens + j, .logits = sequences});
    read += (step.weights + step.kv) / pp_;
  }
  return read / decode_seconds / bandwidth_;
}

double SlowOracle::Mfu(double sequences, double prefill_seconds) const {
  const double prior = w_.cached_prefix_tokens;
  const Spent whole = Step({.prefilling = sequences, .n = w_.prompt_tokens - prior, .p = prior, .logits = sequences});
  return whole.flops / pp_ / prefill_seconds / peak_;
}

double SlowOracle::KvKept() const {
  if (mixed_) return MixedKvKept();
  const auto& mla = model_.latent_attention;
  const double elements = mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * kv_heads_ * model_.head_dim;
  double bytes = 0;
  for (int layer = 0; layer < model_.num_hidden_layers; ++layer) {
    const int kept = IsWindowed(layer) ? model_.sliding_window->window_tokens : w_.prompt_tokens + w_.output_tokens;
    for (int token = 0; token < std::min(kept, w_.prompt_tokens + w_.output_tokens); token += 16) {
      bytes += 16 * elements * kv_;
    }
  }
  const double layers = model_.num_hidden_layers;
  return bytes * std::ceil(layers / pp_) / layers;  // of the stage with most layers
}

}  // namespace foretoken

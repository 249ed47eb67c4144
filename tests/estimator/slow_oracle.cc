#include "tests/estimator/slow_oracle.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/estimator/mixed_models.h"
#include "tests/estimator/slow_oracle_mixed.h"

namespace foretoken {
namespace {

double Up(double amount, double parts) { return std::ceil(amount / parts); }

double Bytes8(Dtype dtype) { return BytesPerElement(dtype).value(); }

}  // namespace

OraclePeak PeakOf(const Hardware& hardware, Dtype weight, Dtype activation) {
  const Dtype dtype = Bytes8(weight) > Bytes8(activation) ? weight : activation;
  const PeakCompute& p = hardware.peak;
  using Figure = std::optional<FlopsPerSecond>;
  const Figure half = dtype == Dtype::kFp16 && p.fp16 ? p.fp16 : p.bf16;
  const bool eight = dtype == Dtype::kFp8 || dtype == Dtype::kFp8Block;
  if (dtype == Dtype::kFp32) return {p.fp32->value(), 4};
  if (eight && p.fp8) return {p.fp8->value(), 1};
  if (dtype == Dtype::kInt4 && p.int4) return {p.int4->value(), 0.5};
  if ((dtype == Dtype::kInt8 || dtype == Dtype::kInt4) && p.int8) return {p.int8->value(), 1};
  return {half->value(), 2};
}

Spent& Spent::operator+=(const Spent& o) {
  compute += o.compute;
  memory += o.memory;
  communication += o.communication;
  host += o.host;
  queueing += o.queueing;
  flops += o.flops;
  weights += o.weights;
  kv += o.kv;
  return *this;
}

Spent operator*(double k, const Spent& a) {
  return {k * a.compute,  k * a.memory, k * a.communication, k * a.host,
          k * a.queueing, k * a.flops,  k * a.weights,       k * a.kv};
}

SlowOracle::SlowOracle(const Scenario& scenario, const Efficiencies& efficiencies)
    : scenario_(scenario),
      model_(*scenario.model),
      d_(scenario.deployment),
      w_(scenario.workload),
      e_(efficiencies),
      s_(d_.roofline_exponent),
      tp_(d_.tensor_parallel),
      pp_(d_.pipeline_parallel),
      batch_(Up(w_.batch_size, d_.data_parallel)),
      weight_(Bytes8(d_.weight_dtype)),
      activation_(Bytes8(d_.activation_dtype)),
      residual_(std::max(2.0, activation_)),
      kv_(Bytes8(d_.kv_cache_dtype)),
      heads_(Up(model_.num_attention_heads, tp_)),
      kv_heads_(Up(model_.num_key_value_heads, tp_)) {
  const Hardware& h = *scenario.hardware;
  const bool llama_cpp = d_.weight_dtype == Dtype::kQ4_0 || d_.weight_dtype == Dtype::kQ4_K_M;
  head_ = llama_cpp ? weight_ : std::max(2.0, weight_);
  const OraclePeak head = PeakOf(h, Dtype::kBf16, d_.activation_dtype);
  bandwidth_ = h.memory_bandwidth->value();
  // A FLOP takes its time on the units and its share of the way of an element to them.
  const auto fed = [this](const OraclePeak& peak) {
    return 1 / (1 / (peak.rate * e_.gemm) + peak.element / (bandwidth_ * e_.gemm_reuse));
  };
  const OraclePeak peak = PeakOf(h, d_.weight_dtype, d_.activation_dtype);
  peak_ = peak.rate;
  gemm_ = fed(peak);
  head_gemm_ = fed(head);
  attention_ = head.rate * e_.prefill_attention;
  const double fp32 = h.peak.fp32->value();
  vector_ = std::min(std::sqrt(fp32 * e_.vector_reference.value()) * e_.decode_attention, std::max(fp32, head.rate));
  index_ = PeakOf(h, Dtype::kFp8, Dtype::kFp8).rate * e_.prefill_attention;
  recurrence_ = std::min(fp32 * e_.recurrence, std::max(fp32, head.rate));
  mixed_ = IsMixed(model_);
  link_ = h.interconnect->value() * e_.link;
  scale_out_ = h.scale_out->value() * e_.link;
  node_ = *h.devices_per_node;
}

double SlowOracle::AllReduce(double bytes) const {
  const double alpha = e_.link_latency.value();
  const auto one_tier = [alpha](double message, double rate, double q) {
    const double t = message / rate;
    return std::min(2 * (q - 1) / q * t + 2 * alpha, (q - 1) * t + alpha);
  };
  if (tp_ <= node_) return one_tier(bytes, link_, tp_);
  const double inside = node_ > 1 ? (node_ - 1) / node_ * bytes / link_ + alpha : 0;
  return 2 * inside + one_tier(bytes / node_, scale_out_, Up(tp_, node_));
}

double SlowOracle::Communication(double tokens) const {
  const double message = tokens * model_.hidden_size * residual_;
  double time = 0;
  if (tp_ > 1) time += AllReduces() * AllReduce(message);
  for (double stage = 1; stage < pp_; ++stage) {  // each device sends to the one of its rank in the next stage
    bool crosses = false;
    for (double device = stage * tp_; device < (stage + 1) * tp_; ++device) {
      crosses = crosses || std::floor(device / node_) != std::floor((device - tp_) / node_);
    }
    time += message / tp_ / (crosses ? scale_out_ : link_) + e_.link_latency.value();
  }
  return time;
}

Spent SlowOracle::Head(double rows) const {
  if (rows <= 0) return {};
  const double vocab = Up(model_.vocab_size, tp_);
  const double alpha = e_.link_latency.value();
  Spent spent = Product(rows, vocab, model_.hidden_size, head_, residual_, head_gemm_, e_.gemm_half_rows);
  if (tp_ <= 1) return spent;
  const double inside = std::min(tp_, node_);
  const double logits = rows * vocab * tp_ * residual_;
  if (inside > 1) spent.communication += (inside - 1) / inside * logits / link_ + alpha;
  if (tp_ <= node_) return spent;
  const double nodes = Up(tp_, node_);
  spent.communication += (nodes - 1) / nodes * logits / node_ / scale_out_ + alpha;
  return spent;
}

Spent SlowOracle::Step(const Shape& x) const {
  const double tokens = x.decoding + x.prefilling * x.n;
  Spent device;
  double embedded = model_.hidden_size;
  if (model_.per_layer_input) embedded += model_.num_hidden_layers * model_.per_layer_input->hidden_size;
  device.memory = tokens * embedded * (head_ + residual_) / (bandwidth_ * e_.elementwise);  // embedding
  if (mixed_) device += MixedLayers(x);
  std::optional<Spent> layer_of_kind[2][2];  // layers of a kind take the same time
  for (int layer = 0; layer < (mixed_ ? 0 : model_.num_hidden_layers); ++layer) {
    std::optional<Spent>& spent = layer_of_kind[IsMoe(layer)][IsWindowed(layer)];
    if (!spent) spent = Layer(layer, x);
    device += *spent;
  }
  device.communication += Communication(tokens);
  device += Head(x.logits);
  const bool prompts = x.prefilling > 0 && x.n > 0;
  const double layer = prompts ? std::max(e_.host_layer, e_.host_prompt_layer).value() : e_.host_layer.value();
  const double host = e_.host_step.value() + model_.num_hidden_layers * layer + tokens * e_.host_token.value() +
                      x.logits * e_.host_request.value();
  const Smoothed both = Smax(device.Total(), host);
  const double shrunk = both.first / device.Total();
  Spent step = device;  // what is done stays, the time of it shrinks
  for (double* part : {&step.compute, &step.memory, &step.communication, &step.host}) *part *= shrunk;
  step.host += both.second;
  return step;
}

SlowOracle::Chunks SlowOracle::ChunkedPrefill(double sequences) const {
  const double all = w_.prompt_tokens - w_.cached_prefix_tokens;
  const double size = std::min<double>(all, d_.prefill_chunk_tokens.value_or(w_.prompt_tokens));
  Chunks chunks;
  for (double done = 0; done < all; done += size) {
    const double n = std::min(size, all - done);
    const double logits = done + n >= all ? sequences : 0;
    const Spent step = Step({.prefilling = sequences, .n = n, .p = w_.cached_prefix_tokens + done, .logits = logits});
    chunks.all += step;
    chunks.longest = std::max(chunks.longest, step.Total());
  }
  return chunks;
}

Spent SlowOracle::Prefill(double sequences) const {
  Spent best = ChunkedPrefill(sequences).all;
  for (double size = sequences, next = 1; pp_ > 1; size = next, next *= 2) {  // the batch whole, then 1, 2, 4, ...
    const Chunks part = ChunkedPrefill(size);
    Spent piped = Up(sequences, size) / pp_ * part.all;
    piped.queueing += part.longest * (pp_ - 1) / pp_;
    if (piped.Total() < (1 - 1e-12) * best.Total()) best = piped;  // one pass alone is both
    if (next >= sequences) break;
  }
  best.host += e_.admission.value() + sequences * e_.admission_per_request.value();
  return best + Around(sequences);
}

Spent SlowOracle::Around(double sequences) const {
  Spent spent;
  if (w_.batching == BatchingPolicy::kContinuous) spent.host = w_.prompt_tokens * e_.admission_per_token.value();
  if (w_.tokenizer_tokens_per_second) spent.host = w_.prompt_tokens / *w_.tokenizer_tokens_per_second;
  if (w_.prefix_load) {
    const auto& mla = model_.latent_attention;
    const double elements = mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * kv_heads_ * model_.head_dim;
    double bytes = w_.cached_prefix_tokens * model_.num_hidden_layers * elements * kv_;
    if (mixed_) {
      bytes = StateBytes();
      for (int layer = 0; layer < model_.num_hidden_layers; ++layer) {
        bytes += w_.cached_prefix_tokens * KvElements(MixerOf(layer)) * kv_;
      }
    }
    spent.communication = sequences * bytes / pp_ / w_.prefix_load->value();
  }
  return spent;
}

double SlowOracle::ExposedPrefill() const {
  const double all = w_.prompt_tokens - w_.cached_prefix_tokens;
  const double size = std::min<double>(all, d_.prefill_chunk_tokens.value_or(w_.prompt_tokens));
  double now = 0;
  for (double done = 0; done < all; done += size) {
    const double n = std::min(size, all - done);
    now = std::max(now, (done + n) / *w_.prompt_arrival_tokens_per_second);  // when its last token is there
    const double logits = done + n >= all ? batch_ : 0;
    now += Step({.prefilling = batch_, .n = n, .p = w_.cached_prefix_tokens + done, .logits = logits}).Total();
  }
  return now - all / *w_.prompt_arrival_tokens_per_second + Around(batch_).Total();
}

Spent SlowOracle::DecodeStep(double sequences, double j) const {
  const double running = Up(sequences, pp_);
  if (w_.kv_cache_mode == KvCacheMode::kNone) {
    return Step({.prefilling = running, .n = w_.prompt_tokens + j, .logits = running});
  }
  return Step({.decoding = running, .context = w_.prompt_tokens + j, .logits = running});
}

Spent SlowOracle::Decode(double sequences) const {
  Spent all;
  for (double j = 1; j < w_.output_tokens; ++j) all += DecodeStep(sequences, j);
  return all;
}

}  // namespace foretoken

#include <algorithm>
#include <cmath>

#include "tests/estimator/slow_oracle.h"

namespace foretoken {
namespace {

double Up(double amount, double parts) { return std::ceil(amount / parts); }

double Bytes8(Dtype dtype) { return BytesPerElement(dtype).value(); }

// Of a draw without putting back: the mean share of one of `ranks`, the expected largest of as many deviates that sum
// to nothing, and what the skewness of the distribution adds.
double BusiestRank(double experts, double ranks, double drawn) {
  const double p = (ranks - 0.375) / (ranks + 0.25);
  const double deviate = 4.91 * (std::pow(p, 0.14) - std::pow(1 - p, 0.14));
  if (ranks == 1 || experts == 1) return std::min(experts / ranks, std::max(1.0, drawn));
  const double left = std::max(0.0, experts - drawn);
  const double of_one = drawn * (1 / ranks) * (1 - 1 / ranks) * left / (experts - 1);
  const double sigma = std::sqrt(of_one * ranks / (ranks - 1));
  const double skew = (deviate * deviate - 1) / 6 * (1 - 2 / ranks) * std::max(0.0, 1 - 2 * drawn / experts);
  return std::min(experts / ranks, std::max(1.0, drawn / ranks + deviate * sigma + skew));
}

}  // namespace

double CountPairs(double n, double p, double window, bool chunked) {
  double pairs = 0;
  for (double position = p; position < p + n; ++position) {
    const double before = chunked ? std::fmod(position, window) : position;
    pairs += chunked ? before + 1 : std::min(before + 1, window);
  }
  return pairs;
}

Smoothed SlowOracle::Smax(double a, double b) const {
  if (std::isinf(s_)) return a >= b ? Smoothed{a, a, 0} : Smoothed{b, 0, b};
  const double powers = std::pow(a, s_) + std::pow(b, s_);
  if (powers == 0) return {};
  const double time = std::pow(powers, 1 / s_);
  return {time, time * std::pow(a, s_) / powers, time * std::pow(b, s_) / powers};
}

Spent SlowOracle::Roofline(double compute, double memory) const {
  const Smoothed both = Smax(compute, memory);
  return {.compute = both.first, .memory = both.second};
}

Spent SlowOracle::Product(double rows, double n, double k, double bytes, double input, double rate,
                          double half_rows) const {
  const double compute = 2 * n * k * (rows + half_rows) / rate;
  const double memory = (n * k * bytes + rows * (k * input + n * residual_)) / (bandwidth_ * e_.weight_read);
  Spent spent = Roofline(compute, memory);
  spent.flops = 2 * n * k * rows;
  spent.weights = n * k * bytes;
  return spent;
}

Spent SlowOracle::Gemm(double rows, double n, double k, double bytes) const {
  return Product(rows, n, k, bytes, activation_, gemm_, e_.gemm_half_rows);
}

bool SlowOracle::IsMoe(int layer) const {
  const auto& moe = model_.mixture_of_experts;
  return moe && layer >= moe->first_k_dense_replace &&
         (layer - moe->first_k_dense_replace + 1) % moe->moe_layer_freq == 0;
}

bool SlowOracle::IsWindowed(int layer) const {
  return model_.sliding_window && layer >= model_.sliding_window->num_full_attention_layers;
}

double SlowOracle::Seen(double context, bool windowed) const {
  if (!windowed) return context;
  const double window = model_.sliding_window->window_tokens;
  return model_.sliding_window->chunked ? std::fmod(context - 1, window) + 1 : std::min(context, window);
}

Spent SlowOracle::PrefillAttention(const Shape& x, bool windowed) const {
  const auto& mla = model_.latent_attention;
  const double kv_elements = mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * kv_heads_ * model_.head_dim;
  const double dims = mla ? mla->qk_nope_head_dim + mla->qk_rope_head_dim + mla->v_head_dim : 2.0 * model_.head_dim;
  const double window = windowed ? model_.sliding_window->window_tokens : 1e18;
  const bool chunked = windowed && model_.sliding_window->chunked;
  const double prior = chunked ? std::fmod(x.p, window) : std::min(x.p, window);
  double bytes = (prior + x.n) * kv_elements * kv_ + x.n * heads_ * dims * residual_;
  if (d_.attention_kernel == AttentionKernel::kNaive) bytes += 4 * x.n * (x.p + x.n) * heads_ * residual_;
  const double flops = 2 * CountPairs(x.n, x.p, window, chunked) * heads_ * dims;
  Spent one = Roofline(flops / attention_, bytes / (bandwidth_ * e_.kv_read));
  one.flops = flops;
  if (mla && x.p > 0) {  // cached latents are expanded again
    const double expanded = heads_ * (mla->qk_nope_head_dim + mla->v_head_dim);
    const double work = 2 * x.p * mla->kv_lora_rank * expanded;
    const double move = x.p * (mla->kv_lora_rank + expanded) * residual_;
    one += Roofline(work / gemm_, move / (bandwidth_ * e_.elementwise));
    one.flops += work;
  }
  return x.prefilling * one;
}

Spent SlowOracle::DecodeAttention(const Shape& x, bool windowed) const {
  const auto& mla = model_.latent_attention;
  const double kv_elements = mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * kv_heads_ * model_.head_dim;
  const double dims = mla ? 2 * mla->kv_lora_rank + mla->qk_rope_head_dim : 2.0 * model_.head_dim;
  const double seen = x.decoding * Seen(x.context, windowed);
  const double flops = 2 * seen * heads_ * dims;
  const double bytes = seen * kv_elements * kv_;
  Spent spent = Roofline(flops / (mla ? attention_ : vector_), bytes / (bandwidth_ * e_.kv_read));
  spent.flops = flops;
  spent.kv = bytes;
  return spent;
}

Spent SlowOracle::Attention(const Shape& x, bool windowed) const {
  Spent spent;
  if (x.prefilling > 0) spent += PrefillAttention(x, windowed);
  if (x.decoding > 0) spent += DecodeAttention(x, windowed);
  return spent;
}

Spent SlowOracle::Experts(double tokens, const Shape& x) const {
  const MixtureOfExperts& moe = *model_.mixture_of_experts;
  const double ep = d_.expert_parallel;
  const double replicas = ep > 1 ? d_.data_parallel : 1;  // those whose tokens meet
  const double all = tokens * replicas;
  const bool identical = w_.expert_routing == ExpertRouting::kIdenticalPrompts;
  const double independent = identical ? (x.prefilling > 0 ? x.n : 0) + (x.decoding > 0 ? 1 : 0) : all;
  const double chosen = moe.num_experts_per_tok;
  const double distinct = moe.num_experts * (1 - std::pow(1 - chosen / moe.num_experts, independent));
  const double on_rank = BusiestRank(moe.num_experts, ep, distinct);
  const double uneven = d_.expert_load_imbalance * all * chosen / ep;  // what the busiest device gets
  const double rows = std::max(all * chosen / distinct, uneven / on_rank);
  const double width = Up(moe.moe_intermediate_size, tp_ * replicas / ep);
  const Dtype dtype = d_.weight_dtype == model_.native_dtype ? moe.native_expert_dtype : d_.weight_dtype;
  const ExpertKernels& kernels = e_.experts[static_cast<size_t>(FormatOf(dtype, d_.activation_dtype))];
  const double rate = PeakOf(*scenario_.hardware, dtype, d_.activation_dtype).rate * kernels.gemm;
  const auto product = [&](double n, double k) {
    return Product(rows, n, k, Bytes8(dtype), activation_, rate, kernels.half_rows);
  };
  const double hidden = moe.moe_latent_size > 0 ? moe.moe_latent_size : model_.hidden_size;  // of what they read
  Spent spent = on_rank * (product((model_.mlp_matrices - 1) * width, hidden) + product(hidden, width));
  const bool sent = replicas > 1 && d_.expert_exchange == ExpertExchange::kAllToAll;
  const double sorted = sent ? on_rank * rows : all * chosen;
  spent.memory += sorted * hidden * (2 * activation_ + residual_) / kernels.row_rate.value();
  if (replicas > 1) spent.communication += Exchange(tokens);
  return spent;
}

// To the experts and back.
double SlowOracle::Exchange(double tokens) const {
  const double devices = tp_ * d_.data_parallel;
  const int latent = model_.mixture_of_experts->moe_latent_size;
  const double hidden = latent > 0 ? latent : model_.hidden_size;
  const double bytes = tokens * hidden * (activation_ + residual_);  // of one replica, both ways
  const double alpha = 2 * e_.link_latency.value();
  if (d_.expert_exchange == ExpertExchange::kAllGather) {
    const double all = bytes * d_.data_parallel;
    const double inside = std::min(devices, node_);
    const double time = inside > 1 ? (inside - 1) / inside * all / link_ + alpha : 0;
    if (devices <= node_) return time;
    const double nodes = Up(devices, node_);
    return time + (nodes - 1) / nodes * all / node_ / scale_out_ + alpha;
  }
  const double reached = std::min(1.0, model_.mixture_of_experts->num_experts_per_tok / (1.0 * d_.expert_parallel));
  const double sent = d_.expert_load_imbalance * bytes / tp_ * reached;  // to each of the others
  const double others = std::min(devices, node_) - 1;
  return std::max(sent * others / link_, sent * std::max(0.0, devices - node_) / scale_out_) + alpha;
}

Spent SlowOracle::Mlp(int layer, double tokens, const Shape& x) const {
  const double d = model_.hidden_size;
  const auto dense = [&](double width) {
    if (width <= 0) return Spent{};
    return Gemm(tokens, (model_.mlp_matrices - 1) * width, d, weight_) + Gemm(tokens, d, width, weight_);
  };
  const auto& moe = model_.mixture_of_experts;
  if (!IsMoe(layer)) return dense(Up(moe ? moe->dense_intermediate_size : model_.intermediate_size, tp_));
  return Gemm(tokens, moe->num_experts, d, weight_) + dense(Up(moe->shared_expert_intermediate_size, tp_)) +
         Experts(tokens, x);
}

double SlowOracle::Elementwise(int layer, double tokens) const {
  const auto& moe = model_.mixture_of_experts;
  double width = Up(moe ? moe->dense_intermediate_size : model_.intermediate_size, tp_);
  if (IsMoe(layer)) {
    width = moe->num_experts_per_tok * moe->moe_intermediate_size / tp_ + Up(moe->shared_expert_intermediate_size, tp_);
  }
  const auto& mla = model_.latent_attention;
  const double kv_elements = mla ? mla->kv_lora_rank + mla->qk_rope_head_dim : 2 * kv_heads_ * model_.head_dim;
  const double normed = model_.norms_per_layer * model_.hidden_size;  // read, and written for the next matrix
  const double gated = (model_.mlp_matrices - 1) * width;
  const double bytes = (normed + gated) * residual_ + (normed + width) * activation_;
  const double passes = d_.unfused_elementwise ? 2 : 1;
  return tokens * (passes * bytes + kv_elements * kv_) / (bandwidth_ * e_.elementwise);
}

Spent SlowOracle::Layer(int layer, const Shape& x) const {
  const double tokens = x.decoding + x.prefilling * x.n;
  const double d = model_.hidden_size;
  Spent spent{.memory = Elementwise(layer, tokens), .host = e_.layer_gap.value()};
  if (model_.latent_attention) {
    const LatentAttention& mla = *model_.latent_attention;
    const double q = mla.q_lora_rank.value_or(0);
    const double r = mla.kv_lora_rank;
    const double query = heads_ * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    spent += Gemm(tokens, r + mla.qk_rope_head_dim + q, d, weight_) + Gemm(tokens, query, q > 0 ? q : d, weight_) +
             Gemm(tokens, heads_ * (mla.qk_nope_head_dim + mla.v_head_dim), r, weight_) +
             Gemm(tokens, d, heads_ * mla.v_head_dim, weight_);
  } else {
    spent += Gemm(tokens, (heads_ + 2 * kv_heads_) * model_.head_dim, d, weight_) +
             Gemm(tokens, d, heads_ * model_.head_dim, weight_);
  }
  return spent + Attention(x, IsWindowed(layer)) + Mlp(layer, tokens, x);
}

}  // namespace foretoken

#include "estimator/step.h"

#include <algorithm>

#include "estimator/attention.h"
#include "estimator/roofline.h"

namespace foretoken {
namespace {

OperatorKind KindOf(Matrix::Kind kind) {
  switch (kind) {
    case Matrix::Kind::kQkv:
      return OperatorKind::kQkvProj;
    case Matrix::Kind::kLatentDown:
      return OperatorKind::kLatentDownProj;
    case Matrix::Kind::kLatentQueryUp:
      return OperatorKind::kLatentQueryProj;
    case Matrix::Kind::kLatentUp:
      return OperatorKind::kLatentUpProj;
    case Matrix::Kind::kOut:
      return OperatorKind::kOutProj;
    case Matrix::Kind::kMlpUp:
      return OperatorKind::kMlpUp;
    case Matrix::Kind::kMlpDown:
      return OperatorKind::kMlpDown;
    case Matrix::Kind::kSharedUp:
      return OperatorKind::kSharedMlpUp;
    case Matrix::Kind::kSharedDown:
      return OperatorKind::kSharedMlpDown;
    case Matrix::Kind::kRouter:
      break;
  }
  return OperatorKind::kRouter;
}

// `count` products of M rows by an N x K matrix, each matrix read once. A GEMM of few rows takes the time of M + M0.
struct Gemm {
  OperatorKind kind;
  double count, rows, n, k;
  Bytes bytes_per_weight;
  FlopsPerSecond rate;
};

OperatorCost GemmCost(const StepModel& model, const Gemm& g) {
  const double per_row = 2 * g.n * g.k * g.count;
  const double half_rows = model.efficiencies.gemm_half_rows;
  const Bytes bytes = g.count * (g.n * g.k * g.bytes_per_weight + g.rows * (g.n + g.k) * model.shard.activation);
  return {.kind = g.kind,
          .count = g.count,
          .flops = Flops(per_row * g.rows),
          .bytes = bytes,
          .compute = Flops(per_row * (g.rows + half_rows)) / g.rate,
          .memory = bytes / model.machine.weight_read,
          .rows = g.rows,
          .n = g.n,
          .k = g.k};
}

void AddMatrices(const StepModel& model, double rows, bool before_attention, OperatorCosts& costs) {
  for (const Matrix& m : model.shard.matrices) {
    if ((m.kind < Matrix::Kind::kOut) != before_attention) continue;
    costs.push_back(
        GemmCost(model, {KindOf(m.kind), m.layers, rows, m.n, m.k, model.shard.weight, model.machine.gemm}));
  }
}

OperatorCost PrefillAttention(const StepModel& model, const AttentionGroup& group, const StepShape& shape) {
  const Shard& s = model.shard;
  const double runs = group.layers * shape.prefill_sequences;
  const double n = shape.prefill_tokens;
  const double p = shape.prefill_prior;
  const double dims = s.prefill_qk_dim + s.prefill_v_dim;
  const Flops flops(2 * CausalPairs(group, n, p) * s.heads * dims * runs);
  Bytes bytes = runs * (PositionsRead(group, n, p) * s.kv_elements * s.kv + n * s.heads * dims * s.activation);
  if (model.attention_kernel == AttentionKernel::kNaive) {
    bytes += runs * 4 * n * (p + n) * s.heads * s.activation;  // scores written, read, normalised, read again
  }
  return {.kind = OperatorKind::kPrefillAttention,
          .count = group.layers,
          .flops = flops,
          .bytes = bytes,
          .compute = flops / model.machine.prefill_attention,
          .memory = bytes / model.machine.kv_read};
}

// MLA: cached latents of the prior context are expanded to keys and values again for every chunk.
void AddLatentExpansion(const StepModel& model, const StepShape& shape, OperatorCosts& costs) {
  const Shard& s = model.shard;
  if (s.latent_rank <= 0 || shape.prefill_prior <= 0 || shape.prefill_sequences <= 0) return;
  const double rows = shape.prefill_sequences * shape.prefill_prior;
  const Flops flops(2 * rows * s.latent_rank * s.heads * s.latent_expand_dim * s.layers);
  const Bytes bytes = s.layers * rows * (s.latent_rank + s.heads * s.latent_expand_dim) * s.activation;
  costs.push_back({.kind = OperatorKind::kLatentExpand,
                   .count = s.layers,
                   .flops = flops,
                   .bytes = bytes,
                   .compute = flops / model.machine.gemm,
                   .memory = bytes / model.machine.elementwise,
                   .rows = rows});
}

void AddAttention(const StepModel& model, const StepShape& shape, OperatorCosts& costs) {
  AddLatentExpansion(model, shape, costs);
  for (const AttentionGroup& group : model.shard.attention) {
    if (shape.prefill_sequences > 0) costs.push_back(PrefillAttention(model, group, shape));
    if (shape.decode_sequences > 0) {
      costs.push_back(DecodeAttention(model, group, shape.decode_sequences, shape.decode_context, shape.decode_tokens));
    }
  }
}

// Tokens whose expert choices are independent of each other. Identical prompts choose as one of them does; those that
// decode beside them as one more.
double IndependentTokens(const StepModel& model, const StepShape& shape, double group_tokens) {
  if (model.expert_routing == ExpertRouting::kIndependent) return group_tokens;
  double one_of_each = 0;
  if (shape.prefill_sequences > 0) one_of_each += shape.prefill_tokens;
  if (shape.decode_sequences > 0) one_of_each += shape.decode_tokens;
  return std::min(one_of_each, group_tokens);
}

void AddExperts(const StepModel& model, const StepShape& shape, OperatorCosts& costs) {
  if (!model.shard.experts || shape.Tokens() <= 0) return;
  const ExpertShard& e = *model.shard.experts;
  const double tokens = shape.Tokens() * e.replicas;
  const double distinct = model.efficiencies.speed_of_light
                              ? e.chosen
                              : DistinctExperts(e.num_experts, e.chosen, IndependentTokens(model, shape, tokens));
  const double skew = 1 + model.efficiencies.expert_skew;
  const double on_rank = std::min(e.num_experts / e.expert_parallel, distinct / e.expert_parallel * skew);
  const double rows = tokens * e.chosen / distinct;  // per expert
  const double count = e.layers * on_rank;
  const FlopsPerSecond rate = model.machine.gemm;
  costs.push_back(GemmCost(model, {OperatorKind::kExpertUp, count, rows, e.up_n, e.up_k, e.bytes_per_weight, rate}));
  costs.push_back(
      GemmCost(model, {OperatorKind::kExpertDown, count, rows, e.down_n, e.down_k, e.bytes_per_weight, rate}));
  if (e.replicas <= 1) return;  // one replica: its devices hold all tokens already
  const double ep = e.expert_parallel;
  const Bytes sent =
      shape.Tokens() * std::min(e.chosen, ep) * model.shard.hidden * (ep - 1) / ep * model.shard.activation;
  costs.push_back({.kind = OperatorKind::kExpertAllToAll,
                   .count = 2 * e.layers,
                   .sent = 2 * e.layers * sent,
                   .communication = 2 * e.layers * AllToAll(model.machine.fabric, sent, ep)});
}

// Norms and residuals, MLP activation, and the KV written: bytes of one pass; about twice that when not fused.
OperatorCost Elementwise(const StepModel& model, double tokens) {
  const Shard& s = model.shard;
  const double elements = 2 * s.norms_per_layer * s.hidden + s.mlp_matrices * s.elementwise_width;
  const double passes = model.unfused_elementwise ? 2 : 1;
  const Bytes bytes = s.layers * tokens * (passes * elements * s.activation + s.kv_elements * s.kv);
  return {.kind = OperatorKind::kElementwise,
          .count = s.layers,
          .bytes = bytes,
          .memory = bytes / model.machine.elementwise,
          .rows = tokens};
}

OperatorCost Embedding(const StepModel& model, double tokens) {
  const Bytes bytes = tokens * model.shard.hidden * (model.shard.head + model.shard.activation);
  return {.kind = OperatorKind::kEmbedding, .count = 1, .bytes = bytes, .memory = bytes / model.machine.elementwise};
}

void AddCommunication(const StepModel& model, double tokens, OperatorCosts& costs) {
  const Shard& s = model.shard;
  const Bytes message = tokens * s.hidden * s.activation;
  if (s.tensor_parallel > 1) {
    const double count = s.layers * s.all_reduces_per_layer;
    const double q = s.tensor_parallel;
    costs.push_back({.kind = OperatorKind::kAllReduce,
                     .count = count,
                     .sent = count * 2 * (q - 1) / q * message,
                     .communication = count * AllReduce(model.machine.fabric, message, q)});
  }
  if (s.stages > 1) {
    const double count = s.stages - 1;
    costs.push_back({.kind = OperatorKind::kStageTransfer,
                     .count = count,
                     .sent = count * message / s.tensor_parallel,
                     .communication = StageTransfers(model.machine.fabric, message / s.tensor_parallel,
                                                     s.tensor_parallel, s.stages)});
  }
}

void AddHead(const StepModel& model, double rows, OperatorCosts& costs) {
  if (rows <= 0) return;
  const Shard& s = model.shard;
  costs.push_back(
      GemmCost(model, {OperatorKind::kLmHead, 1, rows, s.vocab, s.hidden, s.head, model.machine.head_gemm}));
  if (s.tensor_parallel <= 1) return;
  const Bytes message = rows * s.vocab * s.tensor_parallel * s.activation;
  costs.push_back({.kind = OperatorKind::kLogitsGather,
                   .count = 1,
                   .sent = message / s.tensor_parallel,
                   .communication = AllGather(model.machine.fabric, message, s.tensor_parallel)});
}

}  // namespace

TimeParts OperatorCost::Parts(double s) const {
  const Overlap roofline = SmoothMax(compute, memory, s);
  return {.compute = roofline.time * roofline.first_share,
          .memory = roofline.time * (1 - roofline.first_share),
          .communication = communication};
}

OperatorCost DecodeAttention(const StepModel& model, const AttentionGroup& group, double sequences, double context,
                             double tokens) {
  const Shard& s = model.shard;
  const Machine& m = model.machine;
  const double seen = group.layers * sequences * VisibleContext(group, context);
  const Flops row(2 * seen * s.heads * (s.decode_qk_dim + s.decode_v_dim));
  const Seconds one = row / (s.latent_rank > 0 ? m.latent_decode_attention : m.decode_attention);
  const Flops flops = tokens * row;
  const Bytes bytes = seen * s.kv_elements * s.kv;
  return {.kind = OperatorKind::kDecodeAttention,
          .count = group.layers,
          .flops = flops,
          .bytes = bytes,
          .compute = tokens > 1 ? std::max(one, flops / m.prefill_attention) : one,
          .memory = bytes / m.kv_read};
}

OperatorCosts StepOperators(const StepModel& model, const StepShape& shape) {
  OperatorCosts costs;
  const double tokens = shape.Tokens();
  costs.push_back(Embedding(model, tokens));
  AddMatrices(model, tokens, /*before_attention=*/true, costs);
  AddAttention(model, shape, costs);
  AddMatrices(model, tokens, /*before_attention=*/false, costs);
  AddExperts(model, shape, costs);
  costs.push_back(Elementwise(model, tokens));
  AddCommunication(model, tokens, costs);
  AddHead(model, shape.logits_rows, costs);
  return costs;
}

TimeParts DeviceTime(const StepModel& model, const StepShape& shape) {
  TimeParts parts;
  for (const OperatorCost& cost : StepOperators(model, shape)) parts += cost.Parts(model.roofline_exponent);
  parts.host += model.shard.layers * model.efficiencies.layer_gap;
  return parts;
}

TimeParts WithHost(const StepModel& model, const StepShape& shape, const TimeParts& device) {
  const Efficiencies& e = model.efficiencies;
  TimeParts parts = JoinHost(device, e.host_step + model.shard.layers * e.host_layer, model.roofline_exponent);
  parts.host += shape.Tokens() * e.host_token + shape.logits_rows * e.host_request;
  return parts;
}

TimeParts StepTime(const StepModel& model, const StepShape& shape) {
  return WithHost(model, shape, DeviceTime(model, shape));
}

}  // namespace foretoken

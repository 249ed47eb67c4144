// The cost of every operator of a step, written once: a caller uses what it needs of each (time, FLOPs or bytes), and
// the compiler drops the rest. For the core model's own use; others call step.h.
#ifndef FORETOKEN_ESTIMATOR_STEP_VISIT_OPERATORS_H_
#define FORETOKEN_ESTIMATOR_STEP_VISIT_OPERATORS_H_

#include <algorithm>
#include <cmath>

#include "estimator/step/attention.h"
#include "estimator/step/experts.h"
#include "estimator/step/recurrence.h"
#include "estimator/step/step.h"

namespace foretoken {

// `runs` times the products of `m` with `rows` rows each.
inline OperatorCost MatrixCost(const MatrixOperator& m, double rows, double runs) {
  return {.kind = m.kind,
          .count = runs,
          .flops = runs * (rows * m.flops_per_row),
          .bytes = runs * (m.weights + rows * m.bytes_per_row),
          .compute = runs * ((rows + m.half_rows) * m.compute_per_row),
          .memory = runs * (m.memory + rows * m.memory_per_row),
          .weights = runs * m.weights,
          .rows = rows,
          .n = m.n,
          .k = m.k};
}

inline OperatorCost TrafficCost(OperatorKind kind, const TrafficOperator& traffic, double tokens, double count) {
  return {.kind = kind,
          .count = count,
          .bytes = tokens * traffic.bytes_per_token,
          .memory = tokens * traffic.memory_per_token,
          .rows = tokens};
}

// Query heads that kernels compute: those of the device, in whole tiles. Nothing forces them to, at the speed of light.
inline double ComputedHeads(const StepModel& model, const AttentionGroup& group) {
  return model.efficiencies.speed_of_light ? model.shard.heads : std::max(model.shard.heads, group.tile_heads);
}

// Pairs that kernels of a prefill compute. Where tokens choose what they see, each has a slot for every choice, filled
// or not.
inline double ComputedPairs(const StepModel& model, const AttentionGroup& group, double new_tokens, double prior) {
  const bool slots = group.keeps_all && !model.efficiencies.speed_of_light;
  return slots ? new_tokens * group.window : CausalPairs(group, new_tokens, prior);
}

inline OperatorCost PrefillAttentionCost(const StepModel& model, const AttentionGroup& group, const StepShape& shape) {
  const Shard& s = model.shard;
  const double runs = group.layers * shape.prefill_sequences;
  const double n = shape.prefill_tokens;
  const double p = shape.prefill_prior;
  const double dims = group.prefill_dims;
  const Flops flops(2 * ComputedPairs(model, group, n, p) * ComputedHeads(model, group) * dims * runs);
  Bytes bytes = runs * (PositionsRead(group, n, p) * group.kv_elements * s.kv + n * s.heads * dims * s.residual);
  if (model.attention_kernel == AttentionKernel::kNaive) {
    bytes += runs * 4 * n * (p + n) * s.heads * s.residual;  // scores written, read, normalised, read again
  }
  return {.kind = OperatorKind::kPrefillAttention,
          .count = group.layers,
          .flops = flops,
          .bytes = bytes,
          .compute = flops / ReachedRate(model.machine, OperatorKind::kPrefillAttention),
          .memory = bytes / ReachedBandwidth(model.machine, OperatorKind::kPrefillAttention)};
}

// Attention of decoding sequences alone, over the layers of one group. The cost is proportional to the context, which
// each of the `tokens` new tokens per sequence attends to. Keys and values are read once for all of them. Several
// tokens run as rows of one matrix product, and take at least the time of one token on the vector units.
inline OperatorCost DecodeAttentionCost(const StepModel& model, const AttentionGroup& group, double sequences,
                                        double context, double tokens) {
  const Shard& s = model.shard;
  const Machine& m = model.machine;
  const double seen = group.layers * sequences * VisibleContext(group, context);
  const Flops row(2 * seen * ComputedHeads(model, group) * group.decode_dims);
  const Seconds one = row / (s.attends_on_matrix_units ? m.prefill_attention : m.decode_attention);
  const Flops flops = tokens * row;
  const Bytes bytes = seen * group.kv_elements * s.kv;
  return {.kind = OperatorKind::kDecodeAttention,
          .count = group.layers,
          .flops = flops,
          .bytes = bytes,
          .compute = tokens > 1 ? std::max(one, flops / m.prefill_attention) : one,
          .memory = bytes / ReachedBandwidth(m, OperatorKind::kDecodeAttention)};
}

// MLA: cached latents of the prior context are expanded to keys and values again for every chunk.
inline OperatorCost LatentExpansionCost(const StepModel& model, const StepShape& shape) {
  const Shard& s = model.shard;
  const double rows = shape.prefill_sequences * shape.prefill_prior;
  const Flops flops(2 * rows * s.latent_rank * s.heads * s.latent_expand_dim * s.latent_expand_layers);
  const Bytes bytes = s.latent_expand_layers * rows * (s.latent_rank + s.heads * s.latent_expand_dim) * s.residual;
  return {.kind = OperatorKind::kLatentExpand,
          .count = s.latent_expand_layers,
          .flops = flops,
          .bytes = bytes,
          .compute = flops / ReachedRate(model.machine, OperatorKind::kLatentExpand),
          .memory = bytes / ReachedBandwidth(model.machine, OperatorKind::kLatentExpand),
          .rows = rows};
}

// Scores of `pairs` of a token and a position, over `positions` whose keys are read. The scores are written in fp32 and
// read again by the choice of the best.
inline OperatorCost IndexerCost(const StepModel& model, OperatorKind kind, double pairs, double positions) {
  constexpr double kScoreBytes = 8;
  const IndexerShard& indexer = *model.shard.indexer;
  const Flops flops(2 * pairs * indexer.heads * indexer.head_dim * indexer.layers);
  const Bytes bytes = indexer.layers * (positions * indexer.key + Bytes(pairs * kScoreBytes));
  return {.kind = kind,
          .count = indexer.layers,
          .flops = flops,
          .bytes = bytes,
          .compute = flops / ReachedRate(model.machine, kind),
          .memory = bytes / ReachedBandwidth(model.machine, kind)};
}

inline OperatorCost PrefillIndexerCost(const StepModel& model, const StepShape& shape) {
  const AttentionGroup all{.compression = model.shard.indexer->compression};
  const double pairs = CausalPairs(all, shape.prefill_tokens, shape.prefill_prior);
  const double positions = PositionsRead(all, shape.prefill_tokens, shape.prefill_prior);
  return IndexerCost(model, OperatorKind::kPrefillIndexer, shape.prefill_sequences * pairs,
                     shape.prefill_sequences * positions);
}

// Proportional to the context.
inline OperatorCost DecodeIndexerCost(const StepModel& model, double sequences, double context, double tokens) {
  const double seen = sequences * context / model.shard.indexer->compression;
  return IndexerCost(model, OperatorKind::kDecodeIndexer, seen * tokens, seen);
}

// The recurrence of `tokens` that together cost `flops` and pass `elements` beside the state of `sequences`, which
// passes memory `passes` times.
inline OperatorCost RecurrenceCost(const StepModel& model, OperatorKind kind, double flops, double elements,
                                   double sequences, double passes) {
  const RecurrenceShard& r = *model.shard.recurrence;
  const Flops all(r.layers * flops);
  const Bytes bytes = r.layers * (elements * model.shard.residual + sequences * (passes * r.state + 2 * r.convolution));
  return {.kind = kind,
          .count = r.layers,
          .flops = all,
          .bytes = bytes,
          .compute = all / ReachedRate(model.machine, kind),
          .memory = bytes / ReachedBandwidth(model.machine, kind)};
}

inline OperatorCost PrefillRecurrenceCost(const StepModel& model, const StepShape& shape) {
  const RecurrenceShard& r = *model.shard.recurrence;
  const double tokens = shape.prefill_sequences * shape.prefill_tokens;
  const bool floor = model.efficiencies.speed_of_light;
  const double flops = tokens * (floor ? std::min(ChunkFlops(r), RecurrentFlops(r)) : ChunkFlops(r));
  const double elements = tokens * (floor ? LeastElements(r) : ChunkElements(r));
  return RecurrenceCost(model, OperatorKind::kPrefillRecurrence, flops, elements, shape.prefill_sequences, 2);
}

// For verification, the state after each token is written, because any may be the last one accepted.
inline OperatorCost DecodeRecurrenceCost(const StepModel& model, double sequences, double tokens) {
  const RecurrenceShard& r = *model.shard.recurrence;
  const double passes = model.efficiencies.speed_of_light ? 2 : 1 + tokens;
  return RecurrenceCost(model, OperatorKind::kDecodeRecurrence, sequences * tokens * RecurrentFlops(r),
                        sequences * tokens * LeastElements(r), sequences, passes);
}

// Which experts a step needs.
struct ExpertUse {
  double on_rank = 0;  // distinct ones of the busiest device, per layer
  double rows = 0;     // tokens of each
};

// Tokens whose expert choices are independent of each other. Identical prompts choose the same experts and count as
// one; sequences that decode beside them count as one more.
inline double IndependentTokens(const StepModel& model, const StepShape& shape, double group_tokens) {
  if (model.expert_routing == ExpertRouting::kIndependent) return group_tokens;
  double one_of_each = 0;
  if (shape.prefill_sequences > 0) one_of_each += shape.prefill_tokens;
  if (shape.decode_sequences > 0) one_of_each += shape.decode_tokens;
  return std::min(one_of_each, group_tokens);
}

// REQUIRES: a model with experts; a step with tokens.
inline ExpertUse UseExperts(const StepModel& model, const StepShape& shape) {
  const ExpertShard& e = *model.shard.experts;
  const double tokens = shape.Tokens() * e.replicas;
  if (model.efficiencies.speed_of_light) return {.on_rank = e.chosen / e.expert_parallel, .rows = tokens};
  const ExpertOperators& experts = *model.operators.experts;
  const double distinct = DistinctExperts(e.num_experts, experts.log_missed, IndependentTokens(model, shape, tokens));
  const double routed = tokens * e.chosen;
  ExpertUse use{.on_rank = BusiestShare(e.num_experts, e.expert_parallel, experts.chance, distinct),
                .rows = routed / distinct};
  if (e.load_imbalance > 1) {
    use.rows = std::max(use.rows, e.load_imbalance * routed / (e.expert_parallel * use.on_rank));
  }
  return use;
}

// Permute and unpermute: rows are read and written in the order of their experts, and read again for the sum over
// experts. After an all-gather a device sorts the chosen rows of all tokens, those of other devices' experts among
// them; after an all-to-all only those that were sent to it.
inline OperatorCost ExpertRowsCost(const StepModel& model, const ExpertUse& use, double tokens) {
  const Shard& s = model.shard;
  const ExpertShard& e = *s.experts;
  const bool sent = e.replicas > 1 && e.exchange == ExpertExchange::kAllToAll;
  const double rows = sent ? use.on_rank * use.rows : tokens * e.replicas * e.chosen;
  const Bytes bytes = e.layers * rows * e.hidden * (2 * s.activation + s.residual);
  return {.kind = OperatorKind::kExpertRows,
          .count = s.experts->layers,
          .bytes = bytes,
          .memory = bytes / ReachedBandwidth(model.machine, OperatorKind::kExpertRows)};
}

// Bytes of one layer's tokens that a device sends to the experts (dispatch) and back (combine).
struct Exchanged {
  Bytes dispatched, combined;
};

// The tensor-parallel devices of a replica hold the same tokens: each sends its share of them, `copies` times.
inline Exchanged Exchange(const Shard& shard, double tokens, double copies) {
  const double elements = tokens / shard.tensor_parallel * copies * shard.experts->hidden;
  return {elements * shard.activation, elements * shard.residual};
}

// Dispatch by all-gather, combine by reduce-scatter: every device gets the tokens of all devices.
inline OperatorCost ExpertGatherCost(const StepModel& model, double tokens) {
  const ExpertShard& e = *model.shard.experts;
  const Exchanged sent = Exchange(model.shard, tokens, e.devices - 1);
  const Exchanged all = Exchange(model.shard, tokens, e.devices);
  const MessageTime& gather = model.operators.experts->gather;
  return {.kind = OperatorKind::kExpertExchange,
          .count = 2 * e.layers,
          .sent = e.layers * (sent.dispatched + sent.combined),
          .communication = e.layers * (gather(all.dispatched) + gather(all.combined))};
}

// Dispatch and combine by all-to-all: a token goes to the devices that hold its experts, devices/ep a part of each. All
// devices wait for the busiest, which receives load_imbalance times as much as the others send.
inline OperatorCost ExpertAllToAllCost(const StepModel& model, double tokens) {
  const ExpertShard& e = *model.shard.experts;
  const double copies = std::min(e.chosen, e.expert_parallel) / e.expert_parallel * (e.devices - 1);
  const Exchanged sent = Exchange(model.shard, tokens, copies);
  const auto time = [&](Bytes bytes) { return AllToAll(model.machine.fabric, e.load_imbalance * bytes, e.devices); };
  return {.kind = OperatorKind::kExpertExchange,
          .count = 2 * e.layers,
          .sent = e.layers * (sent.dispatched + sent.combined),
          .communication = e.layers * (time(sent.dispatched) + time(sent.combined))};
}

inline OperatorCost AllReduceCost(const StepModel& model, Bytes message) {
  const Shard& s = model.shard;
  const double count = s.all_reduces;
  return {.kind = OperatorKind::kAllReduce,
          .count = count,
          .sent = count * 2 * (s.tensor_parallel - 1) / s.tensor_parallel * message,
          .communication = count * model.operators.all_reduce(message)};
}

inline OperatorCost StageTransferCost(const StepModel& model, Bytes message) {
  const Shard& s = model.shard;
  const double count = s.stages - 1;
  const Bytes part = message / s.tensor_parallel;
  return {.kind = OperatorKind::kStageTransfer,
          .count = count,
          .sent = count * part,
          .communication = model.operators.stage_transfer(part)};
}

inline OperatorCost LogitsGatherCost(const StepModel& model, double rows) {
  const Shard& s = model.shard;
  const Bytes message = rows * s.vocab * s.tensor_parallel * s.residual;
  return {.kind = OperatorKind::kLogitsGather,
          .count = 1,
          .sent = message / s.tensor_parallel,
          .communication = model.operators.logits_gather(message)};
}

// Few models have these, so their code stays out of the others' way.
template <typename Visit>
[[gnu::noinline]] void VisitIndexer(const StepModel& model, const StepShape& shape, const Visit& visit) {
  if (shape.prefill_sequences > 0) visit(PrefillIndexerCost(model, shape));
  if (shape.decode_sequences > 0) {
    visit(DecodeIndexerCost(model, shape.decode_sequences, shape.decode_context, shape.decode_tokens));
  }
}

template <typename Visit>
[[gnu::noinline]] void VisitRecurrence(const StepModel& model, const StepShape& shape, const Visit& visit) {
  if (shape.prefill_sequences > 0) visit(PrefillRecurrenceCost(model, shape));
  if (shape.decode_sequences > 0) visit(DecodeRecurrenceCost(model, shape.decode_sequences, shape.decode_tokens));
}

// Calls `visit` with every operator, in the order of execution.
template <typename Visit>
void VisitOperators(const StepModel& model, const StepShape& shape, const Visit& visit) {
  const Shard& s = model.shard;
  const StepOperatorSet& set = model.operators;
  const double tokens = shape.Tokens();
  visit(TrafficCost(OperatorKind::kEmbedding, set.embedding, tokens, 1));
  for (const MatrixOperator& m : set.before_attention) visit(MatrixCost(m, tokens, m.count));
  if (s.latent_expand_layers > 0 && shape.prefill_prior > 0 && shape.prefill_sequences > 0) {
    visit(LatentExpansionCost(model, shape));
  }
  if (s.indexer) VisitIndexer(model, shape, visit);
  for (const AttentionGroup& group : s.attention) {
    if (shape.prefill_sequences > 0) visit(PrefillAttentionCost(model, group, shape));
    if (shape.decode_sequences > 0) {
      visit(DecodeAttentionCost(model, group, shape.decode_sequences, shape.decode_context, shape.decode_tokens));
    }
  }
  if (s.recurrence) VisitRecurrence(model, shape, visit);
  for (const MatrixOperator& m : set.after_attention) visit(MatrixCost(m, tokens, m.count));
  if (set.experts && tokens > 0) {
    const ExpertUse use = UseExperts(model, shape);
    for (const MatrixOperator* m : {&set.experts->up, &set.experts->down}) {
      visit(MatrixCost(*m, use.rows, s.experts->layers * use.on_rank));
    }
    // At the speed of light, kernels permute as they multiply.
    if (!model.efficiencies.speed_of_light) visit(ExpertRowsCost(model, use, tokens));
    // With one replica, its devices already hold all tokens.
    if (s.experts->replicas > 1) {
      const bool gathered = s.experts->exchange == ExpertExchange::kAllGather;
      visit(gathered ? ExpertGatherCost(model, tokens) : ExpertAllToAllCost(model, tokens));
    }
  }
  visit(TrafficCost(OperatorKind::kElementwise, set.elementwise, tokens, s.layers));
  const Bytes message = tokens * s.hidden * s.residual;
  if (s.tensor_parallel > 1) visit(AllReduceCost(model, message));
  if (s.stages > 1) visit(StageTransferCost(model, message));
  if (shape.logits_rows <= 0) return;
  visit(MatrixCost(set.head, shape.logits_rows, 1));
  if (s.tensor_parallel > 1) visit(LogitsGatherCost(model, shape.logits_rows));
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_VISIT_OPERATORS_H_

#include "estimator/step/operators.h"

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
    case Matrix::Kind::kIndexer:
      return OperatorKind::kIndexerProj;
    case Matrix::Kind::kCompressor:
      return OperatorKind::kCompressorProj;
    case Matrix::Kind::kRecurrentIn:
      return OperatorKind::kRecurrentInProj;
    case Matrix::Kind::kRecurrentGate:
      return OperatorKind::kRecurrentGateProj;
    case Matrix::Kind::kOut:
      return OperatorKind::kOutProj;
    case Matrix::Kind::kGroupedOut:
      return OperatorKind::kGroupedOutProj;
    case Matrix::Kind::kRecurrentOut:
      return OperatorKind::kRecurrentOutProj;
    case Matrix::Kind::kPerLayerInput:
      return OperatorKind::kPerLayerInput;
    case Matrix::Kind::kResidualMixing:
      return OperatorKind::kResidualMixing;
    case Matrix::Kind::kExpertProjection:
      return OperatorKind::kExpertProjection;
    case Matrix::Kind::kMlpUp:
      return OperatorKind::kMlpUp;
    case Matrix::Kind::kMlpDown:
      return OperatorKind::kMlpDown;
    case Matrix::Kind::kSharedUp:
      return OperatorKind::kSharedMlpUp;
    case Matrix::Kind::kSharedDown:
      return OperatorKind::kSharedMlpDown;
    case Matrix::Kind::kRouter:
      return OperatorKind::kRouter;
  }
  return OperatorKind::kRouter;  // not reached: the compiler warns of a kind without a case
}

struct Gemm {
  OperatorKind kind;
  double count, n, k;
  Bytes bytes_per_weight, bytes_per_input;
  double half_rows;
};

MatrixOperator MakeMatrix(const Gemm& g, const Shard& shard, const Machine& machine) {
  MatrixOperator matrix{.kind = g.kind, .count = g.count, .n = g.n, .k = g.k, .half_rows = g.half_rows};
  matrix.flops_per_row = Flops(2 * g.n * g.k);
  matrix.weights = g.n * g.k * g.bytes_per_weight;
  matrix.bytes_per_row = g.k * g.bytes_per_input + g.n * shard.residual;
  matrix.compute_per_row = matrix.flops_per_row / ReachedRate(machine, g.kind);
  matrix.memory = matrix.weights / ReachedBandwidth(machine, g.kind);
  matrix.memory_per_row = matrix.bytes_per_row / ReachedBandwidth(machine, g.kind);
  return matrix;
}

ExpertOperators MakeExperts(const ExpertShard& e, const Shard& shard, const Machine& machine) {
  const auto expert = [&](OperatorKind kind, double n, double k) {
    return MakeMatrix({kind, 1, n, k, e.bytes_per_weight, shard.activation, machine.expert_half_rows}, shard, machine);
  };
  return {.up = expert(OperatorKind::kExpertUp, e.up_n, e.up_k),
          .down = expert(OperatorKind::kExpertDown, e.down_n, e.down_k),
          .log_missed = LogMissed(e.num_experts, e.chosen),
          .chance = MakeShareChance(e.num_experts, e.expert_parallel),
          .gather = MakeAllGather(machine.fabric, e.devices)};
}

TrafficOperator MakeTraffic(Bytes per_token, const Machine& machine) {
  return {per_token, per_token / ReachedBandwidth(machine, OperatorKind::kElementwise)};
}

// Of the tokens of recurrent layers, the convolution reads and writes what it mixes, and the gate reads outputs and
// itself and writes. Hyper-connections read all streams twice, to mix them and to collapse them, and write them.
Bytes ElementwiseOfMixers(const Shard& s) {
  Bytes bytes;
  if (s.recurrence) {
    bytes += s.recurrence->layers * (2 * s.recurrence->convolution_width + 3 * s.recurrence->gated_width) * s.residual;
  }
  if (s.residual_streams > 1) bytes += 2 * s.layers * 3 * s.residual_streams * s.hidden * s.residual;
  return bytes;
}

// Norms and residuals, MLP activation, and the KV written: bytes of one pass; about twice that when not fused.
Bytes ElementwiseBytes(const Shard& s, bool unfused) {
  const double entering = s.norms_per_layer * s.hidden + s.elementwise_width;
  const double others = s.norms_per_layer * s.hidden + (s.mlp_matrices - 1) * s.elementwise_width;
  const double kv_elements = s.kv_elements * (s.kv_layers / s.layers);
  const Bytes each = (unfused ? 2 : 1) * (entering * s.activation + others * s.residual) + kv_elements * s.kv;
  return s.layers * each + ElementwiseOfMixers(s);
}

}  // namespace

StepOperatorSet MakeOperators(const Shard& shard, const Machine& machine, double gemm_half_rows,
                              bool unfused_elementwise) {
  StepOperatorSet set;
  for (const Matrix& m : shard.matrices) {
    const MatrixOperator matrix = MakeMatrix(
        {KindOf(m.kind), m.layers, m.n, m.k, shard.weight, shard.activation, gemm_half_rows}, shard, machine);
    if (m.kind < Matrix::Kind::kOut) {
      set.before_attention.push_back(matrix);
    } else {
      set.after_attention.push_back(matrix);
    }
  }
  if (shard.experts) set.experts = MakeExperts(*shard.experts, shard, machine);
  set.head =
      MakeMatrix({OperatorKind::kLmHead, 1, shard.vocab, shard.hidden, shard.head, shard.residual, gemm_half_rows},
                 shard, machine);
  set.embedding = MakeTraffic((shard.hidden + shard.per_layer_width) * (shard.head + shard.residual), machine);
  set.elementwise = MakeTraffic(ElementwiseBytes(shard, unfused_elementwise), machine);
  set.all_reduce = MakeAllReduce(machine.fabric, shard.tensor_parallel);
  set.logits_gather = MakeAllGather(machine.fabric, shard.tensor_parallel);
  set.stage_transfer = MakeStageTransfers(machine.fabric, shard.tensor_parallel, shard.stages);
  return set;
}

}  // namespace foretoken

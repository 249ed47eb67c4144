// The operators of a step with every coefficient that model, placement and hardware decide. They are derived once, so
// that a step of a given shape costs a few multiplications per operator.
#ifndef FORETOKEN_ESTIMATOR_STEP_OPERATORS_H_
#define FORETOKEN_ESTIMATOR_STEP_OPERATORS_H_

#include <optional>

#include "absl/container/inlined_vector.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/step/collective.h"
#include "estimator/step/experts.h"
#include "estimator/step/machine.h"
#include "estimator/step/shard.h"

namespace foretoken {

enum class OperatorKind {
  kEmbedding,
  kQkvProj,
  kLatentDownProj,
  kLatentQueryProj,
  kLatentUpProj,
  kIndexerProj,
  kCompressorProj,
  kRecurrentInProj,
  kRecurrentGateProj,
  kLatentExpand,
  kPrefillIndexer,
  kDecodeIndexer,
  kPrefillAttention,
  kDecodeAttention,
  kPrefillRecurrence,
  kDecodeRecurrence,
  kOutProj,
  kGroupedOutProj,
  kRecurrentOutProj,
  kPerLayerInput,
  kResidualMixing,
  kExpertProjection,
  kMlpUp,
  kMlpDown,
  kSharedMlpUp,
  kSharedMlpDown,
  kRouter,
  kExpertUp,
  kExpertDown,
  kExpertRows,
  kElementwise,
  kAllReduce,
  kExpertExchange,
  kStageTransfer,
  kLmHead,
  kLogitsGather,
};

// `count` products of M rows by an N x K matrix, each matrix read once, as lines over M.
struct MatrixOperator {
  OperatorKind kind = OperatorKind::kQkvProj;
  double count = 0;
  double n = 0, k = 0;
  Flops flops_per_row;      // 2 N K
  Bytes weights;            // N K w
  Bytes bytes_per_row;      // K a + N a_r
  Seconds compute_per_row;  // at the reached rate; a product of few rows takes the time of M + M0
  double half_rows = 0;     // M0
  Seconds memory;           // of the weights, at the reached rate
  Seconds memory_per_row;
};

// Bytes that pass memory once for every token.
struct TrafficOperator {
  Bytes bytes_per_token;
  Seconds memory_per_token;
};

// The routed experts of all layers: one expert's products, and how many of them a step needs.
struct ExpertOperators {
  MatrixOperator up, down;
  double log_missed = 0;  // LogMissed of E and K
  ShareChance chance;     // of E and ep
  MessageTime gather;     // dispatch of the tokens of all replicas, or combine of their results
};

struct StepOperatorSet {
  absl::InlinedVector<MatrixOperator, 6> before_attention;
  absl::InlinedVector<MatrixOperator, 7> after_attention;
  std::optional<ExpertOperators> experts;
  MatrixOperator head;
  TrafficOperator embedding;
  TrafficOperator elementwise;
  AllReduceTime all_reduce;
  MessageTime logits_gather;
  StageTransferTime stage_transfer;
};

// The rate and the bandwidth that an operator reaches on the machine. Decode attention reaches this rate on the matrix
// units, and machine.decode_attention on the vector units.
inline FlopsPerSecond ReachedRate(const Machine& machine, OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kPrefillAttention:
    case OperatorKind::kDecodeAttention:
      return machine.prefill_attention;
    case OperatorKind::kPrefillIndexer:
    case OperatorKind::kDecodeIndexer:
      return machine.indexer;
    case OperatorKind::kPrefillRecurrence:
    case OperatorKind::kDecodeRecurrence:
      return machine.recurrence;
    case OperatorKind::kExpertUp:
    case OperatorKind::kExpertDown:
      return machine.expert_gemm;
    case OperatorKind::kLmHead:
      return machine.head_gemm;
    default:
      return machine.gemm;
  }
}
inline BytesPerSecond ReachedBandwidth(const Machine& machine, OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kPrefillAttention:
    case OperatorKind::kDecodeAttention:
    case OperatorKind::kPrefillIndexer:
    case OperatorKind::kDecodeIndexer:
    case OperatorKind::kPrefillRecurrence:
    case OperatorKind::kDecodeRecurrence:
      return machine.kv_read;
    case OperatorKind::kExpertRows:
      return machine.expert_rows;
    case OperatorKind::kEmbedding:
    case OperatorKind::kLatentExpand:
    case OperatorKind::kElementwise:
      return machine.elementwise;
    default:
      return machine.weight_read;
  }
}

// `gemm_half_rows`: M0 of every product but those of routed experts.
StepOperatorSet MakeOperators(const Shard& shard, const Machine& machine, double gemm_half_rows,
                              bool unfused_elementwise);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_OPERATORS_H_

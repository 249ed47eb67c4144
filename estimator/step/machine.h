// The rates that kernels reach on one device: the hardware's stated peaks times the calibrated shares of them, in the
// dtype that the placement computes in; and the links between devices.
#ifndef FORETOKEN_ESTIMATOR_STEP_MACHINE_H_
#define FORETOKEN_ESTIMATOR_STEP_MACHINE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/units.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/collective.h"

namespace foretoken {

struct Machine {
  // Stated peaks, for utilisations.
  FlopsPerSecond matrix_peak;
  FlopsPerSecond expert_peak;  // of routed experts, whose weights may have a dtype of their own; 0: there are none
  BytesPerSecond memory_peak;
  Bytes memory_capacity;

  // Reached rates.
  FlopsPerSecond gemm;               // of the deployment's weights
  FlopsPerSecond expert_gemm;        // of routed experts, each with rows of its own; 0: the model has none
  FlopsPerSecond head_gemm;          // of the LM head, which stays in 16 bits
  FlopsPerSecond prefill_attention;  // and of MLA's absorbed decode, a matrix product over all heads
  FlopsPerSecond decode_attention;
  FlopsPerSecond indexer;     // scores of sparse attention, in 8 bits where the hardware states a peak for them
  FlopsPerSecond recurrence;  // of recurrent layers
  BytesPerSecond weight_read;
  BytesPerSecond kv_read;
  BytesPerSecond elementwise;
  BytesPerSecond expert_rows;  // of rows that are sorted to experts and added up
  double expert_half_rows = 0;
  Fabric fabric;
};

// The refusal where hardware does not state a spec that `purpose` ("every estimate") needs.
absl::Status MissingFigure(const Hardware& hardware, const std::string& field, const std::string& purpose);

// The dtype of a matrix product: the wider of weights and activations.
Dtype ComputeDtype(Dtype weight, Dtype activation);

// A dense peak, and the bytes of an operand of its matrix units; operands of other dtypes are cast to theirs.
struct Peak {
  FlopsPerSecond rate;
  Bytes element;
};

// The dense peak that computes in `dtype`. A missing one is replaced by the next wider that the hardware states (4-bit
// formats by 8 bits of their kind, these by 16 bits, 16-bit formats by each other, then by fp32) with a
// kPeakSubstituted warning.
//
// Errors: kMissingFigure where no peak serves.
absl::StatusOr<Peak> PeakFor(const Hardware& hardware, Dtype dtype, std::vector<Warning>* warnings);

// How many vector lanes can request data, relative to what memory delivers:
// sqrt(fp32 peak / 1 TFLOP/s) / (memory bandwidth / 1 TB/s). 0: one of them is not stated.
double VectorBalance(const Hardware& hardware);

// Efficiencies that were fitted on other devices, transferred to this one. A share of bandwidth below the generic
// prior's means that too few lanes request data: with more lanes per byte the share rises, up to the prior's.
// Formula, source: docs/model/step.md, "A calibration on another device".
Efficiencies TransferredTo(const Hardware& hardware, Efficiencies efficiencies);

// `experts`: the dtype of the weights of routed experts; kUnspecified: the model has none. Errors: kMissingFigure: a
// peak, the memory bandwidth, the capacity, or a link that the placement needs.
absl::StatusOr<Machine> MakeMachine(const Hardware& hardware, const Placement& placement, Dtype experts,
                                    const Efficiencies& efficiencies, std::vector<Warning>* warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_MACHINE_H_

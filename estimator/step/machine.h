// One device as kernels meet it: the hardware's stated peaks times the calibrated shares of them, in the dtype that
// the deployment computes in, and the links between devices.
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
  BytesPerSecond memory_peak;
  Bytes memory_capacity;

  // Reached rates.
  FlopsPerSecond gemm;               // of the deployment's weights
  FlopsPerSecond expert_gemm;        // of routed experts, each with rows of its own
  FlopsPerSecond head_gemm;          // of the LM head, which stays in 16 bits
  FlopsPerSecond prefill_attention;  // and of MLA's absorbed decode, a matrix product over all heads
  FlopsPerSecond decode_attention;
  BytesPerSecond weight_read;
  BytesPerSecond kv_read;
  BytesPerSecond elementwise;
  Fabric fabric;
};

// Refuses what `purpose` ("every estimate") needs a figure for that the hardware does not state.
absl::Status MissingFigure(const Hardware& hardware, const std::string& field, const std::string& purpose);

// The dtype in which weights and activations meet: the wider of the two.
Dtype ComputeDtype(Dtype weight, Dtype activation);

// A dense peak, and an element as its matrix units take it: what they cannot compute in is cast to what they can.
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

// Lanes that ask, for what memory can give: sqrt(fp32 peak / 1 TFLOP/s) / (memory bandwidth / 1 TB/s). 0: one of them
// is not stated.
double VectorBalance(const Hardware& hardware);

// What efficiencies that were fitted to other devices come to on this one. A share of bandwidth below the generic
// prior's is of kernels whose lanes cannot ask for more: with more lanes to a byte it rises, up to the prior's.
// Formula, source: docs/model.md, "Carried to another device".
Efficiencies CarriedTo(const Hardware& hardware, Efficiencies efficiencies);

// Errors: kMissingFigure: a peak, the memory bandwidth, the capacity, or a link that the deployment needs.
absl::StatusOr<Machine> MakeMachine(const Hardware& hardware, const Placement& placement,
                                    const Efficiencies& efficiencies, std::vector<Warning>* warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_MACHINE_H_

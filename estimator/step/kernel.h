// The time of one kernel alone, by the formulas of a step: what a microbenchmark of a device measures.
//
//   KernelTime({.tokens = 8192, .chosen = 8, .rows = 65536, ...}, hardware, efficiencies);
#ifndef FORETOKEN_ESTIMATOR_STEP_KERNEL_H_
#define FORETOKEN_ESTIMATOR_STEP_KERNEL_H_

#include "absl/status/statusor.h"
#include "estimator/base/dtype.h"
#include "estimator/base/units.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/hardware.h"

namespace foretoken {

// All kernels of the routed experts of one layer, as one device runs them.
struct ExpertsKernel {
  double tokens = 0;    // on the device, those that choose only experts of other devices among them
  double chosen = 0;    // experts of a token
  double rows = 0;      // that the device's experts multiply, all together
  double experts = 0;   // of the device that have rows
  double hidden = 0;    // of the model
  double width = 0;     // of an expert on this device
  double matrices = 3;  // of an expert: gate, up and down; 2: without a gate
  Dtype weight_dtype = Dtype::kBf16;
  Dtype activation_dtype = Dtype::kBf16;
};

// With the time that the microbenchmark takes to start the kernels. Errors: kMissingFigure: the hardware
// does not state a figure that every estimate needs.
absl::StatusOr<Seconds> KernelTime(const ExpertsKernel& kernel, const Hardware& hardware,
                                   const Efficiencies& efficiencies);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_KERNEL_H_

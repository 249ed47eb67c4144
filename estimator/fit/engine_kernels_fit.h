// Fits the constants of kernels to all kernels of one engine on one device, whatever their formats: rejects those that
// cannot be right, and reports how far off the rest are. What it gives is the parent of a fit to runs (hardware_fit.h),
// which leaves these constants as they are.
//
//   absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(parent, samples);
//   FitHardware({.efficiencies = fit->efficiencies, ...}, runs);
//
// Pure functions, safe from any thread. A thousand kernels take under a second.
#ifndef FORETOKEN_ESTIMATOR_FIT_ENGINE_KERNELS_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_ENGINE_KERNELS_FIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/hardware_fit.h"
#include "estimator/fit/kernel_fit.h"

namespace foretoken {

// Factor between a kernel and the fit to all of its format, above which the kernel is reported, though it is used.
// Versions of one engine that differ as much are not to be fitted together.
inline constexpr double kSuspiciousKernel = 2;

// How well the kernels of one format are described. An error is the median of |predicted / measured - 1|, where a
// prediction includes `start`.
struct FormatFit {
  MatrixFormat format = MatrixFormat::k16Bit;
  int kernels = 0;
  Seconds start;            // time before a kernel begins (KernelFit)
  double parent_error = 0;  // by the parent's constants
  double error = 0;         // by the fitted constants, on the kernels that the fit used
};

// What a fit to kernels found. Indices are those of the samples.
struct EngineKernelsFit {
  Efficiencies efficiencies;           // the parent's, but the fitted constants of every format that was fitted
  std::vector<double> log_deviations;  // posterior, by Parameters(); 0: no kernel tells of the parameter
  std::vector<FormatFit> formats;      // in the order of the enum; at least one
  std::vector<int> used;
  std::vector<RefusedSample> rejected;    // not used
  std::vector<RefusedSample> suspicious;  // used, though off by more than kSuspiciousKernel after the fit
};

// Fits `samples` of one engine on one device. A format whose error after the fit is above kMostUnexplained keeps the
// parent's constants, and its kernels are rejected.
// Errors: kInsufficientSamples: every format has fewer than kFewestSamples usable kernels; the message gives the
// reasons. kPoorFit: the error of every format is above kMostUnexplained. CANCELLED.
absl::StatusOr<EngineKernelsFit> FitEngineKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples,
                                                  Cancelled cancelled = NeverCancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_ENGINE_KERNELS_FIT_H_

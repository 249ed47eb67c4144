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

// A kernel that is off by more than this factor from the fit to all of its format is used and reported: versions of one
// engine that differ as much are not to be fitted together.
inline constexpr double kSuspiciousKernel = 2;

// The kernels of one format. Errors are medians of |predicted / measured - 1|, with `start`.
struct FormatFit {
  MatrixFormat format = MatrixFormat::k16Bit;
  int kernels = 0;
  Seconds start;            // see KernelFit
  double parent_error = 0;  // of the parent
  double error = 0;         // of the fit, on the kernels that it was fitted to
};

struct EngineKernelsFit {
  Efficiencies efficiencies;              // the parent's, with the constants of every format that was fitted
  std::vector<double> log_deviations;     // posterior, by Parameters(); 0: no kernel tells of it
  std::vector<FormatFit> formats;         // in the order of the enum; at least one
  std::vector<int> used;                  // indices into the samples
  std::vector<RefusedSample> rejected;    // indices likewise
  std::vector<RefusedSample> suspicious;  // used, though off by more than kSuspiciousKernel after the fit
};

// Fits `samples` of one engine on one device. A format of which the fit leaves more than kMostUnexplained keeps the
// parent's constants, and its kernels are rejected. Errors: kInsufficientSamples: fewer than kFewestSamples of every
// format are usable; the message gives the reasons. kPoorFit: that much is left of every format. CANCELLED.
absl::StatusOr<EngineKernelsFit> FitEngineKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples,
                                                  Cancelled cancelled = NeverCancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_ENGINE_KERNELS_FIT_H_

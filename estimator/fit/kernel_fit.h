// Fits the constants of kernels to kernels that were timed alone: a microbenchmark of minutes tells what a device
// reaches, where runs of an engine tell only of everything together.
#ifndef FORETOKEN_ESTIMATOR_FIT_KERNEL_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_KERNEL_FIT_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/scenario/parameters.h"
#include "estimator/step/kernel.h"

namespace foretoken {

// One measurement. The hardware outlives it.
struct KernelSample {
  const Hardware* hardware = nullptr;
  ExpertsKernel kernel;
  Seconds measured;
};

// The parameters that kernels of the format tell of.
std::span<const Parameter> KernelParametersOf(MatrixFormat format);

MatrixFormat FormatOf(const KernelSample& sample);

// Why the measurement cannot be right: it is no time, or faster than the hardware can be. Nothing: it can be.
std::optional<std::string> KernelFault(const KernelSample& sample);

struct KernelFit {
  Efficiencies efficiencies;           // the parent's, with the constants of one format
  std::vector<double> log_deviations;  // posterior, by KernelParametersOf
  // How long the microbenchmark took to start the kernels. It is no constant of an engine, because engines replay
  // recorded graphs.
  Seconds start;
};

// The constants of one format that explain `samples` best, given those of their `parent`. REQUIRES: all samples are of
// this format and without a fault. Once `cancelled` returns true, the result is to be discarded.
KernelFit FitKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples, MatrixFormat format,
                     Cancelled cancelled = NeverCancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_KERNEL_FIT_H_

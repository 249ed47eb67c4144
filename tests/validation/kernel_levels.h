// Calibrations of continuous batching from kernels alone: engine -> (hardware, engine@version). An engine's constants
// are the geometric means over the newest version on each device; a device's parent is the engine without that device.
#ifndef FORETOKEN_TESTS_VALIDATION_KERNEL_LEVELS_H_
#define FORETOKEN_TESTS_VALIDATION_KERNEL_LEVELS_H_

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "estimator/scenario/calibration.h"
#include "tests/validation/kernel_rows.h"

namespace foretoken::validation {

using KeepKernel = std::function<bool(const KernelRow&)>;

struct KernelLevel {
  std::string hardware;  // empty: of the engine
  std::string engine;    // "name@version", of an engine "name"
  Efficiencies prior, fitted;
  std::array<double, kNumMatrixFormats * 3> deviations{};  // posterior, by KernelParameters(); 0: not fitted
  std::array<double, kNumMatrixFormats> starts{};          // seconds that the microbenchmark took to start kernels
  std::array<double, kNumMatrixFormats> prior_starts{};
  std::vector<const KernelRow*> used;

  std::string Id() const;
};

// Every level of the rows that `keep` accepts. `base`: what the kernels do not tell of.
std::vector<KernelLevel> FitKernelLevels(const std::vector<KernelRow>& rows, const KeepKernel& keep,
                                         const Efficiencies& base);

// The constants that runs tell of from `runs`, those that kernels tell of from `kernels`.
Efficiencies WithKernels(Efficiencies runs, const Efficiencies& kernels);

// Error of the kernels of one format on one device and engine: the median of |predicted / measured - 1|.
struct KernelError {
  std::string hardware, engine;
  MatrixFormat format;
  double in_sample = 0, device_left_out = 0;
  int rows = 0;
};

// Of every (device, engine, format). Left out: as the engine's constants from other devices predict.
std::vector<KernelError> ErrorsOf(const std::vector<KernelRow>& rows, const Efficiencies& base);

// As the server looks them up.
std::vector<Calibration> ToCalibrations(const std::vector<KernelLevel>& levels);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_KERNEL_LEVELS_H_

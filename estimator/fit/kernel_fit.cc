#include "estimator/fit/kernel_fit.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "estimator/fit/fit_problem.h"

namespace foretoken {
namespace {

using Eigen::VectorXd;

// NaN: the model refuses it.
double Predict(const KernelSample& sample, const Efficiencies& efficiencies) {
  const absl::StatusOr<Seconds> time = KernelTime(sample.kernel, *sample.hardware, efficiencies);
  return time.ok() ? time->value() : std::numeric_limits<double>::quiet_NaN();
}

constexpr Seconds kUsualStart{30e-6};  // median of what was fitted

// How long the microbenchmark takes to start kernels: fitted beside the constants, and no constant of an engine.
constexpr Parameter kStart = {.name = "microbenchmark_start",
                              .unit = "s",
                              .get = [](const Efficiencies& e) { return e.microbenchmark_start.value(); },
                              .set = [](double value, Efficiencies& e) { e.microbenchmark_start = Seconds(value); },
                              .log_deviation = 1,
                              .low = 1e-7,
                              .high = 1e-2};

}  // namespace

std::span<const Parameter> KernelParametersOf(MatrixFormat format) {
  const size_t each = KernelParameters().size() / kNumMatrixFormats;
  return KernelParameters().subspan(static_cast<size_t>(format) * each, each);
}

MatrixFormat FormatOf(const KernelSample& sample) {
  return FormatOf(sample.kernel.weight_dtype, sample.kernel.activation_dtype);
}

std::optional<std::string> KernelFault(const KernelSample& sample) {
  const double measured = sample.measured.value();
  if (!std::isfinite(measured) || measured <= 0) {
    return absl::StrFormat("%g s; allowed: finite seconds above 0", measured);
  }
  const double floor = Predict(sample, SpeedOfLight());
  if (!(measured < floor)) return std::nullopt;
  return absl::StrFormat("%.3g s; the hardware cannot be faster than %.3g s", measured, floor);
}

KernelFit FitKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples, MatrixFormat format,
                     Cancelled cancelled) {
  const auto rows = static_cast<Eigen::Index>(samples.size());
  const auto misses = [&samples, rows](const Efficiencies& efficiencies) {
    VectorXd logs(rows);
    for (Eigen::Index i = 0; i < rows; ++i) {
      const KernelSample& sample = samples[static_cast<size_t>(i)];
      const double miss = std::log(Predict(sample, efficiencies) / sample.measured.value());
      logs[i] = std::isfinite(miss) ? miss : 0;
    }
    return logs;
  };
  const std::span<const Parameter> of_format = KernelParametersOf(format);
  std::vector<Parameter> parameters(of_format.begin(), of_format.end());
  parameters.push_back(kStart);
  Efficiencies first = parent;
  Set(kStart, kUsualStart.value(), first);
  const FitResult fit = Fit(first, parameters, {misses, VectorXd::Ones(rows)}, kHardwareFitOptions, cancelled);
  if (fit.log_deviations.empty()) return {.efficiencies = parent};
  KernelFit result{fit.efficiencies, fit.log_deviations, Seconds(Get(fit.efficiencies, kStart))};
  result.efficiencies.microbenchmark_start = parent.microbenchmark_start;
  result.log_deviations.pop_back();
  return result;
}

}  // namespace foretoken

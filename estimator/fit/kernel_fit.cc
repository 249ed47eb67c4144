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

KernelFit FitKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples, MatrixFormat format) {
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
  const Parameter& start = Parameters()[FindParameter("expert_start")];
  std::vector<Parameter> parameters(of_format.begin(), of_format.end());
  parameters.push_back(start);
  const FitResult fit = Fit(parent, parameters, {misses, VectorXd::Ones(rows)}, kHardwareFitOptions, NeverCancelled);
  KernelFit result{fit.efficiencies, fit.log_deviations, Seconds(Get(fit.efficiencies, start))};
  Set(start, Get(parent, start), result.efficiencies);
  result.log_deviations.pop_back();
  return result;
}

}  // namespace foretoken

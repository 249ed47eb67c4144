#include "estimator/fit/engine_kernels_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/fit/fit_errors.h"
#include "estimator/fit/sample_faults.h"
#include "estimator/scenario/parameters.h"

namespace foretoken {
namespace {

using Indices = std::vector<int>;
using ByFormat = std::map<MatrixFormat, Indices>;

std::optional<RefusedSample> FindFault(int index, const KernelSample& sample) {
  const absl::StatusOr<Seconds> predicted = KernelTime(sample.kernel, *sample.hardware, GenericServedPrior());
  if (!predicted.ok()) {
    constexpr const char* kKind = "kernel refused by the core model";
    return RefusedSample{index, kKind, absl::StrCat("refused by the core model: ", predicted.status().message())};
  }
  std::optional<std::string> fault = KernelFault(sample);
  if (!fault) return std::nullopt;
  const bool is_time = IsTime(sample.measured.value());
  return RefusedSample{index, is_time ? "kernel faster than light" : "kernel without a time", *std::move(fault)};
}

// The usable kernels of formats that have enough of them; the others are rejected.
ByFormat Usable(const std::vector<KernelSample>& samples, Cancelled cancelled, std::vector<RefusedSample>& rejected) {
  ByFormat formats;
  for (size_t i = 0; i < samples.size() && !cancelled(); ++i) {
    const int index = static_cast<int>(i);
    if (std::optional<RefusedSample> fault = FindFault(index, samples[i])) {
      rejected.push_back(*std::move(fault));
    } else {
      formats[FormatOf(samples[i])].push_back(index);
    }
  }
  std::erase_if(formats, [&rejected](const auto& entry) {
    const auto& [format, indices] = entry;
    if (indices.size() >= kFewestSamples) return false;
    const std::string reason = absl::StrCat("one of ", indices.size(), " usable kernels of format ",
                                            MatrixFormatName(format), "; at least ", kFewestSamples);
    for (const int index : indices) rejected.push_back({index, "too few kernels of the format", reason});
    return true;
  });
  return formats;
}

// Predicted over measured.
double RatioOf(const KernelSample& sample, const Efficiencies& efficiencies) {
  return *KernelTime(sample.kernel, *sample.hardware, efficiencies) / sample.measured;
}

std::vector<double> RatiosOf(const std::vector<KernelSample>& samples, Efficiencies efficiencies, Seconds start) {
  efficiencies.microbenchmark_start = start;
  std::vector<double> ratios;
  for (const KernelSample& sample : samples) ratios.push_back(RatioOf(sample, efficiencies));
  return ratios;
}

double MedianError(std::vector<double> ratios) {
  for (double& ratio : ratios) ratio = std::abs(ratio - 1);
  return Quantile(std::move(ratios), 0.5);
}

std::vector<RefusedSample> Suspicious(const Indices& indices, const std::vector<double>& ratios) {
  std::vector<RefusedSample> suspicious;
  for (size_t i = 0; i < ratios.size(); ++i) {
    const double off = 1 / ratios[i];
    if (off <= kSuspiciousKernel && off >= 1 / kSuspiciousKernel) continue;
    suspicious.push_back(
        {indices[i], "off after the fit",
         absl::StrFormat("measured %.3g times what all kernels of its format say; %g to %g is usual: do they mix "
                         "implementations?",
                         off, 1 / kSuspiciousKernel, kSuspiciousKernel)});
  }
  return suspicious;
}

// Sets the parameters of one format, with their deviations, and leaves the others.
void TakeOver(const KernelFit& fit, MatrixFormat format, EngineKernelsFit& result) {
  const std::span<const Parameter> parameters = KernelParametersOf(format);
  for (size_t i = 0; i < parameters.size(); ++i) {
    Set(parameters[i], Get(fit.efficiencies, parameters[i]), result.efficiencies);
    result.log_deviations[FindParameter(parameters[i].name)] = fit.log_deviations[i];
  }
}

absl::Status CheckExplained(const FormatFit& fit, const std::vector<double>& by_parent) {
  if (fit.error <= kMostUnexplained) return absl::OkStatus();
  return Refusal(Reason::kPoorFit, "kernels",
                 absl::StrFormat("kernels of format %s: the fit leaves a median absolute percentage error of %.1f%% "
                                 "over %d; allowed at most %.1f%%. Measured is %.3g times what the parent predicts: "
                                 "are the times in seconds?",
                                 MatrixFormatName(fit.format), 100 * fit.error, fit.kernels, 100 * kMostUnexplained,
                                 1 / Quantile(by_parent, 0.5)));
}

absl::Status FitFormat(const Efficiencies& parent, MatrixFormat format, const Indices& indices,
                       const std::vector<KernelSample>& all, Cancelled cancelled, EngineKernelsFit& result) {
  std::vector<KernelSample> samples;
  for (const int index : indices) samples.push_back(all[static_cast<size_t>(index)]);
  const KernelFit fit = FitKernels(parent, samples, format, cancelled);
  if (cancelled()) return absl::CancelledError("the caller gave up before the fit was done");
  const std::vector<double> by_parent = RatiosOf(samples, parent, fit.start);
  const std::vector<double> by_fit = RatiosOf(samples, fit.efficiencies, fit.start);
  result.formats.push_back({.format = format,
                            .kernels = static_cast<int>(samples.size()),
                            .start = fit.start,
                            .parent_error = MedianError(by_parent),
                            .error = MedianError(by_fit)});
  if (absl::Status status = CheckExplained(result.formats.back(), by_parent); !status.ok()) {
    result.formats.pop_back();
    return status;
  }
  TakeOver(fit, format, result);
  result.used.insert(result.used.end(), indices.begin(), indices.end());
  for (RefusedSample& doubted : Suspicious(indices, by_fit)) result.suspicious.push_back(std::move(doubted));
  return absl::OkStatus();
}

absl::Status TooFew(const std::vector<RefusedSample>& rejected, size_t given) {
  std::string message =
      absl::StrCat("no format has ", kFewestSamples, " usable kernels; ", given, " kernels of the engine are given");
  constexpr size_t kMostReasons = 3;
  std::set<std::string> reasons;
  for (const RefusedSample& sample : rejected) {
    if (reasons.size() < kMostReasons && reasons.insert(sample.reason).second) {
      absl::StrAppend(&message, "; ", sample.reason);
    }
  }
  return Refusal(Reason::kInsufficientSamples, "kernels", message);
}

// Leaves a format as the parent has it.
void Reject(const Indices& indices, const absl::Status& poor, EngineKernelsFit& result) {
  for (const int index : indices) {
    result.rejected.push_back({index, "kernel of a format that no constants explain", std::string(poor.message())});
  }
}

bool ByIndex(const RefusedSample& a, const RefusedSample& b) { return a.index < b.index; }

}  // namespace

absl::StatusOr<EngineKernelsFit> FitEngineKernels(const Efficiencies& parent, const std::vector<KernelSample>& samples,
                                                  Cancelled cancelled) {
  EngineKernelsFit result{.efficiencies = parent, .log_deviations = std::vector<double>(Parameters().size())};
  const ByFormat formats = Usable(samples, cancelled, result.rejected);
  if (cancelled()) return absl::CancelledError("the caller gave up before the fit was done");
  absl::Status poor;
  for (const auto& [format, indices] : formats) {
    const absl::Status status = FitFormat(parent, format, indices, samples, cancelled, result);
    if (absl::IsCancelled(status)) return status;
    if (!status.ok()) Reject(indices, status, result);
    poor.Update(status);
  }
  std::sort(result.rejected.begin(), result.rejected.end(), ByIndex);
  if (formats.empty()) return TooFew(result.rejected, samples.size());
  if (result.formats.empty()) return poor;
  std::sort(result.used.begin(), result.used.end());
  std::sort(result.suspicious.begin(), result.suspicious.end(), ByIndex);
  return result;
}

}  // namespace foretoken

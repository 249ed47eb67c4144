#include "estimator/fit/hardware_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/fit/sample_faults.h"
#include "estimator/methods/linear_profile.h"

namespace foretoken {
namespace {

constexpr double kSuspicious = 3;      // times off the parent's prediction
constexpr double kLeastOutlier = 0.5;  // in log; a smaller residual is never an outlier
constexpr double kOutlierMads = 4;

// The error of a sample that is largest by absolute value; 0: none is known.
double Farthest(const Times& errors) {
  double farthest = 0;
  for (const double error : errors) {
    if (std::abs(error) > std::abs(farthest)) farthest = error;
  }
  return farthest;
}

void CheckSamples(const FitParent& parent, const std::vector<Sample>& samples, Cancelled cancelled, HardwareFit& fit) {
  for (size_t i = 0; i < samples.size() && !cancelled(); ++i) {
    const int index = static_cast<int>(i);
    if (std::optional<SampleFault> fault = FindFault(samples[i])) {
      fit.rejected.push_back({index, std::move(fault->kind), std::move(fault->reason)});
      continue;
    }
    fit.used.push_back(index);
    const double off = std::exp(Farthest(LogErrors(samples[i], parent.efficiencies)));
    if (off < 1 / kSuspicious || off > kSuspicious) {
      fit.suspicious.push_back(
          {index, "far from its parent", absl::StrFormat("measured %.3g times what the parent predicts", off)});
    }
  }
}

// Samples that the others contradict. One pass only, because a second would cut the tails that the bands need.
std::vector<RefusedSample> Outliers(const Efficiencies& fitted, const std::vector<Sample>& samples,
                                    const HardwareFit& fit) {
  std::vector<double> sizes;
  for (const int index : fit.used) {
    sizes.push_back(std::abs(Farthest(LogErrors(samples[static_cast<size_t>(index)], fitted))));
  }
  const double limit = std::max(kLeastOutlier, kOutlierMads * Quantile(sizes, 0.5));
  std::vector<RefusedSample> outliers;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] > limit)) continue;
    outliers.push_back({fit.used[i], "contradicted by the other samples",
                        absl::StrFormat("is %.2f times off what the other samples say; allowed %.2f",
                                        std::exp(sizes[i]), std::exp(limit))});
  }
  return outliers;
}

void DropOutliers(const Efficiencies& fitted, const std::vector<Sample>& samples, HardwareFit& fit) {
  for (RefusedSample& outlier : Outliers(fitted, samples, fit)) {
    std::erase(fit.used, outlier.index);
    std::erase_if(fit.suspicious, [&](const RefusedSample& other) { return other.index == outlier.index; });
    fit.rejected.push_back(std::move(outlier));
  }
}

absl::Status TooFew(const HardwareFit& fit, size_t given) {
  std::string message = absl::StrCat(fit.used.size(), " usable samples of ", given, "; at least ", kFewestSamples);
  constexpr size_t kMostReasons = 3;
  for (size_t i = 0; i < std::min(fit.rejected.size(), kMostReasons); ++i) {
    absl::StrAppend(&message, "; samples[", fit.rejected[i].index, "] ", fit.rejected[i].reason);
  }
  return Refusal(Reason::kInsufficientSamples, "samples", message);
}

// Turns indices into `used` into indices into the samples.
void Translate(const std::vector<int>& used, LevelFit& level) {
  for (int& index : level.used) index = used[static_cast<size_t>(index)];
}

// Median of measured over predicted by the parent.
double TimesOff(const FitParent& parent, const std::vector<Sample>& samples, const std::vector<int>& used, int metric) {
  std::vector<double> ratios;
  for (const int index : used) {
    const double error = LogErrors(samples[static_cast<size_t>(index)], parent.efficiencies)[metric];
    if (std::isfinite(error)) ratios.push_back(std::exp(error));
  }
  return Quantile(ratios, 0.5);
}

// Refuses a level that does not explain its own samples.
absl::Status CheckExplained(const FitParent& parent, const std::vector<Sample>& samples, const LevelFit& level) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const MetricError& error = level.quality.errors[metric];
    if (error.num_samples == 0 || error.median_ape <= kMostUnexplained) continue;
    return Refusal(Reason::kPoorFit, "samples",
                   absl::StrFormat(
                       "%s%s: the fit leaves a median absolute percentage error of %.1f%% over %d samples; allowed at "
                       "most %.1f%%. Measured is %.3g times what the parent predicts: are the times in seconds?",
                       level.model_id.empty() ? "" : level.model_id + " ", kMetricNames[metric], 100 * error.median_ape,
                       error.num_samples, 100 * kMostUnexplained, TimesOff(parent, samples, level.used, metric)));
  }
  return absl::OkStatus();
}

absl::Status CheckExplained(const FitParent& parent, const std::vector<Sample>& samples, const DeviceFit& levels) {
  absl::Status status = CheckExplained(parent, samples, levels.device);
  for (size_t i = 0; i < levels.models.size() && status.ok(); ++i) {
    status = CheckExplained(parent, samples, levels.models[i]);
  }
  return status;
}

}  // namespace

absl::StatusOr<HardwareFit> FitHardware(const FitParent& parent, const std::vector<Sample>& samples,
                                        Cancelled cancelled) {
  const absl::Status gave_up = absl::CancelledError("the caller gave up before the fit was done");
  HardwareFit fit;
  CheckSamples(parent, samples, cancelled, fit);
  if (cancelled()) return gave_up;
  if (fit.used.size() < kFewestSamples) return TooFew(fit, samples.size());
  DropOutliers(Fit(parent.efficiencies, Pick(samples, fit.used), parent.Options(), cancelled).efficiencies, samples,
               fit);
  if (cancelled()) return gave_up;
  if (fit.used.size() < kFewestSamples) return TooFew(fit, samples.size());
  fit.levels = FitDevice(parent, Pick(samples, fit.used), cancelled);
  if (cancelled()) return gave_up;
  Translate(fit.used, fit.levels.device);
  for (LevelFit& model : fit.levels.models) Translate(fit.used, model);
  if (absl::Status status = CheckExplained(parent, samples, fit.levels); !status.ok()) return status;
  return fit;
}

bool ComesCloser(const Efficiencies& fitted, const LinearProfile& profile, const std::vector<Sample>& samples) {
  double by_fit = 0, by_profile = 0;
  int times = 0;
  for (const Sample& sample : samples) {
    const absl::StatusOr<Estimate> estimate = EstimateLinearProfile(sample.scenario, profile, Detail{});
    if (!estimate.ok()) continue;
    const Times profiled = TimesOf(*estimate);
    const Times errors = LogErrors(sample, fitted);
    for (int metric = 0; metric < kNumMetrics; ++metric) {
      const double error = std::log(sample.measured[metric] / profiled[metric]);
      if (!std::isfinite(error) || !std::isfinite(errors[metric])) continue;
      by_fit += std::abs(errors[metric]);
      by_profile += std::abs(error);
      ++times;
    }
  }
  return by_profile > kHardwareFitOptions.noise * times && by_fit < by_profile;
}

}  // namespace foretoken

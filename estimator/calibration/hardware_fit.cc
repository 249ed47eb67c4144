#include "estimator/calibration/hardware_fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/calibration/sample_faults.h"
#include "estimator/errors.h"
#include "estimator/linear_profile.h"

namespace foretoken {
namespace {

constexpr double kSuspicious = 3;     // times off the parent's prediction
constexpr double kLeastOutlier = 0.5;  // in log; a residual below is never one
constexpr double kOutlierMads = 4;
constexpr int kFolds = 5;
constexpr int kFewestOfOwnBand = 10;  // and two batch sizes, two contexts, both phases
constexpr double kCoverage = 0.8;
constexpr double kWidening = 1.5;  // in log: samples of one campaign are more alike than a user's questions

using Logs = std::array<std::vector<double>, kNumMetrics>;

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// log(measured / predicted) of each metric; NaN where either is missing.
Times LogErrors(const Sample& sample, const Efficiencies& efficiencies) {
  Times errors = PredictTimes(sample.scenario, efficiencies);
  for (int metric = 0; metric < kNumMetrics; ++metric) errors[metric] = std::log(sample.measured[metric] / errors[metric]);
  return errors;
}

// The largest of a sample's errors by size; 0: none is known.
double Farthest(const Times& errors) {
  double farthest = 0;
  for (const double error : errors) {
    if (std::abs(error) > std::abs(farthest)) farthest = error;
  }
  return farthest;
}

std::vector<Sample> Pick(const std::vector<Sample>& samples, const std::vector<int>& indices) {
  std::vector<Sample> picked;
  picked.reserve(indices.size());
  for (const int index : indices) picked.push_back(samples[static_cast<size_t>(index)]);
  return picked;
}

void CheckSamples(const FitParent& parent, const std::vector<Sample>& samples, HardwareFit& fit) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const int index = static_cast<int>(i);
    if (std::optional<SampleFault> fault = FindFault(samples[i])) {
      fit.rejected.push_back({index, std::move(fault->kind), std::move(fault->reason)});
      continue;
    }
    fit.used.push_back(index);
    const double off = std::exp(Farthest(LogErrors(samples[i], parent.efficiencies)));
    if (off < 1 / kSuspicious || off > kSuspicious) {
      fit.suspicious.push_back({index, "far from its parent", absl::StrFormat("measured %.3g times what the parent predicts", off)});
    }
  }
}

// Samples that the others contradict. One pass, as a second would eat into the tails that the bands need.
std::vector<RefusedSample> Outliers(const std::vector<Sample>& samples, const HardwareFit& fit) {
  std::vector<double> sizes;
  for (const int index : fit.used) {
    sizes.push_back(std::abs(Farthest(LogErrors(samples[static_cast<size_t>(index)], fit.fit.efficiencies))));
  }
  const double limit = std::max(kLeastOutlier, kOutlierMads * Quantile(sizes, 0.5));
  std::vector<RefusedSample> outliers;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] > limit)) continue;
    outliers.push_back({fit.used[i], "contradicted by the other samples", absl::StrFormat("is %.2f times off what the other samples say; allowed %.2f",
                       std::exp(sizes[i]), std::exp(limit))});
  }
  return outliers;
}

void DropOutliers(const std::vector<Sample>& samples, HardwareFit& fit) {
  for (RefusedSample& outlier : Outliers(samples, fit)) {
    std::erase(fit.used, outlier.index);
    std::erase_if(fit.suspicious, [&](const RefusedSample& other) { return other.index == outlier.index; });
    fit.rejected.push_back(std::move(outlier));
  }
}

// Each used sample's error by a fit that has not seen it.
Logs HeldOutErrors(const FitParent& parent, const std::vector<Sample>& used) {
  Logs logs;
  const int folds = std::min<int>(kFolds, static_cast<int>(used.size()));
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<Sample> kept, held;
    for (size_t i = 0; i < used.size(); ++i) {
      (static_cast<int>(i) % folds == fold ? held : kept).push_back(used[i]);
    }
    const Efficiencies fitted = Fit(parent.efficiencies, kept, kHardwareFitOptions).efficiencies;
    for (const Sample& sample : held) {
      const Times errors = LogErrors(sample, fitted);
      for (int metric = 0; metric < kNumMetrics; ++metric) {
        if (std::isfinite(errors[metric])) logs[metric].push_back(errors[metric]);
      }
    }
  }
  return logs;
}

// Of predicted against measured, from log(measured / predicted).
double Ape(double log_error) { return std::abs(std::exp(-log_error) - 1); }

// Log errors of a metric, those that are known.
std::vector<double> Known(const std::vector<Sample>& used, const Efficiencies& fitted, int metric) {
  std::vector<double> known;
  for (const Sample& sample : used) {
    const double log_error = LogErrors(sample, fitted)[metric];
    if (std::isfinite(log_error)) known.push_back(log_error);
  }
  return known;
}

// Whether the samples vary enough for their errors to stand for other questions.
bool CarryOwnBand(const std::vector<Sample>& used) {
  std::set<int> batches, prompts;
  bool prefill = false, decode = false;
  for (const Sample& sample : used) {
    batches.insert(sample.scenario.workload.batch_size);
    prompts.insert(sample.scenario.workload.prompt_tokens);
    prefill = prefill || IsTime(sample.measured[kTtft]);
    decode = decode || IsTime(sample.measured[kTpot]) || IsTime(sample.measured[kE2e]);
  }
  return used.size() >= kFewestOfOwnBand && batches.size() > 1 && prompts.size() > 1 && prefill && decode;
}

BandRatio BandOf(const std::vector<double>& held_out) {
  const double low = Quantile(held_out, (1 - kCoverage) / 2) * kWidening;
  const double high = Quantile(held_out, (1 + kCoverage) / 2) * kWidening;
  return {.low = std::exp(std::min(0.0, low)), .high = std::exp(std::max(0.0, high)), .coverage = kCoverage};
}

absl::Status TooFew(const HardwareFit& fit, size_t given) {
  std::string message = absl::StrCat(fit.used.size(), " usable samples of ", given, "; at least ", kFewestSamples);
  constexpr size_t kMostReasons = 3;
  for (size_t i = 0; i < std::min(fit.rejected.size(), kMostReasons); ++i) {
    absl::StrAppend(&message, "; samples[", fit.rejected[i].index, "] ", fit.rejected[i].reason);
  }
  return Refusal(Reason::kInsufficientSamples, "samples", message);
}

}  // namespace

MetricError ErrorOf(const std::vector<double>& fitted, const std::vector<double>& held_out) {
  MetricError error{.num_samples = static_cast<int>(fitted.size())};
  if (fitted.empty()) return error;
  std::vector<double> apes, biases, held_out_apes;
  for (const double log_error : fitted) {
    apes.push_back(Ape(log_error));
    biases.push_back(std::exp(-log_error) - 1);
    error.mean_ape += apes.back() / error.num_samples;
  }
  for (const double log_error : held_out) held_out_apes.push_back(Ape(log_error));
  error.median_ape = Quantile(apes, 0.5);
  error.bias = Quantile(biases, 0.5);
  if (!held_out.empty()) error.cross_validated_median_ape = Quantile(held_out_apes, 0.5);
  return error;
}

absl::StatusOr<HardwareFit> FitHardware(const FitParent& parent, const std::vector<Sample>& samples) {
  HardwareFit fit;
  CheckSamples(parent, samples, fit);
  if (fit.used.size() < kFewestSamples) return TooFew(fit, samples.size());
  fit.fit = Fit(parent.efficiencies, Pick(samples, fit.used), kHardwareFitOptions);
  const size_t before = fit.used.size();
  DropOutliers(samples, fit);
  if (fit.used.size() < kFewestSamples) return TooFew(fit, samples.size());
  const std::vector<Sample> used = Pick(samples, fit.used);
  if (used.size() < before) fit.fit = Fit(parent.efficiencies, used, kHardwareFitOptions);
  const Logs held_out = HeldOutErrors(parent, used);
  const bool own_band = CarryOwnBand(used);
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    fit.errors[metric] = ErrorOf(Known(used, fit.fit.efficiencies, metric), held_out[metric]);
    const bool known = own_band && held_out[metric].size() >= kFewestOfOwnBand;
    fit.bands[metric] = known ? BandOf(held_out[metric]) : parent.bands[metric];
  }
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

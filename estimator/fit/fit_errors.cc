#include "estimator/fit/fit_errors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "estimator/fit/sample_faults.h"

namespace foretoken {
namespace {

constexpr size_t kFolds = 5;
constexpr size_t kFewestOfOwnBand = 10;  // with two batch sizes, two prompts and both phases
constexpr double kCoverage = 0.8;
constexpr double kWidening = 1.5;  // in log: measurements of one campaign are more alike than the scenarios of users

// Absolute percentage error of the prediction, from log(measured / predicted).
double Ape(double log_error) { return std::abs(std::exp(-log_error) - 1); }

// The known errors of one metric.
std::vector<double> Known(const std::vector<Times>& errors, int metric) {
  std::vector<double> known;
  for (const Times& error : errors) {
    if (std::isfinite(error[metric])) known.push_back(error[metric]);
  }
  return known;
}

// Whether the samples vary enough for their errors to hold for other scenarios.
bool CarryOwnBand(const std::vector<Sample>& samples) {
  std::set<int> batches, prompts;
  bool prefill = false, decode = false;
  for (const Sample& sample : samples) {
    batches.insert(sample.scenario.workload.batch_size);
    prompts.insert(sample.scenario.workload.prompt_tokens);
    prefill = prefill || IsTime(sample.measured[kTtft]);
    decode = decode || IsTime(sample.measured[kTpot]) || IsTime(sample.measured[kE2e]);
  }
  return samples.size() >= kFewestOfOwnBand && batches.size() > 1 && prompts.size() > 1 && prefill && decode;
}

BandRatio BandOf(const std::vector<double>& held_out) {
  const double low = Quantile(held_out, (1 - kCoverage) / 2) * kWidening;
  const double high = Quantile(held_out, (1 + kCoverage) / 2) * kWidening;
  return {.low = std::exp(std::min(0.0, low)), .high = std::exp(std::max(0.0, high)), .coverage = kCoverage};
}

// The band of others, unless these errors contradict it: where half of them are outside, it is widened to contain them.
BandRatio Widened(const BandRatio& others, const std::vector<double>& held_out) {
  const double median = std::exp(Quantile(held_out, 0.5));
  if (median >= others.low && median <= others.high) return others;
  const BandRatio own = BandOf(held_out);
  return {.low = std::min(others.low, own.low),
          .high = std::max(others.high, own.high),
          .coverage = std::min(others.coverage, own.coverage)};
}

}  // namespace

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Times LogErrors(const Sample& sample, const Efficiencies& efficiencies) {
  Times errors = PredictTimes(sample.scenario, efficiencies);
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    errors[metric] = std::log(sample.measured[metric] / errors[metric]);
  }
  return errors;
}

std::vector<Efficiencies> FitFolds(const Efficiencies& prior, const std::vector<Sample>& samples, Cancelled cancelled,
                                   const FitOptions& options) {
  std::vector<Efficiencies> folds;
  const size_t count = std::min(kFolds, samples.size());
  for (size_t fold = 0; fold < count; ++fold) {
    std::vector<Sample> kept;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (i % count != fold) kept.push_back(samples[i]);
    }
    folds.push_back(Fit(prior, kept, options, cancelled).efficiencies);
  }
  return folds;
}

std::vector<Times> HeldOutErrors(const std::vector<Efficiencies>& folds, const std::vector<Sample>& samples,
                                 const std::vector<int>& indices) {
  std::vector<Times> errors;
  for (const int index : indices) {
    const auto i = static_cast<size_t>(index);
    errors.push_back(LogErrors(samples[i], folds[i % folds.size()]));
  }
  return errors;
}

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
  error.median_bias = Quantile(biases, 0.5);
  if (!held_out.empty()) error.cross_validated_median_ape = Quantile(held_out_apes, 0.5);
  return error;
}

FitQuality JudgeFit(const Efficiencies& fitted, const std::vector<Times>& held_out, const std::vector<Sample>& samples,
                    const Bands& others) {
  std::vector<Times> in_sample;
  for (const Sample& sample : samples) in_sample.push_back(LogErrors(sample, fitted));
  const bool own_band = CarryOwnBand(samples);
  FitQuality quality{.bands = others};
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const std::vector<double> unseen = Known(held_out, metric);
    quality.errors[metric] = ErrorOf(Known(in_sample, metric), unseen);
    std::optional<BandRatio>& band = quality.bands[metric];
    if (own_band && unseen.size() >= kFewestOfOwnBand) {
      band = BandOf(unseen);
    } else if (band && !unseen.empty()) {
      band = Widened(*band, unseen);
    }
  }
  return quality;
}

}  // namespace foretoken

// The errors of a fit, on its own measurements and on held-out ones, and the error bands that follow.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_

#include <array>
#include <optional>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {

// With fewer usable measurements than this, the parent's parameters are better than a fit.
inline constexpr int kFewestSamples = 3;

// Errors of one metric, as shares of the measured value.
struct MetricError {
  int num_samples = 0;
  double median_ape = 0;  // absolute percentage error, on the measurements fitted
  double mean_ape = 0;
  double median_bias = 0;  // of predicted / measured - 1
  std::optional<double> cross_validated_median_ape;
};

// REQUIRES: values; 0 <= share <= 1.
double Quantile(std::vector<double> values, double share);

// log(measured / predicted) of each metric; NaN where either is missing.
Times LogErrors(const Sample& sample, const Efficiencies& efficiencies);

// Five fits, or as many as there are samples, each without a part of them: sample i is held out of fit i % size().
std::vector<Efficiencies> FitFolds(const Efficiencies& prior, const std::vector<Sample>& samples,
                                   Cancelled cancelled = NeverCancelled,
                                   const FitOptions& options = kHardwareFitOptions);

// The errors of the samples at `indices`, each by the fit that it was held out of.
std::vector<Times> HeldOutErrors(const std::vector<Efficiencies>& folds, const std::vector<Sample>& samples,
                                 const std::vector<int>& indices);

// Summarises log(measured / predicted) of the measurements fitted and of held-out ones; both may be empty.
MetricError ErrorOf(const std::vector<double>& fitted, const std::vector<double>& held_out);

// Errors and bands of a fit, from the errors of its folds on held-out measurements.
struct FitQuality {
  std::array<MetricError, kNumMetrics> errors;
  Bands bands;  // of `others` where samples are few or alike, widened where half of the errors are outside
};
FitQuality JudgeFit(const Efficiencies& fitted, const std::vector<Times>& held_out, const std::vector<Sample>& samples,
                    const Bands& others);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_

// How far off a fit is, on the samples that it has seen and on those held out of it, and the bands that follow.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_

#include <array>
#include <optional>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {

// Fewer usable runs than this tell less than the parent already knows.
inline constexpr int kFewestSamples = 3;

// Of one metric, as shares.
struct MetricError {
  int num_samples = 0;
  double median_ape = 0;  // on the samples fitted
  double mean_ape = 0;
  double median_bias = 0;  // of predicted / measured - 1
  std::optional<double> cross_validated_median_ape;
};

// REQUIRES: values; 0 <= share <= 1.
double Quantile(std::vector<double> values, double share);

// log(measured / predicted) of each metric; NaN where either is missing.
Times LogErrors(const Sample& sample, const Efficiencies& efficiencies);

// Fits that have each not seen a fifth of the samples: sample i is held out of the one at i % size().
std::vector<Efficiencies> FitFolds(const Efficiencies& prior, const std::vector<Sample>& samples,
                                   Cancelled cancelled = NeverAbandoned);

// The errors of the samples at `indices`, each by the fit that has not seen it.
std::vector<Times> HeldOutErrors(const std::vector<Efficiencies>& folds, const std::vector<Sample>& samples,
                                 const std::vector<int>& indices);

// Of log(measured / predicted) of the samples fitted, and of samples held out; both may be empty.
MetricError ErrorOf(const std::vector<double>& fitted, const std::vector<double>& held_out);

// Errors and bands of a fit, from what its folds say of the samples that they have not seen.
struct FitQuality {
  std::array<MetricError, kNumMetrics> errors;
  Bands bands;  // of `others` where samples are few or alike, wider where half are outside
};
FitQuality JudgeFit(const Efficiencies& fitted, const std::vector<Times>& held_out, const std::vector<Sample>& samples,
                    const Bands& others);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_ERRORS_H_

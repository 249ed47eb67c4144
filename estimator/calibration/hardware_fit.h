// The calibration of one device and engine from measured runs of it: which are usable, the parameters that explain
// them, how far off predictions of runs held out are, and the bands that follow.
//
//   absl::StatusOr<HardwareFit> fit = FitHardware(parent, samples);
//   fit->fit.efficiencies;  // what EstimateOperatorModel takes
//
// Pure functions, safe from any thread. A thousand samples take well under a second.
#ifndef FORETOKEN_ESTIMATOR_CALIBRATION_HARDWARE_FIT_H_
#define FORETOKEN_ESTIMATOR_CALIBRATION_HARDWARE_FIT_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/calibration/calibration.h"
#include "estimator/calibration/fit.h"

namespace foretoken {

// As every level of the shipped hierarchy.
inline constexpr FitOptions kHardwareFitOptions = {.noise = 0.1, .freedom = 1};

// A parameter is left at its prior where the samples leave it more than this share of its deviation.
inline constexpr double kIdentified = 0.9;

// Fewer usable runs than this tell less than the parent already knows.
inline constexpr int kFewestSamples = 3;

// What the fit is drawn to: the narrowest calibration known of the engine, or the generic prior.
struct FitParent {
  Efficiencies efficiencies = GenericPrior();
  std::array<std::optional<BandRatio>, kNumMetrics> bands;  // kept where the samples are too few for their own
};

// Of one metric, as shares.
struct MetricError {
  int num_samples = 0;
  double median_ape = 0;  // on the samples fitted
  double mean_ape = 0;
  double bias = 0;  // median of predicted / measured - 1
  std::optional<double> cross_validated_median_ape;
};

struct RefusedSample {
  int index = 0;
  std::string kind;    // why, in words that many share
  std::string reason;  // why, with its figures
};

struct HardwareFit {
  FitResult fit;
  std::vector<int> used;                   // indices into the samples
  std::vector<RefusedSample> rejected;    // unusable, or far from what all the others say
  std::vector<RefusedSample> suspicious;  // used, though more than three times off the parent's prediction
  std::array<MetricError, kNumMetrics> errors;
  std::array<std::optional<BandRatio>, kNumMetrics> bands;
};

// Of log(measured / predicted) of the samples fitted, and of samples held out; both may be empty.
MetricError ErrorOf(const std::vector<double>& fitted, const std::vector<double>& held_out);

// Fits `samples` of one engine on one device.
// Errors: kInsufficientSamples: fewer than kFewestSamples are usable; the reasons are in the message.
absl::StatusOr<HardwareFit> FitHardware(const FitParent& parent, const std::vector<Sample>& samples);

// Whether the linear profile misses the samples by more than their noise and these parameters are nearer, by the mean
// size of log errors over all times that both predict.
bool ComesCloser(const Efficiencies& fitted, const LinearProfile& profile, const std::vector<Sample>& samples);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_CALIBRATION_HARDWARE_FIT_H_

// The calibration of one device and engine from measured runs of it: which are usable, the parameters that explain
// them, how far off predictions of runs held out are, the bands that follow, and the models that deviate.
//
//   absl::StatusOr<HardwareFit> fit = FitHardware(parent, samples);
//   fit->levels.device.fit.efficiencies;  // what EstimateOperatorModel takes
//
// Pure functions, safe from any thread. A thousand samples take under a second; of dozens of models that
// all deviate, a few.
#ifndef FORETOKEN_ESTIMATOR_FIT_HARDWARE_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_HARDWARE_FIT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/device_fit.h"
#include "estimator/fit/fit.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {

struct RefusedSample {
  int index = 0;
  std::string kind;    // why, in words that many share
  std::string reason;  // why, with its figures
};

struct HardwareFit {
  std::vector<int> used;                  // indices into the samples
  DeviceFit levels;                       // of those; indices into the samples likewise
  std::vector<RefusedSample> rejected;    // unusable, or far from what all the others say
  std::vector<RefusedSample> suspicious;  // used, though more than three times off the parent's prediction
};

// The largest median absolute percentage error that a fit may leave of its own samples, in any metric. What ships for
// engines and devices leaves up to 27% (TPOT of vLLM), one fit to all of them at once 51% (TTFT of closed loops,
// generic-continuous); times in the wrong unit leave 90% and more.
inline constexpr double kMostUnexplained = 0.5;

// Fits `samples` of one engine on one device.
// Errors: kInsufficientSamples: fewer than kFewestSamples are usable; the reasons are in the message. kPoorFit: more
// than kMostUnexplained is left of a metric, by the device's level or by a model's. CANCELLED: `abandoned`.
absl::StatusOr<HardwareFit> FitHardware(const FitParent& parent, const std::vector<Sample>& samples,
                                        Cancelled cancelled = NeverAbandoned);

// Whether the linear profile misses the samples by more than their noise and these parameters are nearer, by the mean
// size of log errors over all times that both predict.
bool ComesCloser(const Efficiencies& fitted, const LinearProfile& profile, const std::vector<Sample>& samples);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_HARDWARE_FIT_H_

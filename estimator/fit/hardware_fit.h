// Calibrates one engine on one device from measurements: rejects unusable ones, fits the parameters, reports errors on
// held-out measurements with the bands that follow, and fits models that deviate separately.
//
//   absl::StatusOr<HardwareFit> fit = FitHardware(parent, samples);
//   fit->levels.device.fit.efficiencies;  // what EstimateOperatorModel takes
//
// Pure functions, safe from any thread. A thousand measurements take under a second; a few seconds where dozens of
// models all deviate.
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
  std::string kind;    // why, in words that many share: "faster than light"
  std::string reason;  // why, with numbers
};

struct HardwareFit {
  std::vector<int> used;                  // indices into the samples
  DeviceFit levels;                       // of those; indices into the samples likewise
  std::vector<RefusedSample> rejected;    // unusable, or contradicted by all the others
  std::vector<RefusedSample> suspicious;  // used, though more than three times off the parent's prediction
};

// The largest median absolute percentage error that a fit may leave on its own measurements, in any metric. Shipped
// calibrations of engines and devices leave up to 27% (TPOT of vLLM), one fit to all of them 51% (TTFT of closed loops,
// generic-continuous); times in the wrong unit leave 90% and more.
inline constexpr double kMostUnexplained = 0.5;

// Fits `samples` of one engine on one device.
// Errors: kInsufficientSamples: fewer than kFewestSamples are usable; the message gives the reasons. kPoorFit: the
// device's level or a model's leaves more than kMostUnexplained of a metric. CANCELLED: `cancelled` returned true.
absl::StatusOr<HardwareFit> FitHardware(const FitParent& parent, const std::vector<Sample>& samples,
                                        Cancelled cancelled = NeverCancelled);

// Whether these parameters predict the samples better than the linear profile, and the profile's error exceeds the
// noise of measurements. Compares the mean absolute log error over all latencies that both predict.
bool ComesCloser(const Efficiencies& fitted, const LinearProfile& profile, const std::vector<Sample>& samples);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_HARDWARE_FIT_H_

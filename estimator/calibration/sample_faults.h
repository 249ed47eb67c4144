// Which measured runs cannot be used, by one rule for all: times that are no times, runs that the model refuses, and
// runs faster than the hardware can be.
#ifndef FORETOKEN_ESTIMATOR_CALIBRATION_SAMPLE_FAULTS_H_
#define FORETOKEN_ESTIMATOR_CALIBRATION_SAMPLE_FAULTS_H_

#include <optional>
#include <string>

#include "estimator/calibration/fit.h"

namespace foretoken {

// Public data holds rows below the floor; timers are not this wrong.
inline constexpr double kFasterThanLight = 0.95;

struct SampleFault {
  std::string kind;    // in words that many samples share: "faster than light"
  std::string reason;  // with its figures
};

// Whether a time was stated and is finite and positive.
bool IsTime(double seconds);

// Whether the run is faster than the speed of light allows; no where the hardware's figures give no floor.
// Continuous batching has no floor of its own: its times are of requests that share their steps.
std::optional<SampleFault> FasterThanLight(const Sample& sample);

// Why the run cannot be used in a fit, if so.
std::optional<SampleFault> FindFault(const Sample& sample);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_CALIBRATION_SAMPLE_FAULTS_H_

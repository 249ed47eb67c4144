// Which measured runs cannot be used, by one rule for all: times that are no times, runs that the model refuses, and
// runs faster than the hardware can be.
#ifndef FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_
#define FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_

#include <optional>
#include <string>

#include "estimator/fit/fit.h"

namespace foretoken {

// Public data holds rows below the floor; timers are not this wrong.
inline constexpr double kFasterThanLight = 0.95;

struct SampleFault {
  std::string kind;    // in words that many samples share: "faster than light"
  std::string reason;  // with its figures
};

// Whether a time was stated and is finite and positive.
bool IsTime(double seconds);

// Whether a time is below 0.95 of the floor that the hardware's stated figures set; no where they give none. A static
// batch runs at once. Of a closed loop, Little's law says how many sequences decoded at once, and that the device
// prefills every request of a cycle within it: both are held against the floor, where TTFT and TPOT are stated.
std::optional<SampleFault> FasterThanLight(const Sample& sample);

// Why the run cannot be used in a fit, if so.
std::optional<SampleFault> FindFault(const Sample& sample);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_

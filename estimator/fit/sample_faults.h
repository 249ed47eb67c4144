// Which measurements cannot be used: latencies that are not finite and positive, scenarios that the model refuses, and
// latencies below the roofline lower bound. Every fit uses this rule.
#ifndef FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_
#define FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_

#include <optional>
#include <string>

#include "estimator/fit/fit.h"

namespace foretoken {

// Published data contains latencies below the lower bound; this margin covers the error of timers.
inline constexpr double kFasterThanLight = 0.95;

struct SampleFault {
  std::string kind;    // in words that many samples share: "faster than light"
  std::string reason;  // with numbers
};

// Whether a time was stated and is finite and positive.
bool IsTime(double seconds);

// The fault where a latency is below 0.95 of the roofline lower bound (speed of light); none where the hardware's specs
// give no bound. In a closed loop with TTFT and TPOT, Little's law gives how many sequences decode at once: TPOT is
// compared with the bound of such a batch. A cycle of the loop holds the prefill of every request: the cycle is
// compared with the bound of these prefills.
std::optional<SampleFault> FasterThanLight(const Sample& sample);

// Why the measurement cannot be used in a fit; none: it can.
std::optional<SampleFault> FindFault(const Sample& sample);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_SAMPLE_FAULTS_H_

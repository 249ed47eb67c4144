// What an estimate says beside its times: memory in use, and how well bandwidth and arithmetic are used.
#ifndef FORETOKEN_ESTIMATOR_USAGE_H_
#define FORETOKEN_ESTIMATOR_USAGE_H_

#include <optional>

#include "estimator/capacity.h"
#include "estimator/estimate.h"
#include "estimator/scenario.h"
#include "estimator/step.h"

namespace foretoken {

// Memory with `sequences` of the workload on each replica.
MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double sequences);

// MBU of the mean decode step: weights that `running` sequences read in `tpot`, and the KV of `read` of the workload.
double DecodeBandwidthUtilization(const StepModel& model, const Workload& workload, double running, double read,
                                  Seconds tpot);

// MFU: FLOPs of the whole prefill of `sequences` on one device over what its matrix units could do in `time`.
// Nothing to prefill: nothing.
std::optional<double> PrefillUtilization(const StepModel& model, const Workload& workload, double sequences,
                                         Seconds time);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_USAGE_H_

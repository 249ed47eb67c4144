// The metrics of an estimate: latencies, rates, memory, utilisations and energy, from the times that one request meets.
#ifndef FORETOKEN_ESTIMATOR_METHODS_METRICS_H_
#define FORETOKEN_ESTIMATOR_METHODS_METRICS_H_

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Sets every metric of `estimate`. Leaves its method, warnings and details, and the fields that FillVerdicts sets.
void FillMetrics(const Replica& replica, const Served& served, Provenance provenance, Estimate& estimate);

// Adds the error bands of the calibration (may be null), the cost at the scenario's price, and the verdict on its SLO.
void FillVerdicts(const Scenario& scenario, const Calibration* calibration, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_METRICS_H_

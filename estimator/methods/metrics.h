// The figures of an estimate that follow from what one request meets: times, rates, memory, utilisations, energy.
#ifndef FORETOKEN_ESTIMATOR_METHODS_METRICS_H_
#define FORETOKEN_ESTIMATOR_METHODS_METRICS_H_

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Sets every figure but the method, the warnings, the details, and what FillVerdicts does, whatever was there.
void FillMetrics(const Replica& replica, const Served& served, Provenance provenance, Estimate& estimate);

// What the figures mean to the caller: the bands that the calibration (may be null) puts around the times, the cost at
// the scenario's price, the verdict against its objective.
void FillVerdicts(const Scenario& scenario, const Calibration* calibration, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_METRICS_H_

// Whether an estimate meets a service level objective, and by how much.
#ifndef FORETOKEN_ESTIMATOR_METHODS_SLO_H_
#define FORETOKEN_ESTIMATOR_METHODS_SLO_H_

#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Headroom is the smallest of (bound - estimate)/bound over the bounds that are given: 0.25 means a quarter of the
// tightest bound is left. Feasible when it is not negative. Without any bound: unspecified, no headroom.
SloVerdict JudgeSlo(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2e);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_SLO_H_

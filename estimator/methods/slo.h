// Whether an estimate meets a service level objective, and by how much.
#ifndef FORETOKEN_ESTIMATOR_METHODS_SLO_H_
#define FORETOKEN_ESTIMATOR_METHODS_SLO_H_

#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Headroom is the smallest (bound - estimate) / bound over the stated bounds: 0.25 means that a quarter of the tightest
// bound is left. A scenario is feasible if it is not negative. Without a bound: unspecified, no headroom.
SloVerdict JudgeSlo(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2e);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_SLO_H_

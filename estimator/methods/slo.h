// Whether an estimate meets a service level objective, by how much, and how likely.
#ifndef FORETOKEN_ESTIMATOR_METHODS_SLO_H_
#define FORETOKEN_ESTIMATOR_METHODS_SLO_H_

#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Headroom is the smallest (bound - estimate) / bound over the stated bounds: 0.25 means that a quarter of the tightest
// bound is left. Probability is the smallest ProbabilityWithin over them, as if the errors of all metrics went
// together; absent where one has no band. Feasible is an estimate whose headroom is not negative; by its band, one
// whose upper end meets every bound, and marginal one that misses none with its lower end. Without a bound:
// unspecified, nothing else.
SloVerdict JudgeSlo(const Slo& slo, const TimeEstimate& ttft, const TimeEstimate& tpot, const TimeEstimate& e2e);

// The probability that a time is at most `bound`, from its error band: the log of the time has Student's t distribution
// with two degrees of freedom, with the band's ends as the quantiles (1 - coverage)/2 and (1 + coverage)/2.
//
// Example: a band of 1 s to 4 s with coverage 0.8 gives 0.5 at 2 s, 0.9 at 4 s and 0.1 at 1 s.
double ProbabilityWithin(const Band& band, Seconds bound);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_SLO_H_

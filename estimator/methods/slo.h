// Whether an estimate meets a service level objective, by how much, and how likely.
#ifndef FORETOKEN_ESTIMATOR_METHODS_SLO_H_
#define FORETOKEN_ESTIMATOR_METHODS_SLO_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// A bound of an SLO beside what it bounds.
struct SloBound {
  ServedTime time = ServedTime::kTtft;
  std::optional<Percentile> percentile;  // absent: the mean
  Seconds allowed;
  std::optional<TimeEstimate> found;  // absent: the estimate does not have it

  // The field of the SLO: "max_ttft_p90_seconds".
  std::string Name() const;
};

// Calls `consider` with each stated bound: of means, then of percentiles. The model errs on a percentile as it errs on
// the mean, so the band of a percentile is that of its mean, scaled; that of ITL is TPOT's.
void ForEachBound(const Slo& slo, const Estimate& estimate, absl::FunctionRef<void(const SloBound&)> consider);

// Headroom is the smallest (bound - estimate) / bound over the stated bounds: 0.25 means that a quarter of the tightest
// bound is left. Probability is the smallest ProbabilityWithin over them, as if the errors of all metrics went
// together; absent where one has no band. Feasible is an estimate whose headroom is not negative; by its band, one
// whose upper end meets every bound, and marginal one that misses none with its lower end. Unknown is one without a
// percentile that is bounded. Without a bound: unspecified, nothing else.
SloVerdict JudgeSlo(const Slo& slo, const Estimate& estimate);

// The probability that a time is at most `bound`, from its error band: the log of the time has Student's t distribution
// with two degrees of freedom, with the band's ends as the quantiles (1 - coverage)/2 and (1 + coverage)/2.
//
// Example: a band of 1 s to 4 s with coverage 0.8 gives 0.5 at 2 s, 0.9 at 4 s and 0.1 at 1 s.
double ProbabilityWithin(const Band& band, Seconds bound);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_SLO_H_

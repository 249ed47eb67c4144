// The operators of an estimate as a person reads them: name, formula, inputs, result.
#ifndef FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_
#define FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Adds the operators of the last full prefill chunk and of the mean decode step, a draft's under names of their own.
// The rows of each sum to the time of that step, a row "host" with what the host and the gaps between layers add
// included.
void FillOperators(const Replica& replica, const Served& served, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_

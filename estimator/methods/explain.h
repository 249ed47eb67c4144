// The operators of an estimate for a person to check: name, formula, inputs, result.
#ifndef FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_
#define FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Adds the operators of the last full prefill chunk and of the mean decode step. Those of a draft model have the prefix
// "draft_". A row "host" holds the CPU overhead and the kernel gaps, so that the rows sum to the time of the step.
void FillOperators(const Replica& replica, const Served& served, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_EXPLAIN_H_

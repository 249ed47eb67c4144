// The operators of a step as a person reads them: name, formula, inputs, result.
#ifndef FORETOKEN_ESTIMATOR_EXPLAIN_H_
#define FORETOKEN_ESTIMATOR_EXPLAIN_H_

#include <vector>

#include "estimator/estimate.h"
#include "estimator/step.h"

namespace foretoken {

// One row per operator, and a last row "host" with what the host and the gaps between layers add, so that the rows
// sum to StepTime(model, shape).
std::vector<OperatorEstimate> ExplainStep(const StepModel& model, const StepShape& shape);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_EXPLAIN_H_

// From a scenario to its step model: the model cut over the devices, the machine with its efficiencies, and the
// operators of a step. Every phase and policy asks the result, StepModel, for the time of its steps.
#ifndef FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_
#define FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"
#include "estimator/step/step_model.h"

namespace foretoken {

// Everything about the scenario's steps but their shape. REQUIRES: a supported model. Errors: kMissingFigure;
// kInvalidField for more pipeline stages than layers.
absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_

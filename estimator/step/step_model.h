// Derives a scenario's step model: the shard of one device, the machine with its efficiencies, and the operators of a
// step. Every phase and batching policy takes the time of its steps from it.
#ifndef FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_
#define FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"

namespace foretoken {

// All that a step model follows from: equal inputs make equal step models, so that they are the key of a cache. Models,
// hardware, calibrations and efficiencies count as equal where they are the same object.
struct StepModelInputs {
  const Model* model = nullptr;
  const Hardware* hardware = nullptr;
  const Efficiencies* efficiencies = nullptr;
  const Calibration* calibration = nullptr;  // that warnings name; null: none, or the speed of light
  Placement placement;
  ExpertRouting expert_routing = ExpertRouting::kIndependent;

  static StepModelInputs Of(const Scenario& scenario, const Efficiencies& efficiencies);

  bool operator==(const StepModelInputs&) const = default;
};

// Everything about a scenario's steps except their shape. `warnings` may be null. REQUIRES: a supported model.
// Errors: kMissingFigure; kInvalidField for more pipeline stages than layers.
absl::StatusOr<StepModel> MakeStepModel(const StepModelInputs& inputs, std::vector<Warning>* warnings);

inline absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                               std::vector<Warning>* warnings) {
  return MakeStepModel(StepModelInputs::Of(scenario, efficiencies), warnings);
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_STEP_MODEL_H_

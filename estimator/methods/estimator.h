// The one entry to the core model: a scenario in, an estimate or a refusal out. Pure: no I/O, no clock, no state;
// safe from any number of threads.
#ifndef FORETOKEN_ESTIMATOR_METHODS_ESTIMATOR_H_
#define FORETOKEN_ESTIMATOR_METHODS_ESTIMATOR_H_

#include "absl/status/statusor.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

class StepModelMemo;

// Estimates `scenario` by its method.
//
// Errors (errors.h): kUnsupportedModel, kNotModelled, kMissingFigure, kOutOfMemory, kNoProfile, kUnstableLoad,
// kInvalidField; field paths are relative to the scenario ("deployment.tensor_parallel",
// "hardware_spec.interconnect_bytes_per_second").
absl::StatusOr<Estimate> ComputeEstimate(const Scenario& scenario, const Detail& detail = {});

// The same into `estimate`, whose old content is lost. `memo` (step_model_cache.h) keeps the step model that scenarios
// share; call its Forget before a scenario that differs in more than workload, live load and SLO.
absl::Status ComputeEstimate(const Scenario& scenario, const Detail& detail, StepModelMemo& memo, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_ESTIMATOR_H_

// The operator model: rooflines per operator, prefill and decode from the same code, memory capacity, and the serving
// metrics that follow. Dense and mixture-of-experts decoders with MHA, GQA, MQA or latent attention, full or windowed.
// Also the speed of light: the same with every efficiency 1 and no overhead.
#ifndef FORETOKEN_ESTIMATOR_OPERATOR_MODEL_H_
#define FORETOKEN_ESTIMATOR_OPERATOR_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/efficiencies.h"
#include "estimator/estimate.h"
#include "estimator/estimator.h"
#include "estimator/scenario.h"
#include "estimator/step.h"
#include "estimator/step_model_cache.h"

namespace foretoken {

// Everything about the scenario's steps but their shape. REQUIRES: a supported model. Errors: kMissingFigure;
// kInvalidField for more pipeline stages than layers.
absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings);

// Whose constants the operator model takes.
struct OperatorMethod {
  const Efficiencies* efficiencies = nullptr;
  Provenance provenance = Provenance::kUnspecified;
  const Calibration* calibration = nullptr;  // null: none
};

// The scenario's calibration (of its very hardware, carried over from its engine's other devices, or of any engine and
// device), or the generic prior; the speed of light where the scenario asks for it.
OperatorMethod OperatorMethodOf(const Scenario& scenario);

// Fills `estimate`, whatever it held; after an error it holds nothing to be used. Errors: kUnsupportedModel; those of
// MakeStepModel; those of Serve (serving.h).
absl::Status FillOperatorModel(const Scenario& asked, const Efficiencies& efficiencies, Provenance provenance,
                               const Detail& detail, StepModelMemo& memo, Estimate& estimate);

// The same for one scenario.
absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& asked, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_OPERATOR_MODEL_H_

// The operator model: rooflines per operator, prefill and decode from the same code, memory capacity, and the serving
// metrics that follow. Dense and mixture-of-experts decoders with MHA, GQA, MQA or latent attention, full or windowed.
// Also the speed of light: the same with every efficiency 1 and no overhead.
#ifndef FORETOKEN_ESTIMATOR_METHODS_OPERATOR_MODEL_H_
#define FORETOKEN_ESTIMATOR_METHODS_OPERATOR_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"
#include "estimator/step/step_model.h"

namespace foretoken {

// The constants that the operator model takes, and their source.
struct OperatorMethod {
  const Efficiencies* efficiencies = nullptr;
  Provenance provenance = Provenance::kUnspecified;
  const Calibration* calibration = nullptr;  // null: none
};

// The scenario's calibration, or the generic prior without one; the speed of light if the scenario requests it. The
// calibration is of this device, transferred from other devices of the engine, or of any engine and device.
OperatorMethod OperatorMethodOf(const Scenario& scenario);

// Warns where the scenario asks for an engine, and `efficiencies`, with which the estimate was made, are not those of
// this engine, version and device:
//   kExtrapolated  they are of another version of the engine, or of the engine on other devices
//   kFigureAbsent  they are the generic prior
//   kNotUsed       the estimate uses no constant of an engine
// Says nothing, and takes no memory, where no engine is asked for, or where the asked one was measured on the asked
// hardware: calibration_id names it.
void WarnOfEngines(const Scenario& scenario, const Efficiencies& efficiencies, std::vector<Warning>& warnings);

// Fills `estimate`, whose old content is lost; after an error its content is undefined. Errors: kUnsupportedModel;
// those of MakeStepModel; those of Serve (serve.h).
absl::Status FillOperatorModel(const Scenario& requested, const Efficiencies& efficiencies, Provenance provenance,
                               const Detail& detail, StepModelMemo& memo, Estimate& estimate);

// The same for one scenario.
absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& requested, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_OPERATOR_MODEL_H_

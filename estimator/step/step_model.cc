#include "estimator/step/step_model.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {
namespace {

// Every stage of a pipeline holds at least one layer.
absl::Status CheckStages(const Model& model, const Placement& placement) {
  const int stages = placement.pipeline_parallel;
  if (stages <= model.num_hidden_layers) return absl::OkStatus();
  return Refusal(Reason::kInvalidField, "deployment.pipeline_parallel",
                 absl::StrCat("pipeline_parallel ", stages, "; allowed 1 to ", model.num_hidden_layers,
                              ", the layers of ", model.id));
}

// Warns where no measurement tells how long devices take to exchange messages: the calibration has seen one device
// only, or less than half as many.
void WarnOfDegrees(const StepModelInputs& inputs, std::vector<Warning>* warnings) {
  if (warnings == nullptr || inputs.calibration == nullptr) return;
  const auto warn = [&](const char* field, int requested, int largest) {
    if (largest == 0 || requested <= (largest == 1 ? 1 : 2.0 * largest)) return;
    warnings->push_back({WarningCode::kExtrapolated,
                         absl::StrCat(field, " ", requested, "; calibration ", inputs.calibration->id,
                                      " rests on runs of up to ", largest),
                         absl::StrCat("deployment.", field)});
  };
  const LargestDegrees& seen = inputs.calibration->degrees;
  warn("tensor_parallel", inputs.placement.tensor_parallel, seen.tensor_parallel);
  warn("pipeline_parallel", inputs.placement.pipeline_parallel, seen.pipeline_parallel);
}

// Decode attention runs on the vector units, unless the KV cache is latent.
void WarnOfVectorRate(const StepModelInputs& inputs, std::vector<Warning>* warnings) {
  const Hardware& hardware = *inputs.hardware;
  if (warnings == nullptr || hardware.peak.fp32 || inputs.model->latent_attention) return;
  warnings->push_back({WarningCode::kFigureAbsent,
                       absl::StrCat("hardware ", hardware.id,
                                    " states no peak.fp32_flops_per_second; decode attention is taken to reach the "
                                    "matrix peak, so that long contexts may be predicted too fast"),
                       "hardware_spec.peak.fp32_flops_per_second"});
}

}  // namespace

StepModelInputs StepModelInputs::Of(const Scenario& scenario, const Efficiencies& efficiencies) {
  return {.model = scenario.model,
          .hardware = scenario.hardware,
          .efficiencies = &efficiencies,
          .calibration = efficiencies.speed_of_light ? nullptr : scenario.calibration,
          .placement = scenario.deployment,
          .expert_routing = scenario.workload.expert_routing};
}

absl::StatusOr<StepModel> MakeStepModel(const StepModelInputs& inputs, std::vector<Warning>* warnings) {
  const Placement& placement = inputs.placement;
  const Efficiencies& efficiencies = *inputs.efficiencies;
  if (absl::Status stages = CheckStages(*inputs.model, placement); !stages.ok()) return stages;
  absl::StatusOr<Machine> machine =
      MakeMachine(*inputs.hardware, placement, ExpertDtype(*inputs.model, placement), efficiencies, warnings);
  if (!machine.ok()) return machine.status();
  const bool floor = efficiencies.speed_of_light;
  if (!floor) {
    WarnOfVectorRate(inputs, warnings);
    WarnOfDegrees(inputs, warnings);
  }
  StepModel model{.shard = MakeShard(*inputs.model, placement),
                  .machine = *machine,
                  .efficiencies = efficiencies,
                  .roofline_exponent = floor ? std::numeric_limits<double>::infinity() : placement.roofline_exponent,
                  .attention_kernel = floor ? AttentionKernel::kFlash : placement.attention_kernel,
                  .expert_routing = inputs.expert_routing};
  model.operators =
      MakeOperators(model.shard, model.machine, efficiencies.gemm_half_rows, !floor && placement.unfused_elementwise);
  return model;
}

}  // namespace foretoken

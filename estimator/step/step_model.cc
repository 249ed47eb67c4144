#include "estimator/step/step_model.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {
namespace {

// Every stage of a pipeline holds a layer.
absl::Status CheckStages(const Model& model, const Deployment& deployment) {
  const int stages = deployment.pipeline_parallel;
  if (stages <= model.num_hidden_layers) return absl::OkStatus();
  return Refusal(Reason::kInvalidField, "deployment.pipeline_parallel",
                 absl::StrCat("pipeline_parallel ", stages, "; allowed 1 to ", model.num_hidden_layers,
                              ", the layers of ", model.id));
}

// What devices send each other where no sample tells: of devices that were never seen together, or of more than twice
// as many as were.
void WarnOfDegrees(const Scenario& scenario, std::vector<Warning>* warnings) {
  if (warnings == nullptr || scenario.calibration == nullptr) return;
  const auto warn = [&](const char* field, int asked, int largest) {
    if (largest == 0 || asked <= (largest == 1 ? 1 : 2.0 * largest)) return;
    warnings->push_back({WarningCode::kExtrapolated,
                         absl::StrCat(field, " ", asked, "; calibration ", scenario.calibration->id,
                                      " rests on runs of up to ", largest),
                         absl::StrCat("deployment.", field)});
  };
  const LargestDegrees& seen = scenario.calibration->degrees;
  warn("tensor_parallel", scenario.deployment.tensor_parallel, seen.tensor_parallel);
  warn("pipeline_parallel", scenario.deployment.pipeline_parallel, seen.pipeline_parallel);
}

// Decode attention of a cache that is not latent is on the vector units.
void WarnOfVectorRate(const Scenario& scenario, std::vector<Warning>* warnings) {
  const Hardware& hardware = *scenario.hardware;
  if (warnings == nullptr || hardware.peak.fp32 || scenario.model->latent_attention) return;
  warnings->push_back({WarningCode::kFigureAbsent,
                       absl::StrCat("hardware ", hardware.id,
                                    " states no peak.fp32_flops_per_second; decode attention is taken to reach the "
                                    "matrix peak, so that long contexts may be told too fast"),
                       "hardware_spec.peak.fp32_flops_per_second"});
}

}  // namespace

absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings) {
  if (absl::Status stages = CheckStages(*scenario.model, scenario.deployment); !stages.ok()) return stages;
  absl::StatusOr<Machine> machine = MakeMachine(*scenario.hardware, scenario.deployment, efficiencies, warnings);
  if (!machine.ok()) return machine.status();
  const Deployment& d = scenario.deployment;
  const bool floor = efficiencies.speed_of_light;
  if (!floor) {
    WarnOfVectorRate(scenario, warnings);
    WarnOfDegrees(scenario, warnings);
  }
  StepModel model{.shard = MakeShard(*scenario.model, d),
                  .machine = *machine,
                  .efficiencies = efficiencies,
                  .roofline_exponent = floor ? std::numeric_limits<double>::infinity() : d.roofline_exponent,
                  .attention_kernel = floor ? AttentionKernel::kFlash : d.attention_kernel,
                  .expert_routing = scenario.workload.expert_routing};
  model.operators = MakeOperators(model.shard, model.machine, !floor && d.unfused_elementwise);
  return model;
}

}  // namespace foretoken

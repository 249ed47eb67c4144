#include "server/rpc/estimate/scenario_resolver.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/scenario/calibration.h"
#include "server/catalog/entries/profile_dtypes.h"

namespace foretoken::rpc {
namespace {

constexpr int64_t kMaxPoolDevices = 1'000'000'000;

}  // namespace

absl::StatusOr<const Scenario*> ScenarioResolver::Resolve() {
  if (absl::Status errors = reader_.Errors(); !errors.ok()) return errors;
  ScenarioParts& parts = reader_.parts();
  Scenario& scenario = parts.scenario;
  // Only a draft model or a prefill pool can contradict the rest.
  if (scenario.speculation || scenario.disaggregation) {
    if (absl::Status status = InvalidFields(Contradictions()); !status.ok()) return status;
  }
  if (resolved_reads_ == reader_.reads()) return &scenario;
  ResolveCalibration();
  if (machine_ != reader_.machine_reads()) ResolveMachine();
  if (scenario.speculation || scenario.disaggregation) ResolveSecondary();
  resolved_reads_ = reader_.reads();
  return &scenario;
}

const StepModelCache* ScenarioResolver::step_models() const {
  const ScenarioParts& parts = reader_.parts();
  const bool known = !parts.IsInline(parts.scenario.model) && !parts.IsInline(parts.scenario.hardware);
  return known ? &snapshot_.step_models() : nullptr;
}

// An inline spec has no id of the catalog: only calibrations for any hardware or any model apply to it.
void ScenarioResolver::ResolveCalibration() {
  ScenarioParts& parts = reader_.parts();
  Scenario& scenario = parts.scenario;
  const bool continuous = IsContinuous(scenario);
  if (machine_ == reader_.machine_reads() && continuous == calibrated_for_load_) return;
  const Hardware& hardware = *scenario.hardware;
  const std::string_view hardware_id = parts.IsInline(&hardware) ? std::string_view() : hardware.id;
  const std::string_view model_id = parts.IsInline(scenario.model) ? std::string_view() : scenario.model->id;
  scenario.calibration =
      FindCalibration(hardware, hardware_id, snapshot_.calibrations(), parts.deployment.engine, model_id, continuous);
  calibrated_for_load_ = continuous;
}

void ScenarioResolver::ResolveMachine() {
  ScenarioParts& parts = reader_.parts();
  Scenario& scenario = parts.scenario;
  scenario.deployment = parts.deployment;
  ResolveDtypes(*scenario.model, scenario.deployment);
  if (parts.IsInline(scenario.hardware)) {
    for (LinearProfile& profile : parts.specs->hardware.linear_profiles) {
      catalog::ResolveProfileOf(*scenario.model, profile);
    }
  }
  machine_ = reader_.machine_reads();
}

// The draft model's deployment, and the hardware and deployment of the prefill pool.
void ScenarioResolver::ResolveSecondary() {
  ScenarioParts& parts = reader_.parts();
  Scenario& scenario = parts.scenario;
  if (scenario.speculation) {
    Deployment& draft = scenario.speculation->deployment;
    draft = scenario.speculation->follows ? parts.deployment : parts.draft_deployment;
    ResolveDtypes(*scenario.speculation->draft, draft);
  }
  if (!scenario.disaggregation) return;
  Deployment& prefill = scenario.disaggregation->deployment;
  prefill = parts.prefill_deployment.value_or(parts.deployment);
  ResolveDtypes(*scenario.model, prefill);
  if (parts.prefill_shares_hardware) scenario.disaggregation->hardware = scenario.hardware;
}

std::vector<FieldViolation> ScenarioResolver::Contradictions() const {
  std::vector<FieldViolation> violations;
  AddDraftContradictions(violations);
  AddPoolContradictions(violations);
  return violations;
}

void ScenarioResolver::AddDraftContradictions(std::vector<FieldViolation>& violations) const {
  const ScenarioParts& parts = reader_.parts();
  if (!parts.scenario.speculation || parts.scenario.speculation->follows) return;
  const std::string path = std::string(reader_.prefix(Part::kSpeculation)) + "speculative_decoding.draft_deployment.";
  const Deployment& draft = parts.draft_deployment;
  const int there = parts.deployment.tensor_parallel * parts.deployment.pipeline_parallel;
  if (draft.tensor_parallel * draft.pipeline_parallel > there) {
    violations.push_back({path + "tensor_parallel",
                          absl::StrCat("the draft is on ", draft.tensor_parallel * draft.pipeline_parallel,
                                       " devices of a replica; allowed 1 to ", there, ", those of the model")});
  }
  if (draft.data_parallel != parts.deployment.data_parallel) {
    violations.push_back({path + "data_parallel", absl::StrCat("data_parallel ", draft.data_parallel, "; allowed ",
                                                               parts.deployment.data_parallel, ", the model's")});
  }
}

void ScenarioResolver::AddPoolContradictions(std::vector<FieldViolation>& violations) const {
  const ScenarioParts& parts = reader_.parts();
  if (!parts.scenario.disaggregation) return;
  const Disaggregation& pools = *parts.scenario.disaggregation;
  const std::string path = std::string(reader_.prefix(Part::kDisaggregation)) + "disaggregated_prefill.";
  const auto check = [&](const char* field, int replicas, const Deployment& deployment) {
    if (int64_t{replicas} * deployment.devices() <= kMaxPoolDevices) return;
    violations.push_back({path + field, absl::StrCat(field, " ", replicas, " of ", deployment.devices(),
                                                     " devices each; allowed ", kMaxPoolDevices, " devices together")});
  };
  check("prefill_replicas", pools.prefill_replicas, parts.prefill_deployment.value_or(parts.deployment));
  check("decode_replicas", pools.decode_replicas, parts.deployment);
}

}  // namespace foretoken::rpc

#include "server/rpc/estimate/scenario_resolver.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/engine_version.h"
#include "server/catalog/entries/profile_dtypes.h"

namespace foretoken::rpc {
namespace {

constexpr int64_t kMaxPoolDevices = 1'000'000'000;

// Whether hardware that a request spells out has a profile or a calibration of the engine.
bool IsMeasured(const Hardware& hardware, std::string_view engine) {
  const auto same = [name = EngineName(engine)](std::string_view other) { return EngineName(other) == name; };
  const auto& profiles = hardware.linear_profiles;
  if (std::any_of(profiles.begin(), profiles.end(), [&](const auto& p) { return same(p.key.engine); })) return true;
  if (hardware.calibrations == nullptr) return false;
  const auto& all = hardware.calibrations->all();
  return std::any_of(all.begin(), all.end(), [&](const Calibration& c) { return same(c.engine); });
}

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
  if (absl::Status status = CheckEngines(); !status.ok()) return status;
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

absl::Status ScenarioResolver::CheckEngines() const {
  const ScenarioParts& parts = reader_.parts();
  std::vector<FieldViolation> violations;
  if (machine_ != reader_.machine_reads()) {
    CheckEngine(parts.deployment.engine, Part::kDeployment, "deployment.engine", violations);
  }
  if (parts.scenario.speculation && !parts.scenario.speculation->follows) {
    CheckEngine(parts.draft_deployment.engine, Part::kSpeculation, "speculative_decoding.draft_deployment.engine",
                violations);
  }
  if (parts.scenario.disaggregation && parts.prefill_deployment) {
    CheckEngine(parts.prefill_deployment->engine, Part::kDisaggregation, "disaggregated_prefill.deployment.engine",
                violations);
  }
  return InvalidFields(violations);
}

void ScenarioResolver::CheckEngine(const std::string& engine, Part part, const char* field,
                                   std::vector<FieldViolation>& violations) const {
  if (engine.empty() || snapshot_.engines().Know(engine)) return;
  const bool has_name = !EngineName(engine).empty();
  if (has_name && IsMeasured(*reader_.parts().scenario.hardware, engine)) return;
  violations.push_back({std::string(reader_.prefix(part)) + field, snapshot_.engines().Unknown(engine)});
}

// An inline spec has no id of the catalog: of what ships, only calibrations of its vendor, of any hardware and of any
// model apply to it.
void ScenarioResolver::ResolveCalibration() {
  ScenarioParts& parts = reader_.parts();
  Scenario& scenario = parts.scenario;
  const bool continuous = IsContinuous(scenario);
  if (machine_ == reader_.machine_reads() && continuous == calibrated_for_load_) return;
  const Hardware& hardware = *scenario.hardware;
  const bool is_inline = parts.IsInline(&hardware);
  const std::string_view hardware_id = is_inline ? std::string_view() : hardware.id;
  const std::string_view model_id = parts.IsInline(scenario.model) ? std::string_view() : scenario.model->id;
  const std::string_view vendor = is_inline ? std::string_view(parts.specs->hardware_vendor) : std::string_view();
  scenario.calibration = snapshot_.FindCalibration(hardware, hardware_id, vendor, parts.deployment.engine,
                                                   *scenario.model, model_id, continuous);
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

// The parts of a scenario that bring a model, hardware or deployment of their own, and how they follow from each other.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/catalog/entries/profile_dtypes.h"
#include "server/catalog/spec/parse.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr int64_t kMaxDevices = 1'000'000'000;  // of one side

// Takes an inline spec, or notes what is wrong with it, under its path in the scenario.
template <typename T>
void Take(absl::StatusOr<T> parsed, std::string_view prefix, std::vector<FieldViolation>& violations, T& spec) {
  if (parsed.ok()) {
    spec = *std::move(parsed);
    return;
  }
  violations = DetailOf(WithFieldPrefix(parsed.status(), prefix)).violations;
  if (violations.empty()) violations.push_back({std::string(prefix), std::string(parsed.status().message())});
}

}  // namespace

const Model* ScenarioReader::FindModel(const std::string& id, std::string_view field, PartState& state) const {
  const auto found = snapshot_.FindModel(id, field);
  state.id_error = found.status();
  return found.ok() ? &(*found)->model : nullptr;
}

const Hardware* ScenarioReader::FindHardware(const std::string& id, std::string_view field, PartState& state) const {
  const auto found = snapshot_.FindHardware(id, field);
  state.id_error = found.status();
  return found.ok() ? &(*found)->hardware : nullptr;
}

void ScenarioReader::ParseModel(const v1::ModelSpec& spec, std::string_view field, PartState& state, Model& model) {
  Take(catalog::ParseModel(spec), field, state.violations, model);
}

void ScenarioReader::ParseHardware(const v1::HardwareSpec& spec, std::string_view field, PartState& state,
                                   Hardware& hardware) {
  Take(catalog::ParseHardware(spec), field, state.violations, hardware);
}

void ScenarioReader::ReadSpeculation(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kSpeculation, prefix);
  scenario_.speculation.reset();
  if (!message.has_speculative_decoding()) return;
  const v1::SpeculativeDecoding& asked = message.speculative_decoding();
  const Model* draft = nullptr;
  if (asked.has_draft_model_id()) {
    draft = FindModel(asked.draft_model_id(), "speculative_decoding.draft_model_id", state);
  } else if (asked.has_draft_model_spec()) {
    draft = &Specs().draft;
    ParseModel(asked.draft_model_spec(), "speculative_decoding.draft_model_spec.", state, Specs().draft);
  }
  FieldChecker fields("speculative_decoding.", state.violations);
  if (asked.draft_model_case() == v1::SpeculativeDecoding::DRAFT_MODEL_NOT_SET) {
    fields.Add("draft_model_id", "draft_model_id or draft_model_spec is required");
  }
  scenario_.speculation = rpc::ReadSpeculation(asked, fields);
  scenario_.speculation->draft = draft;
  FieldChecker deployment("speculative_decoding.draft_deployment.", state.violations);
  draft_deployment_ = rpc::ReadDeployment(asked.draft_deployment(), deployment);
}

void ScenarioReader::ReadDisaggregation(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kDisaggregation, prefix);
  scenario_.disaggregation.reset();
  prefill_deployment_.reset();
  prefill_shares_hardware_ = false;
  if (!message.has_disaggregated_prefill()) return;
  const v1::DisaggregatedPrefill& asked = message.disaggregated_prefill();
  const Hardware* hardware = nullptr;
  if (asked.has_hardware_id()) {
    hardware = FindHardware(asked.hardware_id(), "disaggregated_prefill.hardware_id", state);
  } else if (asked.has_hardware_spec()) {
    hardware = &Specs().prefill_hardware;
    ParseHardware(asked.hardware_spec(), "disaggregated_prefill.hardware_spec.", state, Specs().prefill_hardware);
  } else {
    prefill_shares_hardware_ = true;
  }
  FieldChecker fields("disaggregated_prefill.", state.violations);
  scenario_.disaggregation = rpc::ReadDisaggregation(asked, fields);
  scenario_.disaggregation->hardware = hardware;
  if (!asked.has_deployment()) return;
  FieldChecker deployment("disaggregated_prefill.deployment.", state.violations);
  prefill_deployment_ = rpc::ReadDeployment(asked.deployment(), deployment);
}

void ScenarioReader::ResolveMachine() {
  scenario_.deployment = deployment_;
  ResolveDtypes(*scenario_.model, scenario_.deployment);
  const bool known =
      inline_ == nullptr || (scenario_.model != &inline_->model && scenario_.hardware != &inline_->hardware);
  if (inline_ != nullptr && scenario_.hardware == &inline_->hardware) {
    for (LinearProfile& profile : inline_->hardware.linear_profiles) {
      catalog::ResolveProfileOf(*scenario_.model, profile);
    }
  }
  derived_.Forget(known ? &snapshot_.step_models() : nullptr);
}

void ScenarioReader::Resolve() {
  const bool continuous = IsContinuous(scenario_);
  if (machine_changed_ || continuous != calibrated_for_load_) {
    const Hardware& hardware = *scenario_.hardware;
    const bool own_hardware = inline_ != nullptr && &hardware == &inline_->hardware;
    const bool own_model = inline_ != nullptr && scenario_.model == &inline_->model;
    const std::string_view hardware_id = own_hardware ? std::string_view() : hardware.id;
    const std::string_view model_id = own_model ? std::string_view() : scenario_.model->id;
    scenario_.calibration =
        FindCalibration(hardware, hardware_id, snapshot_.calibrations(), deployment_.engine, model_id, continuous);
    calibrated_for_load_ = continuous;
  }
  if (machine_changed_) ResolveMachine();
  machine_changed_ = false;
  if (scenario_.speculation) {
    Deployment& draft = scenario_.speculation->deployment;
    draft = scenario_.speculation->follows ? deployment_ : draft_deployment_;
    ResolveDtypes(*scenario_.speculation->draft, draft);
  }
  if (scenario_.disaggregation) {
    Deployment& prefill = scenario_.disaggregation->deployment;
    prefill = prefill_deployment_.value_or(deployment_);
    ResolveDtypes(*scenario_.model, prefill);
  }
  resolved_ = true;
}

std::vector<FieldViolation> ScenarioReader::Contradictions() const {
  std::vector<FieldViolation> violations;
  AddDraftContradictions(violations);
  if (!scenario_.disaggregation) return violations;
  const Disaggregation& d = *scenario_.disaggregation;
  const std::string path = std::string(State(Part::kDisaggregation).prefix) + "disaggregated_prefill.";
  const auto check = [&](const char* field, int replicas, const Deployment& deployment) {
    if (int64_t{replicas} * deployment.devices() <= kMaxDevices) return;
    violations.push_back({path + field, absl::StrCat(field, " ", replicas, " of ", deployment.devices(),
                                                     " devices each; allowed ", kMaxDevices, " devices together")});
  };
  check("prefill_replicas", d.prefill_replicas, prefill_deployment_.value_or(deployment_));
  check("decode_replicas", d.decode_replicas, deployment_);
  return violations;
}

void ScenarioReader::AddDraftContradictions(std::vector<FieldViolation>& violations) const {
  if (!scenario_.speculation || scenario_.speculation->follows) return;
  const std::string path = std::string(State(Part::kSpeculation).prefix) + "speculative_decoding.draft_deployment.";
  const Deployment& draft = draft_deployment_;
  const int there = deployment_.tensor_parallel * deployment_.pipeline_parallel;
  if (draft.tensor_parallel * draft.pipeline_parallel > there) {
    violations.push_back({path + "tensor_parallel",
                          absl::StrCat("the draft is on ", draft.tensor_parallel * draft.pipeline_parallel,
                                       " devices of a replica; allowed 1 to ", there, ", those of the model")});
  }
  if (draft.data_parallel != deployment_.data_parallel) {
    violations.push_back({path + "data_parallel", absl::StrCat("data_parallel ", draft.data_parallel, "; allowed ",
                                                               deployment_.data_parallel, ", the model's")});
  }
}

}  // namespace foretoken::rpc

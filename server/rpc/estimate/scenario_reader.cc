#include "server/rpc/estimate/scenario_reader.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/spec/parse.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr absl::Duration kOldLoad = absl::Seconds(10);
constexpr absl::Duration kClockSkew = absl::Seconds(5);  // of two machines, which needs no warning

// Takes an inline spec, or notes what is wrong with it, under its path in the scenario.
template <typename T>
void Take(absl::StatusOr<T> parsed, std::string_view field, std::vector<FieldViolation>& violations, T& spec) {
  if (parsed.ok()) {
    spec = *std::move(parsed);
    return;
  }
  violations = DetailOf(WithFieldPrefix(parsed.status(), field)).violations;
  if (violations.empty()) violations.push_back({std::string(field), std::string(parsed.status().message())});
}

}  // namespace

Part PartOf(std::string_view path) {
  if (path.starts_with("model")) return Part::kModel;
  if (path.starts_with("hardware")) return Part::kHardware;
  if (path.starts_with("deployment")) return Part::kDeployment;
  if (path.starts_with("live_load")) return Part::kLiveLoad;
  if (path.starts_with("slo")) return Part::kSlo;
  if (path.starts_with("speculative_decoding")) return Part::kSpeculation;
  if (path.starts_with("disaggregated_prefill")) return Part::kDisaggregation;
  return path.starts_with("method") ? Part::kMethod : Part::kWorkload;
}

ScenarioParts::InlineSpecs& ScenarioReader::Specs() {
  if (parts_.specs == nullptr) parts_.specs = std::make_unique<ScenarioParts::InlineSpecs>();
  return *parts_.specs;
}

ScenarioReader::PartState& ScenarioReader::Start(Part part, std::string_view prefix) {
  PartState& state = states_[static_cast<size_t>(part)];
  state.prefix = prefix;
  state.violations.clear();
  if (!state.id_error.ok()) state.id_error = absl::OkStatus();
  ++reads_;
  if (part == Part::kModel || part == Part::kHardware || part == Part::kDeployment) ++machine_reads_;
  return state;
}

void ScenarioReader::ReadAll(const v1::Scenario& message, std::string_view prefix) {
  for (int part = 0; part < kNumParts; ++part) ReadPart(static_cast<Part>(part), message, prefix);
}

void ScenarioReader::ReadPart(Part part, const v1::Scenario& message, std::string_view prefix) {
  switch (part) {
    case Part::kModel:
      return ReadModel(message, prefix);
    case Part::kHardware:
      return ReadHardware(message, prefix);
    case Part::kDeployment:
      return ReadDeployment(message.deployment(), prefix);
    case Part::kWorkload:
      return ReadWorkload(message.workload(), prefix);
    case Part::kLiveLoad:
      return message.has_live_load() ? ReadLiveLoad(message.live_load(), prefix) : ClearLiveLoad(prefix);
    case Part::kSlo:
      return message.has_slo() ? ReadSlo(message.slo(), prefix) : ClearSlo(prefix);
    case Part::kMethod:
      return ReadMethod(message.method(), prefix);
    case Part::kSpeculation:
      return ReadSpeculation(message, prefix);
    case Part::kDisaggregation:
      return ReadDisaggregation(message, prefix);
  }
}

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

void ScenarioReader::ReadModel(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kModel, prefix);
  if (message.has_model_id()) {
    parts_.scenario.model = FindModel(message.model_id(), "model_id", state);
    return;
  }
  Model& model = Specs().model;
  parts_.scenario.model = &model;
  if (message.has_model_spec()) {
    Take(catalog::ParseModel(message.model_spec()), "model_spec.", state.violations, model);
  } else {
    state.violations.push_back({"model_id", "model_id or model_spec is required"});
  }
}

void ScenarioReader::ReadHardware(const v1::Scenario& message, std::string_view prefix) {
  if (message.has_hardware_id()) return ReadHardwareId(message.hardware_id(), prefix);
  if (message.has_hardware_spec()) return ReadHardwareSpec(message.hardware_spec(), prefix);
  PartState& state = Start(Part::kHardware, prefix);
  state.violations.push_back({"hardware_id", "hardware_id or hardware_spec is required"});
}

void ScenarioReader::ReadHardwareId(const std::string& id, std::string_view prefix) {
  parts_.scenario.hardware = FindHardware(id, "hardware_id", Start(Part::kHardware, prefix));
}

void ScenarioReader::ReadHardwareSpec(const v1::HardwareSpec& spec, std::string_view prefix) {
  PartState& state = Start(Part::kHardware, prefix);
  Take(catalog::ParseHardware(spec), "hardware_spec.", state.violations, Specs().hardware);
  Specs().hardware_vendor = spec.vendor();
  parts_.scenario.hardware = &Specs().hardware;
}

void ScenarioReader::ReadDeployment(const v1::Deployment& message, std::string_view prefix) {
  FieldChecker fields("deployment.", Start(Part::kDeployment, prefix).violations);
  parts_.deployment = rpc::ReadDeployment(message, fields);
}

void ScenarioReader::ReadWorkload(const v1::Workload& message, std::string_view prefix) {
  FieldChecker fields("workload.", Start(Part::kWorkload, prefix).violations);
  parts_.scenario.workload = rpc::ReadWorkload(message, fields);
}

void ScenarioReader::ReadLiveLoad(const v1::LiveLoad& message, std::string_view prefix) {
  FieldChecker fields("live_load.", Start(Part::kLiveLoad, prefix).violations);
  parts_.scenario.live_load = rpc::ReadLiveLoad(message, fields);
  parts_.live_load_age.reset();
  if (message.has_time_observed()) parts_.live_load_age = ReadLiveLoadAge(message, now_, fields);
}

void ScenarioReader::ClearLiveLoad(std::string_view prefix) {
  Start(Part::kLiveLoad, prefix);
  parts_.scenario.live_load.reset();
  parts_.live_load_age.reset();
}

void ScenarioReader::ReadSlo(const v1::Slo& message, std::string_view prefix) {
  FieldChecker fields("slo.", Start(Part::kSlo, prefix).violations);
  parts_.scenario.slo = rpc::ReadSlo(message, fields);
}

void ScenarioReader::ClearSlo(std::string_view prefix) {
  Start(Part::kSlo, prefix);
  parts_.scenario.slo.reset();
}

void ScenarioReader::ReadMethod(v1::Method method, std::string_view prefix) {
  FieldChecker fields("", Start(Part::kMethod, prefix).violations);
  parts_.scenario.method = rpc::ReadMethod(method, fields);
}

const Model* ScenarioReader::ReadDraft(const v1::SpeculativeDecoding& message, PartState& state) {
  if (message.has_draft_model_id()) {
    return FindModel(message.draft_model_id(), "speculative_decoding.draft_model_id", state);
  }
  if (!message.has_draft_model_spec()) {
    FieldChecker("speculative_decoding.", state.violations)
        .Add("draft_model_id", "draft_model_id or draft_model_spec is required");
    return nullptr;
  }
  Take(catalog::ParseModel(message.draft_model_spec()), "speculative_decoding.draft_model_spec.", state.violations,
       Specs().draft);
  return &Specs().draft;
}

void ScenarioReader::ReadSpeculation(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kSpeculation, prefix);
  std::optional<Speculation>& speculation = parts_.scenario.speculation;
  speculation.reset();
  if (!message.has_speculative_decoding()) return;
  const v1::SpeculativeDecoding& asked = message.speculative_decoding();
  const Model* draft = ReadDraft(asked, state);
  FieldChecker fields("speculative_decoding.", state.violations);
  speculation = rpc::ReadSpeculation(asked, fields);
  speculation->draft = draft;
  FieldChecker deployment("speculative_decoding.draft_deployment.", state.violations);
  parts_.draft_deployment = rpc::ReadDeployment(asked.draft_deployment(), deployment);
}

const Hardware* ScenarioReader::ReadPrefillHardware(const v1::DisaggregatedPrefill& message, PartState& state) {
  if (message.has_hardware_id()) {
    return FindHardware(message.hardware_id(), "disaggregated_prefill.hardware_id", state);
  }
  parts_.prefill_shares_hardware = !message.has_hardware_spec();
  if (parts_.prefill_shares_hardware) return nullptr;
  Take(catalog::ParseHardware(message.hardware_spec()), "disaggregated_prefill.hardware_spec.", state.violations,
       Specs().prefill_hardware);
  return &Specs().prefill_hardware;
}

void ScenarioReader::ReadDisaggregation(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kDisaggregation, prefix);
  std::optional<Disaggregation>& disaggregation = parts_.scenario.disaggregation;
  disaggregation.reset();
  parts_.prefill_deployment.reset();
  parts_.prefill_shares_hardware = false;
  if (!message.has_disaggregated_prefill()) return;
  const v1::DisaggregatedPrefill& asked = message.disaggregated_prefill();
  const Hardware* hardware = ReadPrefillHardware(asked, state);
  FieldChecker fields("disaggregated_prefill.", state.violations);
  disaggregation = rpc::ReadDisaggregation(asked, fields);
  disaggregation->hardware = hardware;
  if (!asked.has_deployment()) return;
  FieldChecker deployment("disaggregated_prefill.deployment.", state.violations);
  parts_.prefill_deployment = rpc::ReadDeployment(asked.deployment(), deployment);
}

absl::Status ScenarioReader::Errors() const {
  const bool good = std::all_of(states_.begin(), states_.end(),
                                [](const PartState& state) { return state.violations.empty() && state.id_error.ok(); });
  if (good) return absl::OkStatus();
  std::vector<FieldViolation> violations;
  for (const PartState& state : states_) {
    for (const FieldViolation& violation : state.violations) {
      violations.push_back({std::string(state.prefix) + violation.field, violation.description});
    }
  }
  if (!violations.empty()) return InvalidFields(violations);
  for (const PartState& state : states_) {
    if (!state.id_error.ok()) return WithFieldPrefix(state.id_error, state.prefix);
  }
  return absl::OkStatus();
}

absl::Status ScenarioReader::WithPrefix(const absl::Status& refusal) const {
  const RefusalDetail detail = DetailOf(refusal);
  if (detail.violations.empty()) return refusal;
  return WithFieldPrefix(refusal, prefix(PartOf(detail.violations.front().field)));
}

std::optional<Warning> ScenarioReader::StaleLoadWarning() const {
  if (!parts_.live_load_age) return std::nullopt;
  if (*parts_.live_load_age < -kClockSkew) {
    return Warning{.code = WarningCode::kStaleLoad,
                   .message = absl::StrCat("time_observed is ", absl::FormatDuration(-*parts_.live_load_age),
                                           " in the future: clocks differ, and the age of the load is not known"),
                   .field = "live_load.time_observed"};
  }
  if (*parts_.live_load_age <= kOldLoad) return std::nullopt;
  return Warning{
      .code = WarningCode::kStaleLoad,
      .message = absl::StrCat("the live load is ",
                              absl::FormatDuration(absl::Trunc(*parts_.live_load_age, absl::Milliseconds(1))),
                              " old; it is used as it was, never extrapolated"),
      .field = "live_load.time_observed"};
}

}  // namespace foretoken::rpc

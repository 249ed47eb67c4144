#include "server/rpc/estimate/scenario_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr absl::Duration kOldLoad = absl::Seconds(10);

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

ScenarioReader::Inline& ScenarioReader::Specs() {
  if (inline_ == nullptr) inline_ = std::make_unique<Inline>();
  return *inline_;
}

ScenarioReader::PartState& ScenarioReader::Start(Part part, std::string_view prefix) {
  PartState& state = parts_[static_cast<size_t>(part)];
  state.prefix = prefix;
  state.violations.clear();
  state.id_error = absl::OkStatus();
  resolved_ = false;
  machine_changed_ = machine_changed_ || part == Part::kModel || part == Part::kHardware || part == Part::kDeployment;
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

void ScenarioReader::ReadModel(const v1::Scenario& message, std::string_view prefix) {
  PartState& state = Start(Part::kModel, prefix);
  if (message.has_model_id()) {
    scenario_.model = FindModel(message.model_id(), "model_id", state);
    return;
  }
  if (!message.has_model_spec()) state.violations.push_back({"model_id", "model_id or model_spec is required"});
  if (message.has_model_spec()) ParseModel(message.model_spec(), "model_spec.", state, Specs().model);
  scenario_.model = &Specs().model;
}

void ScenarioReader::ReadHardware(const v1::Scenario& message, std::string_view prefix) {
  if (message.has_hardware_id()) return ReadHardwareId(message.hardware_id(), prefix);
  if (message.has_hardware_spec()) return ReadHardwareSpec(message.hardware_spec(), prefix);
  PartState& state = Start(Part::kHardware, prefix);
  state.violations.push_back({"hardware_id", "hardware_id or hardware_spec is required"});
}

void ScenarioReader::ReadHardwareId(const std::string& id, std::string_view prefix) {
  scenario_.hardware = FindHardware(id, "hardware_id", Start(Part::kHardware, prefix));
}

void ScenarioReader::ReadHardwareSpec(const v1::HardwareSpec& spec, std::string_view prefix) {
  ParseHardware(spec, "hardware_spec.", Start(Part::kHardware, prefix), Specs().hardware);
  scenario_.hardware = &Specs().hardware;
}

void ScenarioReader::ReadDeployment(const v1::Deployment& message, std::string_view prefix) {
  FieldChecker fields("deployment.", Start(Part::kDeployment, prefix).violations);
  deployment_ = rpc::ReadDeployment(message, fields);
}

void ScenarioReader::ReadWorkload(const v1::Workload& message, std::string_view prefix) {
  FieldChecker fields("workload.", Start(Part::kWorkload, prefix).violations);
  scenario_.workload = rpc::ReadWorkload(message, fields);
}

void ScenarioReader::ReadLiveLoad(const v1::LiveLoad& message, std::string_view prefix) {
  FieldChecker fields("live_load.", Start(Part::kLiveLoad, prefix).violations);
  scenario_.live_load = rpc::ReadLiveLoad(message, fields);
  live_load_age_.reset();
  if (message.has_time_observed()) live_load_age_ = ReadLiveLoadAge(message, now_, fields);
}

void ScenarioReader::ClearLiveLoad(std::string_view prefix) {
  Start(Part::kLiveLoad, prefix);
  scenario_.live_load.reset();
  live_load_age_.reset();
}

void ScenarioReader::ReadSlo(const v1::Slo& message, std::string_view prefix) {
  FieldChecker fields("slo.", Start(Part::kSlo, prefix).violations);
  scenario_.slo = rpc::ReadSlo(message, fields);
}

void ScenarioReader::ClearSlo(std::string_view prefix) {
  Start(Part::kSlo, prefix);
  scenario_.slo.reset();
}

void ScenarioReader::ReadMethod(v1::Method method, std::string_view prefix) {
  FieldChecker fields("", Start(Part::kMethod, prefix).violations);
  scenario_.method = rpc::ReadMethod(method, fields);
}

absl::Status ScenarioReader::Errors() const {
  const bool good = std::all_of(parts_.begin(), parts_.end(),
                                [](const PartState& part) { return part.violations.empty() && part.id_error.ok(); });
  // Only a draft or a prefill side can contradict the rest.
  if (good && !scenario_.speculation && !scenario_.disaggregation) return absl::OkStatus();
  std::vector<FieldViolation> violations;
  for (const PartState& part : parts_) {
    for (const FieldViolation& violation : part.violations) {
      violations.push_back({std::string(part.prefix) + violation.field, violation.description});
    }
  }
  if (!violations.empty()) return InvalidFields(violations);
  for (const PartState& part : parts_) {
    if (!part.id_error.ok()) return WithFieldPrefix(part.id_error, part.prefix);
  }
  return InvalidFields(Contradictions());
}

absl::StatusOr<const Scenario*> ScenarioReader::scenario() {
  if (absl::Status errors = Errors(); !errors.ok()) return errors;
  if (!resolved_) Resolve();
  if (prefill_shares_hardware_) scenario_.disaggregation->hardware = scenario_.hardware;
  return &scenario_;
}

absl::Status ScenarioReader::Estimate(const Detail& detail, foretoken::Estimate& estimate) {
  const absl::StatusOr<const Scenario*> read = scenario();
  if (!read.ok()) return read.status();
  const absl::Status status = ComputeEstimate(**read, detail, derived_, estimate);
  return status.ok() ? status : WithPrefix(status);
}

void ScenarioReader::MakeRow(std::optional<OutputRow>& row) {
  row.reset();
  const absl::StatusOr<const Scenario*> read = scenario();
  if (read.ok()) OutputRow::Make(**read, derived_, row);
}

absl::Status ScenarioReader::WithPrefix(const absl::Status& refusal) const {
  const RefusalDetail detail = DetailOf(refusal);
  if (detail.violations.empty()) return refusal;
  return WithFieldPrefix(refusal, State(PartOf(detail.violations.front().field)).prefix);
}

std::optional<Warning> ScenarioReader::StaleLoadWarning() const {
  if (!live_load_age_ || *live_load_age_ <= kOldLoad) return std::nullopt;
  return Warning{.code = WarningCode::kStaleLoad,
                 .message = absl::StrCat("the live load is ",
                                         absl::FormatDuration(absl::Trunc(*live_load_age_, absl::Milliseconds(1))),
                                         " old; it is used as it was, never extrapolated"),
                 .field = "live_load.time_observed"};
}

}  // namespace foretoken::rpc

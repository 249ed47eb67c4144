#include "server/rpc/simulate/simulate_api.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "estimator/methods/cpu_time.h"
#include "estimator/methods/operator_model.h"
#include "estimator/scenario/calibration.h"
#include "estimator/simulation/simulation.h"
#include "server/rpc/estimate/answer.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/estimate/scenario_resolver.h"
#include "server/rpc/simulate/convert_simulation.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kScenario = "scenario.";

// Paths of the simulation are whole already; those of the scenario get the prefix of their part.
absl::Status WithPrefix(const ScenarioReader& reader, const absl::Status& refusal) {
  for (const FieldViolation& violation : DetailOf(refusal).violations) {
    if (absl::StartsWith(absl::string_view(violation.field), "simulation.")) return refusal;
  }
  return reader.WithPrefix(refusal);
}

std::optional<Warning> UnusedSloWarning(const Scenario& scenario) {
  if (!FindsPercentiles(scenario)) return std::nullopt;
  return Warning{WarningCode::kNotUsed,
                 "a simulation always has percentiles and gives no verdict on them, so simulated_steps and bounds on "
                 "percentiles are not used",
                 "slo.simulated_steps"};
}

void AddWarnings(const ScenarioReader& reader, const Scenario& scenario, const OperatorMethod& method,
                 const Moment& moment, const v1::SimulateRequest& request, v1::SimulateResponse& response) {
  std::vector<Warning> warnings;
  if (auto warning = UnusedRunWarning(request)) warnings.push_back(*std::move(warning));
  WarnOfEngines(scenario, *method.efficiencies, warnings);
  if (auto warning = UnusedSloWarning(scenario)) warnings.push_back(*std::move(warning));
  if (auto warning = reader.StaleLoadWarning()) warnings.push_back(*std::move(warning));
  if (auto warning = StaleCatalogWarning(moment)) warnings.push_back(*std::move(warning));
  for (const Warning& warning : warnings) WriteWarning(warning, *response.add_warnings());
}

}  // namespace

double MostSteps(const v1::SimulateRequest& request) {
  const v1::Simulation& simulation = request.simulation();
  const int64_t stated = simulation.has_max_steps() ? simulation.max_steps() : SimulationSpec{}.max_steps;
  return static_cast<double>(std::clamp<int64_t>(stated, 1, kMaxSimulatedSteps));
}

absl::Status AnswerSimulate(const v1::SimulateRequest& request, const Moment& moment, Cancelled cancelled,
                            v1::SimulateResponse& response) {
  const absl::StatusOr<SimulationSpec> spec = ReadSimulation(request);
  if (!spec.ok()) return spec.status();
  absl::Status affordable = CheckCpu("simulation.max_steps", MostSteps(request), 0, "steps", moment.max_cpu,
                                     [] { return kCpuTimeOfSimulatedStep; });
  if (!affordable.ok()) return affordable;
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioResolver resolver(reader, moment.snapshot);
  reader.ReadAll(request.scenario(), kScenario);
  const absl::StatusOr<const Scenario*> scenario = resolver.Resolve();
  if (!scenario.ok()) return scenario.status();
  const OperatorMethod method = OperatorMethodOf(**scenario);
  const absl::StatusOr<SimulationResult> result = Simulate(**scenario, *spec, *method.efficiencies, cancelled);
  if (!result.ok()) return WithPrefix(reader, result.status());
  WriteSimulation(*result, response);
  AddWarnings(reader, **scenario, method, moment, request, response);
  response.set_provenance(static_cast<v1::Provenance>(method.provenance));
  if (method.calibration != nullptr) response.set_calibration_id(method.calibration->id);
  *response.mutable_catalog_revision() = moment.snapshot.revision();
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

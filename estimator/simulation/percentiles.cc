#include "estimator/simulation/percentiles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/simulation/simulation.h"

namespace foretoken {
namespace {

constexpr char kSteps[] = "slo.simulated_steps";
constexpr double kPrecision = 0.01;  // standard error over value at which a simulation ends early

// A benchmark of so many requests in a closed loop is simulated as a whole.
absl::StatusOr<SimulationSpec> SpecOf(const Scenario& scenario) {
  SimulationSpec spec{.max_steps = *scenario.slo->simulated_steps, .relative_error = kPrecision};
  const Workload& workload = scenario.workload;
  if (!workload.closed_loop_requests || workload.request_rate_per_second) return spec;
  if (*workload.closed_loop_requests > kMaxSimulatedRequests) {
    return Refusal(Reason::kInvalidField, "workload.closed_loop_requests",
                   absl::StrCat("percentiles of ", *workload.closed_loop_requests, " requests; allowed 1 to ",
                                kMaxSimulatedRequests));
  }
  spec.requests = *workload.closed_loop_requests;
  spec.whole_run = true;
  return spec;
}

// Whatever the simulation says of its own fields follows from the steps that it was allowed.
std::string FieldOf(const std::string& field) {
  return absl::StartsWith(field, "simulation.") ? std::string(kSteps) : field;
}

absl::Status AboutTheScenario(const absl::Status& refusal) {
  RefusalDetail detail = DetailOf(refusal);
  if (detail.reason == Reason::kUnspecified) return refusal;
  for (FieldViolation& violation : detail.violations) violation.field = FieldOf(violation.field);
  return RefusalWithDetail(absl::StrCat("percentiles: ", refusal.message()), detail);
}

void AddWarnings(std::vector<Warning> warnings, Estimate& estimate) {
  for (Warning& warning : warnings) {
    warning.field = FieldOf(warning.field);
    const auto& known = estimate.warnings;
    if (std::find(known.begin(), known.end(), warning) == known.end()) estimate.warnings.push_back(std::move(warning));
  }
}

}  // namespace

absl::Status FillPercentiles(const Scenario& scenario, const Efficiencies& efficiencies, Estimate& estimate) {
  if (estimate.method != Method::kOperatorModel && estimate.method != Method::kSpeedOfLight) {
    return Refusal(Reason::kNotModelled, "method",
                   "percentiles are found by a simulation, which the linear profile and the KPI method do not have; "
                   "allowed: METHOD_OPERATOR_MODEL or METHOD_SPEED_OF_LIGHT, or no slo.simulated_steps");
  }
  const absl::StatusOr<SimulationSpec> spec = SpecOf(scenario);
  if (!spec.ok()) return spec.status();
  absl::StatusOr<SimulationResult> result = Simulate(scenario, *spec, efficiencies, NeverCancelled);
  if (!result.ok()) return AboutTheScenario(result.status());
  AddWarnings(std::move(result->warnings), estimate);
  if (result->requests == 0) return absl::OkStatus();
  estimate.percentiles = Percentiles{
      .ttft = result->ttft, .tpot = result->tpot, .itl = result->itl, .e2e = result->e2e, .requests = result->requests};
  return absl::OkStatus();
}

}  // namespace foretoken

#include "server/rpc/solve/solve_api.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "estimator/methods/estimator.h"
#include "estimator/search/cheapest.h"
#include "estimator/search/solve.h"
#include "server/rpc/estimate/answer.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/estimate/scenario_resolver.h"
#include "server/rpc/wire/convert.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kBase = "base.";
constexpr double kMaxRate = 1e6;
constexpr double kMinRate = 1e-3;
constexpr double kMaxPrompt = 1e6;
constexpr double kMaxDegree = 1024;
constexpr double kMostEvaluations = 100;  // of a search: doublings over the widest range, then halvings

absl::StatusOr<Estimate> EvaluateUnless(Cancelled cancelled, const Scenario& scenario) {
  if (cancelled()) return absl::CancelledError("the caller gave up");
  return ComputeEstimate(scenario);
}

// The range where none is asked.
SolveRange DefaultRange(SolveFor what, const Scenario& base) {
  const Workload& w = base.workload;
  const auto made_for = base.model->max_position_embeddings;
  switch (what) {
    case SolveFor::kRequestRate:
      return {kMinRate, kMaxRate};
    case SolveFor::kPromptTokens:
      return {w.cached_prefix_tokens + 1.0,
              std::max(w.cached_prefix_tokens + 1.0, made_for ? *made_for - w.output_tokens * 1.0 : kMaxPrompt)};
    case SolveFor::kTensorParallel:
      return {1, kMaxDegree};
    default:
      return {1, kMaxBatch};
  }
}

// Past these a value is not one of its field.
SolveRange Allowed(SolveFor what, const Scenario& base) {
  if (what == SolveFor::kRequestRate) return {1e-9, 1e9};
  if (what == SolveFor::kPromptTokens) return {base.workload.cached_prefix_tokens + 1.0, 1e8};
  return DefaultRange(what, base);
}

absl::StatusOr<SolveRange> ReadRange(const v1::SolveRequest& request, SolveFor what, const Scenario& base) {
  std::vector<FieldViolation> violations;
  FieldChecker fields("", violations);
  SolveRange range = DefaultRange(what, base);
  const SolveRange allowed = Allowed(what, base);
  const auto read = [&](const char* field, bool given, double value, double low, double& end) {
    if (!given) return;
    const bool whole = what == SolveFor::kRequestRate || value == std::floor(value);
    if (!(value >= low && value <= allowed.max) || !whole) {
      fields.Add(field, absl::StrCat(field, " ", value, "; allowed ", low, " to ", allowed.max,
                                     what == SolveFor::kRequestRate ? "" : ", whole"));
    }
    end = value;
  };
  read("min_value", request.has_min_value(), request.min_value(), allowed.min, range.min);
  if (!request.has_max_value()) range.max = std::max(range.min, range.max);
  read("max_value", request.has_max_value(), request.max_value(), range.min, range.max);
  if (!violations.empty()) return InvalidFields(violations);
  return range;
}

void WriteSolution(const Solution& solution, v1::SolveResponse& response) {
  response.set_satisfied(solution.value.has_value());
  if (solution.value) response.set_value(*solution.value);
  if (solution.nearest) response.set_nearest_value(*solution.nearest);
  response.set_binding_constraint(static_cast<v1::Constraint>(solution.binding));
  response.set_binding_message(solution.reason);
  response.set_evaluations(solution.evaluations);
}

// The field that is looked for need not be given.
v1::Scenario WithSolvedField(const v1::SolveRequest& request) {
  v1::Scenario base = request.base();
  if (request.solve_for() == v1::SOLVE_FOR_PROMPT_TOKENS) {
    base.mutable_workload()->set_prompt_tokens(std::min(base.workload().cached_prefix_tokens(), kMaxTokens - 1) + 1);
  }
  return base;
}

absl::Status SolveValue(const v1::SolveRequest& request, const Moment& moment, Cancelled cancelled,
                        v1::SolveResponse& response) {
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioResolver resolver(reader, moment.snapshot);
  reader.ReadAll(WithSolvedField(request), kBase);
  const absl::StatusOr<const Scenario*> base = resolver.Resolve();
  if (!base.ok()) return base.status();
  const auto what = static_cast<SolveFor>(request.solve_for());
  const absl::StatusOr<SolveRange> range = ReadRange(request, what, **base);
  if (!range.ok()) return range.status();
  absl::Status affordable = CheckCpu("base", kMostEvaluations, SimulatedSteps(request.base().slo()), "evaluations",
                                     moment.max_cpu, [&] { return CpuTimeWithReading(*base); });
  if (!affordable.ok()) return affordable;
  const auto evaluate = [&](const Scenario& scenario) { return EvaluateUnless(cancelled, scenario); };
  const absl::StatusOr<Solution> solution = Solve(**base, what, *range, evaluate);
  if (!solution.ok()) return reader.WithPrefix(solution.status());
  WriteSolution(*solution, response);
  if (solution->estimate) WriteAnswer(*solution->estimate, reader, **base, moment, *response.mutable_estimate());
  return absl::OkStatus();
}

std::string PathOfCandidate(int index) { return absl::StrCat("candidates[", index, "]."); }

// Reads a candidate over the base.
void ReadCandidate(const v1::SolveRequest& request, const v1::HardwareCandidate& candidate, std::string_view path,
                   ScenarioReader& reader) {
  v1::Scenario scenario = request.base();
  if (candidate.has_hardware_id()) scenario.set_hardware_id(candidate.hardware_id());
  if (candidate.has_hardware_spec()) *scenario.mutable_hardware_spec() = candidate.hardware_spec();
  reader.ReadPart(Part::kHardware, scenario, path);
  v1::Deployment deployment = candidate.has_deployment() ? candidate.deployment() : request.base().deployment();
  if (candidate.has_price_per_device_hour()) {
    deployment.set_price_per_device_hour(candidate.price_per_device_hour());
  }
  reader.ReadDeployment(deployment, candidate.has_deployment() ? path : kBase);
}

// The mean CPU time of a candidate.
Seconds MeanCpuTime(const v1::SolveRequest& request, const Moment& moment) {
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioResolver resolver(reader, moment.snapshot);
  reader.ReadAll(request.base(), kBase);
  Seconds sum;
  for (int i = 0; i < request.candidates_size(); ++i) {
    ReadCandidate(request, request.candidates(i), PathOfCandidate(i), reader);
    const absl::StatusOr<const Scenario*> scenario = resolver.Resolve();
    sum += CpuTimeWithReading(scenario.ok() ? *scenario : nullptr);
  }
  return sum / request.candidates_size();
}

absl::Status CheckCandidates(const v1::SolveRequest& request) {
  if (request.candidates_size() > kMaxCandidates) {
    return Refusal(Reason::kLimitExceeded, "candidates",
                   absl::StrCat(request.candidates_size(), " candidates; allowed 1 to ", kMaxCandidates));
  }
  std::vector<FieldViolation> violations;
  FieldChecker fields("", violations);
  if (request.candidates().empty()) {
    fields.Add("candidates", absl::StrCat("0 candidates; allowed 1 to ", kMaxCandidates));
  }
  for (int i = 0; i < request.candidates_size(); ++i) {
    const v1::HardwareCandidate& candidate = request.candidates(i);
    const std::string path = PathOfCandidate(i);
    const v1::Deployment& placed = candidate.has_deployment() ? candidate.deployment() : request.base().deployment();
    if (candidate.hardware_case() == v1::HardwareCandidate::HARDWARE_NOT_SET) {
      fields.Add(path + "hardware_id", "hardware_id or hardware_spec is required");
    }
    if (candidate.has_price_per_device_hour()) {
      fields.NotNegative(path + "price_per_device_hour", candidate.price_per_device_hour());
    } else if (!placed.has_price_per_device_hour()) {
      fields.Required(path + "price_per_device_hour");
    }
  }
  return InvalidFields(violations);
}

// Whether what all candidates share is at fault.
bool BaseIsAtFault(const ScenarioReader& reader) {
  for (int i = 0; i < kNumParts; ++i) {
    const Part part = static_cast<Part>(i);
    if (part == Part::kHardware || part == Part::kDeployment) continue;
    if (!reader.violations(part).empty() || !reader.id_error(part).ok()) return true;
  }
  return false;
}

absl::Status SolveHardware(const v1::SolveRequest& request, const Moment& moment, Cancelled cancelled,
                           v1::SolveResponse& response) {
  if (absl::Status checked = CheckCandidates(request); !checked.ok()) return checked;
  absl::Status affordable = CheckCpu("candidates", request.candidates_size(), SimulatedSteps(request.base().slo()),
                                     "candidates", moment.max_cpu, [&] { return MeanCpuTime(request, moment); });
  if (!affordable.ok()) return affordable;
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioResolver resolver(reader, moment.snapshot);
  reader.ReadAll(request.base(), kBase);
  std::optional<Cheapest> cheapest;
  for (int i = 0; i < request.candidates_size(); ++i) {
    const std::string path = PathOfCandidate(i);
    ReadCandidate(request, request.candidates(i), path, reader);
    const absl::StatusOr<const Scenario*> scenario = resolver.Resolve();
    if (!scenario.ok() && BaseIsAtFault(reader)) return scenario.status();
    if (!cheapest) cheapest.emplace(reader.parts().scenario.slo);
    const absl::StatusOr<Estimate> estimate =
        scenario.ok() ? EvaluateUnless(cancelled, **scenario) : absl::StatusOr<Estimate>(scenario.status());
    if (absl::IsCancelled(estimate.status())) return estimate.status();
    cheapest->Add(estimate);
    v1::HardwareCandidateResult& result = *response.add_candidate_results();
    if (estimate.ok()) {
      WriteAnswer(*estimate, reader, **scenario, moment, *result.mutable_estimate());
    } else {  // the paths of what could not be read are whole already
      *result.mutable_status() = ToRpcStatus(scenario.ok() ? reader.WithPrefix(estimate.status()) : scenario.status());
    }
  }
  WriteSolution(cheapest->solution(), response);
  const auto index = cheapest->solution().value ? cheapest->solution().value : cheapest->solution().nearest;
  if (index) *response.mutable_estimate() = response.candidate_results(static_cast<int>(*index)).estimate();
  return absl::OkStatus();
}

absl::Status CheckQuestion(const v1::SolveRequest& request) {
  std::vector<FieldViolation> violations;
  FieldChecker fields("", violations);
  const bool hardware = request.solve_for() == v1::SOLVE_FOR_HARDWARE;
  if (!request.has_base()) fields.Required("base");
  if (request.solve_for() == v1::SOLVE_FOR_UNSPECIFIED) fields.Required("solve_for");
  fields.Enum("solve_for", request.solve_for(), v1::SolveFor_MAX);
  if (hardware && request.has_min_value()) {
    fields.Add("min_value", "min_value is given; allowed with a number to solve for, not with hardware");
  }
  if (hardware && request.has_max_value()) {
    fields.Add("max_value", "max_value is given; allowed with a number to solve for, not with hardware");
  }
  if (!hardware && !request.candidates().empty()) {
    fields.Add("candidates",
               absl::StrCat(request.candidates_size(), " candidates; allowed with hardware only, else 0"));
  }
  return InvalidFields(violations);
}

}  // namespace

absl::Status AnswerSolve(const v1::SolveRequest& request, const Moment& moment, Cancelled cancelled,
                         v1::SolveResponse& response) {
  if (absl::Status checked = CheckQuestion(request); !checked.ok()) return checked;
  const bool hardware = request.solve_for() == v1::SOLVE_FOR_HARDWARE;
  absl::Status status =
      hardware ? SolveHardware(request, moment, cancelled, response) : SolveValue(request, moment, cancelled, response);
  if (status.ok()) *response.mutable_catalog_revision() = moment.snapshot.revision();
  return status;
}

}  // namespace foretoken::rpc

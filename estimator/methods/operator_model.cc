#include "estimator/methods/operator_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/methods/explain.h"
#include "estimator/methods/metrics.h"
#include "estimator/phases/capacity.h"
#include "estimator/phases/pass_flow.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/output_lengths.h"
#include "estimator/serving/coverage.h"
#include "estimator/serving/serve.h"

namespace foretoken {
namespace {

// Warns of an engine without measurements, because versions of an engine can differ by factors. An unknown or misspelt
// engine is answered as if none was named. Under continuous batching the provenance says so already.
void WarnOfEngine(const Scenario& scenario, const Efficiencies& efficiencies, std::vector<Warning>& warnings) {
  const std::string& engine = scenario.deployment.engine;
  if (engine.empty() || efficiencies.speed_of_light) return;
  if (scenario.calibration != nullptr && !scenario.calibration->engine.empty()) {
    const std::string& measured = scenario.calibration->engine;
    if (measured == engine) return;
    const char* unversioned = measured.find('@') == measured.npos ? " of no stated version" : "";
    warnings.push_back({WarningCode::kExtrapolated,
                        absl::StrCat("engine ", engine, " was not measured; answered by ", measured, unversioned),
                        "deployment.engine"});
    return;
  }
  if (IsContinuous(scenario)) return;
  warnings.push_back({WarningCode::kFigureAbsent,
                      absl::StrCat("the catalog has no calibration of engine ", engine,
                                   " for this (ListCalibrations names those it has); answered as without an engine"),
                      "deployment.engine"});
}

// Says what llama.cpp was taken to do where the deployment does not, because builds and devices differ in it.
void WarnOfPasses(const Scenario& scenario, const StepModel& model, std::vector<Warning>& warnings) {
  const PassFlow flow = PassFlowOf(scenario.deployment);
  const bool taken = flow.llama_cpp && !flow.in_flight && model.shard.stages > 1;
  if (!taken || model.efficiencies.speed_of_light) return;
  const Workload& w = scenario.workload;
  const double tokens = ChunkTokens(w, scenario.deployment).value_or(w.fresh_tokens());
  warnings.push_back({WarningCode::kFigureAbsent,
                      absl::StrFormat("prefill_passes_in_flight is not stated; llama.cpp is taken to have %.2g passes "
                                      "of a prefill in flight in %g stages",
                                      1 / PassInterval(model.shard, flow, tokens), model.shard.stages),
                      "deployment.prefill_passes_in_flight"});
}

void WarnOfScenario(const Scenario& scenario, const StepModel& model, std::vector<Warning>& warnings) {
  const Shard& shard = model.shard;
  WarnOfIgnored(scenario, PolicyOf(scenario), FeatureGroup::kInputs, warnings);
  WarnOfContext(*scenario.model, scenario.workload, warnings);
  if (scenario.speculation) WarnOfContext(*scenario.speculation->draft, scenario.workload, warnings);
  WarnOfPasses(scenario, model, warnings);
  if (shard.heads_padded) {
    warnings.push_back({WarningCode::kHeadsPadded,
                        absl::StrCat(scenario.model->num_attention_heads, " heads do not divide by tensor_parallel ",
                                     shard.tensor_parallel, "; padded to ", shard.heads, " per device"),
                        "deployment.tensor_parallel"});
  }
}

// The scenario with one output length in place of a distribution; null if it has no distribution.
std::unique_ptr<const Scenario> WithBatchLength(const Scenario& requested) {
  if (!requested.workload.output_lengths) return nullptr;
  auto scenario = std::make_unique<Scenario>(requested);
  scenario->workload =
      WithBatchLength(requested.workload, requested.deployment.PerReplica(requested.workload.batch_size));
  return scenario;
}

// The draft model and the prefill pool that work beside the scenario's own replicas.
struct Others {
  std::optional<Speculator> speculator;
  std::optional<PrefillPool> prefill_pool;
};

// Null without both.
absl::StatusOr<std::unique_ptr<const Others>> MakeOthers(const Scenario& scenario, const Efficiencies& efficiencies,
                                                         std::vector<Warning>& warnings) {
  if (!scenario.speculation && !scenario.disaggregation) return nullptr;
  auto others = std::make_unique<Others>();
  if (scenario.speculation) {
    absl::StatusOr<Speculator> made = MakeSpeculator(scenario, efficiencies);
    if (!made.ok()) return made.status();
    others->speculator = *std::move(made);
  }
  if (scenario.disaggregation) {
    absl::StatusOr<PrefillPool> made = MakePrefillPool(scenario, efficiencies, warnings);
    if (!made.ok()) return made.status();
    others->prefill_pool = *std::move(made);
  }
  return others;
}

// `others` may be null.
Replica MakeReplica(const Scenario& scenario, const StepModel& model, const Capacity& capacity, const Others* others,
                    const Detail& detail) {
  Replica replica{.scenario = scenario, .model = model, .capacity = capacity};
  if (scenario.speculation) replica.speculator = &*others->speculator;
  if (scenario.disaggregation) replica.prefill_pool = &*others->prefill_pool;
  replica.steps_wanted =
      detail.token_latencies || scenario.workload.output_tokens <= 1 || scenario.workload.output_lengths.has_value();
  return replica;
}

// The first token and the decode steps one by one. The estimate takes all steps together, exact to a few parts in a
// thousand: each step is taken in that proportion, so that the latencies sum to E2E.
void FillTokenLatencies(const Served& served, std::vector<Seconds>& latencies) {
  latencies.push_back(served.prefill.Total());
  Seconds sum;
  for (double j = 1; j <= served.decode_steps; ++j) {
    latencies.push_back(served.step(j).Total());
    sum += latencies.back();
  }
  if (!(sum > Seconds(0))) return;
  constexpr double kRounding = 1e-12;
  const double share = served.decode.Total() / sum;
  if (std::abs(share - 1) <= kRounding) return;
  for (size_t i = 1; i < latencies.size(); ++i) latencies[i] = latencies[i] * share;
}

void FillDetail(const Replica& replica, const Served& served, const Detail& detail, Estimate& estimate) {
  estimate.prefill_operators.clear();
  estimate.decode_operators.clear();
  estimate.token_latencies.clear();
  if (detail.operators) FillOperators(replica, served, estimate);
  if (detail.token_latencies) FillTokenLatencies(served, estimate.token_latencies);
}

Provenance ProvenanceOf(const Calibration& calibration) {
  if (!calibration.hardware_id.empty()) return Provenance::kCalibrated;
  return calibration.engine.empty() ? Provenance::kDatasheet : Provenance::kTransferred;
}

}  // namespace

OperatorMethod OperatorMethodOf(const Scenario& scenario) {
  if (scenario.method == Method::kSpeedOfLight) return {&SpeedOfLight(), Provenance::kSpeedOfLight};
  const Calibration* calibration = scenario.calibration;
  if (calibration == nullptr) return {&GenericPriorOf(IsContinuous(scenario)), Provenance::kDatasheet};
  return {&calibration->efficiencies, ProvenanceOf(*calibration), calibration};
}

absl::Status FillOperatorModel(const Scenario& requested, const Efficiencies& efficiencies, Provenance provenance,
                               const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  if (absl::Status supported = CheckSupported(*requested.model, "model_id"); !supported.ok()) return supported;
  const std::unique_ptr<const Scenario> adjusted = WithBatchLength(requested);
  const Scenario& scenario = adjusted ? *adjusted : requested;
  const DerivedModel& derived = memo.Get(scenario, efficiencies);
  if (!derived.model.ok()) return derived.model.status();
  const StepModel& model = *derived.model;
  estimate.warnings = derived.warnings;
  const auto others = MakeOthers(scenario, efficiencies, estimate.warnings);
  if (!others.ok()) return others.status();
  const Capacity capacity = MeasureCapacity(scenario, model.shard, model.machine);
  const Replica replica = MakeReplica(scenario, model, capacity, others->get(), detail);
  const absl::StatusOr<Served> served = Serve(replica, estimate.warnings);
  if (!served.ok()) return served.status();
  WarnOfScenario(scenario, model, estimate.warnings);
  WarnOfEngine(scenario, efficiencies, estimate.warnings);
  estimate.calibration_id.clear();
  estimate.method = efficiencies.speed_of_light ? Method::kSpeedOfLight : Method::kOperatorModel;
  FillMetrics(replica, *served, provenance, estimate);
  FillDetail(replica, *served, detail, estimate);
  return absl::OkStatus();
}

absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& requested, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail) {
  StepModelMemo memo;
  Estimate estimate;
  if (absl::Status status = FillOperatorModel(requested, efficiencies, provenance, detail, memo, estimate);
      !status.ok()) {
    return status;
  }
  return estimate;
}

}  // namespace foretoken

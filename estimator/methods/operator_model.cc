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

// Whether the scenario's calibration is of an engine, and not of any.
bool IsOfAnEngine(const Calibration* calibration) { return calibration != nullptr && !calibration->engine.empty(); }

absl::string_view NameOf(const Hardware& hardware) {
  if (hardware.id.empty()) return "this hardware";
  return hardware.id;
}

// "calibration amd-mi300x-192gb.vllm-0.7.3", "the generic prior".
std::string AnswerOf(const Calibration* calibration) {
  return IsOfAnEngine(calibration) ? absl::StrCat("calibration ", calibration->id) : "the generic prior";
}

void WarnOfSubstitute(const Scenario& scenario, std::vector<Warning>& warnings) {
  const std::string& asked = scenario.deployment.engine;
  const Calibration* calibration = scenario.calibration;
  if (asked.empty()) return;
  if (!IsOfAnEngine(calibration)) {
    warnings.push_back({WarningCode::kFigureAbsent,
                        absl::StrCat("no calibration of engine ", asked, " for ",
                                     IsContinuous(scenario) ? "continuous batching" : "static batches",
                                     "; answered by the generic prior"),
                        "deployment.engine"});
    return;
  }
  const bool elsewhere = calibration->hardware_id.empty();
  const std::string& measured = calibration->engine;
  if (measured == asked && !elsewhere) return;
  const bool unstated = measured != asked && measured.find('@') == measured.npos;
  const bool any_version = !elsewhere && asked.find('@') == asked.npos;
  const std::string why = any_version
                              ? absl::StrCat("no version of engine ", asked, " is asked for")
                              : absl::StrCat("engine ", asked, " was not measured on ", NameOf(*scenario.hardware));
  warnings.push_back({WarningCode::kExtrapolated,
                      absl::StrCat(why, "; answered by calibration ", calibration->id, ", of ", measured,
                                   unstated ? " (no version stated)" : "", elsewhere ? " on other devices" : ""),
                      "deployment.engine"});
}

// The draft model and the prefill side take the constants of the scenario's own engine.
void WarnOfSecondEngine(const Scenario& scenario, const char* side, const std::string& asked, const char* field,
                        std::vector<Warning>& warnings) {
  if (asked.empty() || asked == scenario.deployment.engine) return;
  warnings.push_back({WarningCode::kNotUsed,
                      absl::StrCat(side, ": engine ", asked, " is not used; answered by ",
                                   AnswerOf(scenario.calibration), ", which deployment.engine selects for all parts"),
                      field});
}

void WarnOfPrefillHardware(const Scenario& scenario, std::vector<Warning>& warnings) {
  const std::string& asked = scenario.deployment.engine;
  const Calibration* calibration = scenario.calibration;
  const Hardware& prefill = *scenario.disaggregation->hardware;
  if (asked.empty() || !IsOfAnEngine(calibration) || calibration->hardware_id.empty()) return;
  if (prefill.id == scenario.hardware->id) return;
  warnings.push_back({WarningCode::kExtrapolated,
                      absl::StrCat("prefill side: answered by ", AnswerOf(calibration), ", of ", calibration->engine,
                                   " on ", calibration->hardware_id, ", not on ", NameOf(prefill)),
                      "disaggregated_prefill.hardware_id"});
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

// Kernels alone tell nothing of what an engine does beside them.
Provenance ProvenanceOf(const Calibration& calibration) {
  if (calibration.of_kernels) return Provenance::kTransferred;
  if (!calibration.hardware_id.empty()) return Provenance::kCalibrated;
  return calibration.engine.empty() ? Provenance::kDatasheet : Provenance::kTransferred;
}

}  // namespace

void WarnOfEngines(const Scenario& scenario, const Efficiencies& efficiencies, std::vector<Warning>& warnings) {
  if (efficiencies.speed_of_light) {
    return WarnOfIgnored(scenario, Scope::kSpeedOfLight, FeatureGroup::kInputs, warnings);
  }
  WarnOfSubstitute(scenario, warnings);
  if (scenario.speculation) {
    WarnOfSecondEngine(scenario, "draft model", scenario.speculation->deployment.engine,
                       "speculative_decoding.draft_deployment.engine", warnings);
  }
  if (!scenario.disaggregation) return;
  WarnOfSecondEngine(scenario, "prefill side", scenario.disaggregation->deployment.engine,
                     "disaggregated_prefill.deployment.engine", warnings);
  WarnOfPrefillHardware(scenario, warnings);
}

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
  WarnOfEngines(scenario, efficiencies, estimate.warnings);
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

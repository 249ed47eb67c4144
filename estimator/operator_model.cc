#include "estimator/operator_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/calibration/calibration.h"
#include "estimator/capacity.h"
#include "estimator/errors.h"
#include "estimator/explain.h"
#include "estimator/figures.h"
#include "estimator/output_lengths.h"
#include "estimator/serving.h"

namespace foretoken {
namespace {

// Every stage of a pipeline holds a layer.
absl::Status CheckStages(const Model& model, const Deployment& deployment) {
  const int stages = deployment.pipeline_parallel;
  if (stages <= model.num_hidden_layers) return absl::OkStatus();
  return Refusal(Reason::kInvalidField, "deployment.pipeline_parallel",
                 absl::StrCat("pipeline_parallel ", stages, "; allowed 1 to ", model.num_hidden_layers,
                              ", the layers of ", model.id));
}

void WarnOfContext(const Model& model, const Workload& w, std::vector<Warning>& warnings) {
  const double context = static_cast<double>(w.prompt_tokens) + w.output_tokens;
  const auto longest = model.max_position_embeddings;
  if (!longest || context <= *longest) return;
  warnings.push_back({WarningCode::kContextTooLong,
                      absl::StrCat("context of ", context, " tokens; ", model.id, " was made for ", *longest),
                      "workload.prompt_tokens"});
}

// Versions of an engine differ, at times by factors. An engine that nobody has measured, or a slip of the pen, is
// answered as if none was named. Under continuous batching every engine may be, so that the provenance says it all.
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
  warnings.push_back(
      {WarningCode::kFigureAbsent,
       absl::StrCat("the catalog has no calibration of engine ", engine, " for this; answered as without an engine"),
       "deployment.engine"});
}

// Decode attention of a cache that is not latent is on the vector units.
void WarnOfVectorRate(const Scenario& scenario, std::vector<Warning>* warnings) {
  const Hardware& hardware = *scenario.hardware;
  if (warnings == nullptr || hardware.peak.fp32 || scenario.model->latent_attention) return;
  warnings->push_back({WarningCode::kFigureAbsent,
                       absl::StrCat("hardware ", hardware.id,
                                    " states no peak.fp32_flops_per_second; decode attention is taken to reach the "
                                    "matrix peak, so that long contexts may be told too fast"),
                       "hardware_spec.peak.fp32_flops_per_second"});
}

void WarnOfScenario(const Scenario& scenario, const Shard& shard, std::vector<Warning>& warnings) {
  WarnOfContext(*scenario.model, scenario.workload, warnings);
  if (scenario.speculation) WarnOfContext(*scenario.speculation->draft, scenario.workload, warnings);
  if (shard.heads_padded) {
    warnings.push_back({WarningCode::kHeadsPadded,
                        absl::StrCat(scenario.model->num_attention_heads, " heads do not divide by tensor_parallel ",
                                     shard.tensor_parallel, "; padded to ", shard.heads, " per device"),
                        "deployment.tensor_parallel"});
  }
}

// Adds `runs` of a step to the rows of a phase.
void AddOperators(std::vector<OperatorEstimate> step, const char* prefix, double runs,
                  std::vector<OperatorEstimate>& rows) {
  for (OperatorEstimate& op : step) {
    op.name = prefix + op.name;
    op.count *= runs;
    op.flops = op.flops * runs;
    op.bytes = op.bytes * runs;
    op.communication_bytes = op.communication_bytes * runs;
    op.parts = op.parts * runs;
    rows.push_back(std::move(op));
  }
}

// A chunk of full size at the end of the prefill, all of it where it is whole.
StepShape LastChunk(const Scenario& scenario, double sequences) {
  const Workload& w = scenario.workload;
  const double fresh = w.prompt_tokens - w.cached_prefix_tokens;
  const double chunk =
      std::min<double>(fresh, ChunkTokens(w, scenario.deployment).value_or(std::numeric_limits<int>::max()));
  return {.prefill_sequences = sequences,
          .prefill_tokens = chunk,
          .prefill_prior = w.prompt_tokens - chunk,
          .logits_rows = sequences};
}

// The mean decode step of `decoding` sequences, each fed `tokens`.
StepShape MeanStep(const Scenario& scenario, double steps, double decoding, double tokens) {
  return {.decode_sequences = decoding,
          .decode_context = scenario.workload.prompt_tokens + std::max(1.0, (steps + 1) / 2) + tokens - 1,
          .decode_tokens = tokens,
          .logits_rows = decoding * tokens};
}

void FillOperators(const Replica& replica, const Served& served, Estimate& estimate) {
  const Scenario& scenario = replica.scenario;
  const Speculator* speculator = replica.speculator;
  const bool prefills = scenario.workload.prompt_tokens > scenario.workload.cached_prefix_tokens;
  const double tokens = speculator != nullptr ? speculator->draft_tokens + 1 : 1;
  const double share = speculator != nullptr ? 1 / speculator->accepted : 1;
  const double decoding = std::ceil(served.running / replica.model.shard.stages);
  const PrefillSide* side = replica.prefill_side;
  const StepShape prompts = LastChunk(side != nullptr ? side->scenario : scenario, served.prefilled);
  if (prefills) estimate.prefill_operators = ExplainStep(side != nullptr ? side->model : replica.model, prompts);
  AddOperators(ExplainStep(replica.model, MeanStep(scenario, served.decode_steps, decoding, tokens)), "", share,
               estimate.decode_operators);
  if (speculator == nullptr) return;
  if (prefills) AddOperators(ExplainStep(speculator->draft, prompts), "draft_", 1, estimate.prefill_operators);
  AddOperators(ExplainStep(speculator->draft, MeanStep(scenario, served.decode_steps, decoding, 1)), "draft_",
               speculator->draft_tokens * share, estimate.decode_operators);
}

// What works beside the scenario's own replicas of its model.
struct Others {
  std::optional<Speculator> speculator;
  std::optional<PrefillSide> prefill_side;
};

// Null where nothing does.
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
    absl::StatusOr<PrefillSide> made = MakePrefillSide(scenario, efficiencies, &warnings);
    if (!made.ok()) return made.status();
    others->prefill_side = *std::move(made);
  }
  return others;
}

void FillTokenLatencies(const Served& served, std::vector<Seconds>& latencies) {
  latencies.push_back(served.prefill.Total());
  for (double j = 1; j <= served.decode_steps; ++j) latencies.push_back(served.step(j).Total());
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

absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings) {
  if (absl::Status stages = CheckStages(*scenario.model, scenario.deployment); !stages.ok()) return stages;
  absl::StatusOr<Machine> machine = MakeMachine(*scenario.hardware, scenario.deployment, efficiencies, warnings);
  if (!machine.ok()) return machine.status();
  const Deployment& d = scenario.deployment;
  const bool floor = efficiencies.speed_of_light;
  if (!floor) WarnOfVectorRate(scenario, warnings);
  StepModel model{.shard = MakeShard(*scenario.model, d),
                  .machine = *machine,
                  .efficiencies = efficiencies,
                  .roofline_exponent = floor ? std::numeric_limits<double>::infinity() : d.roofline_exponent,
                  .attention_kernel = floor ? AttentionKernel::kFlash : d.attention_kernel,
                  .expert_routing = scenario.workload.expert_routing};
  model.operators = MakeOperators(model.shard, model.machine, !floor && d.unfused_elementwise);
  return model;
}

absl::Status FillOperatorModel(const Scenario& asked, const Efficiencies& efficiencies, Provenance provenance,
                               const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  if (absl::Status supported = CheckSupported(*asked.model, "model_id"); !supported.ok()) return supported;
  std::unique_ptr<Scenario> adjusted;
  if (asked.workload.output_lengths) {
    adjusted = std::make_unique<Scenario>(asked);
    adjusted->workload = WithBatchLength(
        asked.workload, std::ceil(static_cast<double>(asked.workload.batch_size) / asked.deployment.data_parallel));
  }
  const Scenario& scenario = adjusted ? *adjusted : asked;
  const DerivedModel& derived = memo.Get(scenario, efficiencies);
  if (!derived.model.ok()) return derived.model.status();
  const StepModel* const model = &*derived.model;
  estimate.warnings = derived.warnings;
  const Capacity capacity = MeasureCapacity(scenario, model->shard, model->machine);
  const auto others = MakeOthers(scenario, efficiencies, estimate.warnings);
  if (!others.ok()) return others.status();
  const bool speculates = scenario.speculation.has_value();
  const bool prefills_elsewhere = scenario.disaggregation.has_value();
  const Replica replica{.scenario = scenario,
                        .model = *model,
                        .capacity = capacity,
                        .speculator = speculates ? &*(*others)->speculator : nullptr,
                        .prefill_side = prefills_elsewhere ? &*(*others)->prefill_side : nullptr,
                        .steps_wanted = detail.token_latencies || scenario.workload.output_tokens <= 1 ||
                                        scenario.workload.output_lengths.has_value()};
  const absl::StatusOr<Served> served = Serve(replica, estimate.warnings);
  if (!served.ok()) return served.status();
  WarnOfScenario(scenario, model->shard, estimate.warnings);
  estimate.calibration_id.clear();
  WarnOfEngine(scenario, efficiencies, estimate.warnings);
  estimate.method = efficiencies.speed_of_light ? Method::kSpeedOfLight : Method::kOperatorModel;
  FillFigures(replica, *served, provenance, estimate);
  FillDetail(replica, *served, detail, estimate);
  return absl::OkStatus();
}

absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& asked, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail) {
  StepModelMemo memo;
  Estimate estimate;
  if (absl::Status status = FillOperatorModel(asked, efficiencies, provenance, detail, memo, estimate); !status.ok()) {
    return status;
  }
  return estimate;
}

}  // namespace foretoken

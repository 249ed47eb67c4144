#include "server/rpc/sweep/sweep_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/methods/cpu_time.h"
#include "estimator/serving/coverage.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/parse.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/estimate/scenario_resolver.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kBase = "base.";
constexpr int kMaxAxes = 64;
constexpr int kMaxErrorDetails = 1000;
constexpr int kMinChunk = 1024;
constexpr int kMaxChunk = 4096;

// Lists may hold millions of items of a byte or two: they are counted before they are read, and before the base is
// copied.
absl::Status CheckCounts(const v1::SweepRequest& request) {
  if (request.axes_size() > kMaxAxes) {
    return Refusal(Reason::kLimitExceeded, "axes", absl::StrCat(request.axes_size(), " axes; allowed 1 to ", kMaxAxes));
  }
  if (request.metrics_size() > v1::Metric_MAX) {
    return Refusal(
        Reason::kLimitExceeded, "metrics",
        absl::StrCat(request.metrics_size(), " metrics; allowed at most ", v1::Metric_MAX, ", each of them once"));
  }
  const v1::Scenario& base = request.base();
  const absl::Status hardware = catalog::CheckCounts(base.hardware_spec());
  if (!hardware.ok()) return WithFieldPrefix(hardware, "base.hardware_spec.");
  return WithFieldPrefix(catalog::CheckCounts(base.disaggregated_prefill().hardware_spec()),
                         "base.disaggregated_prefill.hardware_spec.");
}

void ReadMetrics(const v1::SweepRequest& request, catalog::FieldChecker& fields, SweepPlan& plan) {
  plan.metrics = {v1::METRIC_TTFT_SECONDS, v1::METRIC_TPOT_SECONDS, v1::METRIC_E2E_SECONDS,
                  v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_DEVICE};
  if (request.metrics().empty()) return;
  plan.metrics.clear();
  for (int i = 0; i < request.metrics_size(); ++i) {
    const std::string path = absl::StrCat("metrics[", i, "]");
    const auto metric = static_cast<v1::Metric>(request.metrics(i));
    if (!v1::Metric_IsValid(metric) || metric == v1::METRIC_UNSPECIFIED) {
      fields.Add(path, absl::StrCat("metric ", static_cast<int>(metric), "; allowed 1 to ", v1::Metric_MAX));
    } else if (std::find(plan.metrics.begin(), plan.metrics.end(), metric) != plan.metrics.end()) {
      fields.Add(path, absl::StrCat(v1::Metric_Name(metric), " is listed twice"));
    } else {
      plan.metrics.push_back(metric);
    }
  }
}

void ReadOptions(const v1::SweepRequest& request, catalog::FieldChecker& fields, SweepPlan& plan) {
  if (!request.has_base()) fields.Required("base");
  ReadMetrics(request, fields, plan);
  const int frontier = fields.Enum("frontier_metric", request.frontier_metric(), v1::FrontierMetric_MAX);
  if (frontier != 0) plan.frontier_metric = static_cast<v1::FrontierMetric>(frontier);
  if (request.has_max_error_details()) {
    plan.max_error_details = fields.Int("max_error_details", request.max_error_details(), 0, kMaxErrorDetails);
  }
  if (request.has_chunk_points()) {
    plan.chunk_points = fields.Int("chunk_points", request.chunk_points(), kMinChunk, kMaxChunk);
  }
}

// A limit that is passed outranks bad fields: it has a reason of its own.
absl::Status ReadAxes(const v1::SweepRequest& request, catalog::FieldChecker& fields, SweepPlan& plan) {
  if (request.axes().empty()) fields.Add("axes", "no axes; allowed 1 or more");
  for (int i = 0; i < request.axes_size(); ++i) {
    absl::StatusOr<Axis> axis = Axis::Resolve(request.axes(i), absl::StrCat("axes[", i, "]"));
    if (!axis.ok()) {
      const RefusalDetail detail = DetailOf(axis.status());
      if (detail.reason == Reason::kLimitExceeded) return axis.status();
      for (const FieldViolation& violation : detail.violations) fields.Add(violation.field, violation.description);
      continue;
    }
    for (const Axis& other : plan.axes) {
      if (other.field().text() != axis->field().text()) continue;
      fields.Add(absl::StrCat("axes[", i, "].field"), absl::StrCat(axis->field().text(), " has an axis already"));
    }
    plan.axes.push_back(*std::move(axis));
  }
  return absl::OkStatus();
}

absl::Status CountPoints(int64_t max_points, SweepPlan& plan) {
  double points = 1;  // a double cannot overflow here
  for (const Axis& axis : plan.axes) points *= axis.size();
  if (points > static_cast<double>(max_points)) {
    return Refusal(
        Reason::kLimitExceeded, "axes",
        absl::StrCat(absl::AlphaNum(points < 1e18 ? absl::StrCat(static_cast<int64_t>(points)) : absl::StrCat(points)),
                     " points; allowed 1 to ", max_points));
  }
  plan.total_points = static_cast<int64_t>(points);
  return absl::OkStatus();
}

bool Varies(const SweepPlan& plan, std::string_view prefix) {
  return std::any_of(plan.axes.begin(), plan.axes.end(),
                     [prefix](const Axis& axis) { return axis.field().text().starts_with(prefix); });
}

// InlineSpecs for the hardware of a prefill pool (the scenario's where the pool names none) and for a draft model.
absl::Status InlineSecondarySpecs(SweepPlan& plan) {
  if (Varies(plan, "disaggregated_prefill.hardware_spec.")) {
    v1::DisaggregatedPrefill& pool = *plan.base.mutable_disaggregated_prefill();
    const bool own = pool.has_hardware_id();
    if (own || (!pool.has_hardware_spec() && plan.base.has_hardware_id())) {
      const auto found =
          plan.snapshot->FindHardware(own ? pool.hardware_id() : plan.base.hardware_id(),
                                      own ? "base.disaggregated_prefill.hardware_id" : "base.hardware_id");
      if (!found.ok()) return found.status();
      *pool.mutable_hardware_spec() = (*found)->entry.spec();
    } else if (!pool.has_hardware_spec()) {
      *pool.mutable_hardware_spec() = plan.base.hardware_spec();
    }
  }
  if (Varies(plan, "speculative_decoding.draft_model_spec.") && plan.base.speculative_decoding().has_draft_model_id()) {
    v1::SpeculativeDecoding& speculative = *plan.base.mutable_speculative_decoding();
    const auto found =
        plan.snapshot->FindModel(speculative.draft_model_id(), "base.speculative_decoding.draft_model_id");
    if (!found.ok()) return found.status();
    *speculative.mutable_draft_model_spec() = (*found)->entry.spec();
  }
  return absl::OkStatus();
}

// Lets axes inside a spec vary the figures of the entry that the base names.
absl::Status InlineSpecs(SweepPlan& plan) {
  for (const std::string_view kind : {"hardware", "model"}) {
    const std::string name(kind);
    if (Varies(plan, name + "_spec.") && Varies(plan, name + "_id")) {
      return Refusal(Reason::kInvalidField, "axes",
                     absl::StrCat("axes over ", name, "_id and inside ", name, "_spec; allowed one or the other"));
    }
  }
  if (Varies(plan, "hardware_spec.") && plan.base.has_hardware_id()) {
    const auto found = plan.snapshot->FindHardware(plan.base.hardware_id(), "base.hardware_id");
    if (!found.ok()) return found.status();
    *plan.base.mutable_hardware_spec() = (*found)->entry.spec();
  }
  if (Varies(plan, "model_spec.") && plan.base.has_model_id()) {
    const auto found = plan.snapshot->FindModel(plan.base.model_id(), "base.model_id");
    if (!found.ok()) return found.status();
    *plan.base.mutable_model_spec() = (*found)->entry.spec();
  }
  return InlineSecondarySpecs(plan);
}

// Notes every value of an axis that its field cannot take, whatever the other axes say.
void CheckValues(const Axis& axis, v1::Scenario scenario, ScenarioReader& reader, catalog::FieldChecker& fields) {
  for (int i = 0; i < axis.size(); ++i) {
    axis.Apply(i, scenario);
    reader.ReadPart(axis.field().part(), scenario, kBase);
    for (const FieldViolation& violation : reader.violations(axis.field().part())) {
      if (violation.field != axis.field().text()) continue;
      fields.Add(axis.ValuePath(i), violation.description);
      if (axis.ValuePath(0) == axis.ValuePath(i)) return;  // a range is named once
    }
  }
}

// Whether a violation is about a field that an axis sets: then it is a matter of points, not of the sweep.
bool IsVaried(const SweepPlan& plan, std::string_view field) {
  return std::any_of(plan.axes.begin(), plan.axes.end(),
                     [field](const Axis& axis) { return axis.field().text() == field; });
}

// Cross-field rules, such as cached_prefix_tokens < prompt_tokens, are checked per point where two of their fields are
// varied; here only values that are invalid on their own are refused.
bool JoinsVaried(const SweepPlan& plan, const Axis& axis) {
  const std::string& field = axis.field().text();
  if (field.ends_with("model_spec.attention_type")) {
    return Varies(plan, field.substr(0, field.rfind('.') + 1) + "num_");
  }
  return (field == "workload.cached_prefix_tokens") ||
         (field == "deployment.expert_parallel" &&
          (Varies(plan, "deployment.tensor_parallel") || Varies(plan, "deployment.data_parallel"))) ||
         (field == "deployment.expert_load_imbalance" && Varies(plan, "deployment.expert_parallel")) ||
         (field == "live_load.running_sequences" && Varies(plan, "live_load.max_num_seqs"));
}

// OK, or that an id that every point shares is unknown.
absl::Status SharedIdError(const SweepPlan& plan, const ScenarioReader& reader) {
  constexpr std::pair<std::string_view, Part> kIds[] = {
      {"model_id", Part::kModel},
      {"hardware_id", Part::kHardware},
      {"speculative_decoding.draft_model_id", Part::kSpeculation},
      {"disaggregated_prefill.hardware_id", Part::kDisaggregation},
  };
  for (const auto& [field, part] : kIds) {
    if (!Varies(plan, field) && !reader.id_error(part).ok()) return WithFieldPrefix(reader.id_error(part), kBase);
  }
  return absl::OkStatus();
}

// OK, or that an engine that every point shares is not known. `first`: the scenario at the first value of every axis.
absl::Status SharedEngineError(const SweepPlan& plan, const v1::Scenario& first) {
  ScenarioReader reader(*plan.snapshot, plan.now);
  ScenarioResolver resolver(reader, *plan.snapshot);
  reader.ReadAll(first, kBase);
  const absl::Status status = resolver.Resolve().status();
  for (const FieldViolation& violation : DetailOf(status).violations) {
    const std::string_view field = violation.field;
    if (!field.starts_with(kBase) || !field.ends_with("deployment.engine")) continue;
    if (!IsVaried(plan, field.substr(kBase.size()))) return status;
  }
  return absl::OkStatus();
}

// Whether some value of an axis over an enum or a bool of the same part lifts a violation that `scenario`, at the first
// value of every axis, has at `field`: then the violation is a matter of points. A pipelined prompt cache needs a rate
// of arrival, for example, and the other cache modes do not.
bool AnotherValueLifts(const SweepPlan& plan, Part part, std::string_view field, v1::Scenario scenario) {
  ScenarioReader reader(*plan.snapshot, plan.now);
  for (const Axis& axis : plan.axes) {
    const bool named = axis.field().kind() == FieldKind::kEnum || axis.field().kind() == FieldKind::kBool;
    if (!named || axis.field().part() != part) continue;
    std::set<double> tried;  // an axis may list a value many times
    for (int i = axis.size() - 1; i >= 0; --i) {
      if (i > 0 && !tried.insert(axis.numbers()[static_cast<size_t>(i)]).second) continue;
      axis.Apply(i, scenario);
      reader.ReadPart(part, scenario, kBase);
      const std::vector<FieldViolation>& violations = reader.violations(part);
      if (std::none_of(violations.begin(), violations.end(), [&](const auto& v) { return v.field == field; })) {
        return true;
      }
    }
  }
  return false;
}

absl::Status CheckBase(const SweepPlan& plan) {
  std::vector<FieldViolation> violations;
  catalog::FieldChecker fields("", violations);
  ScenarioReader reader(*plan.snapshot, plan.now);
  v1::Scenario first = plan.base;
  for (const Axis& axis : plan.axes) axis.Apply(0, first);
  reader.ReadAll(first, kBase);
  for (int part = 0; part < kNumParts; ++part) {
    for (const FieldViolation& violation : reader.violations(static_cast<Part>(part))) {
      if (IsVaried(plan, violation.field)) continue;
      if (AnotherValueLifts(plan, static_cast<Part>(part), violation.field, first)) continue;
      fields.Add("base." + violation.field, violation.description);
    }
  }
  if (violations.empty()) {
    for (const Axis& axis : plan.axes) {
      if (axis.field().kind() != FieldKind::kText && !JoinsVaried(plan, axis)) CheckValues(axis, first, reader, fields);
    }
  }
  if (!violations.empty()) return InvalidFields(violations);
  if (absl::Status status = SharedIdError(plan, reader); !status.ok()) return status;
  return SharedEngineError(plan, first);
}

// Puts the scenario at a point of the grid; the last axis varies fastest.
void MoveTo(int64_t point, const SweepPlan& plan, v1::Scenario& scenario) {
  for (size_t i = plan.axes.size(); i-- > 0;) {
    plan.axes[i].Apply(static_cast<int>(point % plan.axes[i].size()), scenario);
    point /= plan.axes[i].size();
  }
}

// The most steps of simulations that a point may take.
double MostSimulatedSteps(const SweepPlan& plan) {
  const bool axis = std::any_of(plan.axes.begin(), plan.axes.end(),
                                [](const Axis& axis) { return axis.field().text() == "slo.simulated_steps"; });
  return axis ? kMostSimulatedSteps : SimulatedSteps(plan.base.slo());
}

// The mean CPU time of a point, by a sample that is spread evenly over the grid and over each axis.
Seconds MeanCpuTime(const SweepPlan& plan) {
  constexpr int kSample = 256;
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // of 2^64
  const double in_row = IsRisingOutput(plan.axes.back()) ? plan.axes.back().size() : 1;
  ScenarioReader reader(*plan.snapshot, plan.now);
  ScenarioResolver resolver(reader, *plan.snapshot);
  v1::Scenario scenario = plan.base;
  Seconds sum;
  for (int i = 0; i < kSample; ++i) {
    const double at = std::ldexp(static_cast<double>(kGoldenRatio * static_cast<uint64_t>(i)), -64);
    MoveTo(static_cast<int64_t>(at * static_cast<double>(plan.total_points)), plan, scenario);
    if (i == 0) reader.ReadAll(scenario, kBase);
    for (const Axis& axis : plan.axes) reader.ReadPart(axis.field().part(), scenario, kBase);
    const absl::StatusOr<const Scenario*> resolved = resolver.Resolve();
    const bool row =
        in_row > 1 && resolved.ok() && Covers(**resolved, Scope::kOutputRow) && !FindsPercentiles(**resolved);
    const Seconds one = CpuTimeWithReading(resolved.ok() ? *resolved : nullptr);
    sum += row ? one / in_row + kCpuTimeOfRowPoint : one;
  }
  return sum / kSample;
}

}  // namespace

bool IsRisingOutput(const Axis& axis) {
  return axis.field().text() == "workload.output_tokens" && axis.size() > 1 &&
         std::is_sorted(axis.numbers().begin(), axis.numbers().end());
}

v1::SweepHeader SweepPlan::Header() const {
  v1::SweepHeader header;
  for (const Axis& axis : axes) *header.add_axes() = axis.ToProto();
  header.set_total_points(total_points);
  for (const v1::Metric metric : metrics) header.add_metrics(metric);
  *header.mutable_catalog_revision() = snapshot->revision();
  return header;
}

absl::StatusOr<SweepPlan> PlanSweep(const v1::SweepRequest& request, std::shared_ptr<const catalog::Snapshot> snapshot,
                                    absl::Time now, int64_t max_points, absl::Duration max_cpu) {
  if (absl::Status status = CheckCounts(request); !status.ok()) return status;
  SweepPlan plan;
  plan.snapshot = std::move(snapshot);
  plan.now = now;
  plan.base = request.base();
  std::vector<FieldViolation> violations;
  catalog::FieldChecker fields("", violations);
  ReadOptions(request, fields, plan);
  if (absl::Status status = ReadAxes(request, fields, plan); !status.ok()) return status;
  if (!violations.empty()) return InvalidFields(violations);
  if (absl::Status status = CountPoints(max_points, plan); !status.ok()) return status;
  if (absl::Status status = InlineSpecs(plan); !status.ok()) return status;
  absl::Status affordable = CheckCpu("axes", static_cast<double>(plan.total_points), MostSimulatedSteps(plan), "points",
                                     max_cpu, [&plan] { return MeanCpuTime(plan); });
  if (!affordable.ok()) return affordable;
  if (absl::Status status = CheckBase(plan); !status.ok()) return status;  // looks at every value of every axis
  return plan;
}

}  // namespace foretoken::rpc

#include "estimator/serving/coverage.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "estimator/base/errors.h"
#include "estimator/serving/coverage_rows.h"

namespace foretoken {
namespace {

using coverage_rows::kFeatures;
using coverage_rows::kRows;
using coverage_rows::kScopes;
using coverage_rows::Row;

struct ScopeColumn {
  Scope scope;
  const char* name;
  const char* refusal;  // of a cell without a text of its own; $0: the field
  const char* ignored;  // likewise
};

constexpr char kSteadyStates[] =
    "the operator model does not cover a live load with arrival rates, dynamic batching or output lengths that differ; "
    "these are steady states";
constexpr char kPools[] =
    "disaggregated prefill does not cover this $0; allowed: batch_size sequences that decode together, or with "
    "continuous batching an arrival rate of prompts that are prefilled one by one; prompts of 1 token or more; a KV "
    "cache of one dtype on both sides";
constexpr char kNotUsed[] = "this scenario does not use $0";

constexpr ScopeColumn kColumns[] = {
    {Scope::kStatic, "static", "", kNotUsed},
    {Scope::kDynamic, "dynamic", "", kNotUsed},
    {Scope::kClosedLoop, "closed loop", "", kNotUsed},
    {Scope::kOpenLoop, "open loop", "", kNotUsed},
    {Scope::kLiveLoad, "live load", kSteadyStates, kNotUsed},
    {Scope::kDisaggregatedBatches, "disaggregated batches", kPools, kNotUsed},
    {Scope::kDisaggregatedContinuous, "disaggregated continuous", kPools, kNotUsed},
    {Scope::kSpeedOfLight, "speed of light", "", ""},
    {Scope::kOutputRow, "output row", "", ""},
    {Scope::kLinearProfile, "linear profile", "the linear profile does not model $0",
     "the linear profile does not use $0"},
    {Scope::kKpi, "KPI", "the KPI method does not model $0", "the KPI method does not use $0"},
};

constexpr char kStaticRate[] =
    "the operator model does not cover an arrival rate under static batching; allowed: dynamic, continuous";
constexpr char kSpeculative[] =
    "the operator model does not cover speculative decoding under a live load, without a KV cache or with a pipelined "
    "prompt cache; allowed: batches and steady states with a KV cache";
constexpr char kContinuousCache[] =
    "the operator model does not cover continuous batching without a KV cache or with a pipelined prompt cache; "
    "allowed: cached, prompt cache";
constexpr char kProfileCache[] = "the linear profile models the KV cache modes CACHED and PROMPT_CACHE only";
constexpr char kStepTokens[] =
    "a steady state cuts prompts by deployment.prefill_chunk_tokens, not by max_num_batched_tokens";

// What a cell says in place of its scope's text.
struct CellText {
  Feature feature;
  Scope scope;
  const char* text;  // $0: the field; $1: Requested
};

constexpr CellText kTexts[] = {
    {Feature::kRequestRate, Scope::kStatic, kStaticRate},
    {Feature::kSpeculation, Scope::kLiveLoad, kSpeculative},
    {Feature::kSpeculationWithoutKvCache, Scope::kStatic, kSpeculative},
    {Feature::kSpeculationWithoutKvCache, Scope::kDynamic, kSpeculative},
    {Feature::kNoKvCache, Scope::kClosedLoop, kContinuousCache},
    {Feature::kNoKvCache, Scope::kOpenLoop, kContinuousCache},
    {Feature::kNoKvCache, Scope::kLiveLoad, kContinuousCache},
    {Feature::kNoKvCache, Scope::kLinearProfile, kProfileCache},
    {Feature::kPipelinedPromptCache, Scope::kClosedLoop, kContinuousCache},
    {Feature::kPipelinedPromptCache, Scope::kOpenLoop, kContinuousCache},
    {Feature::kPipelinedPromptCache, Scope::kLiveLoad, kContinuousCache},
    {Feature::kPipelinedPromptCache, Scope::kLinearProfile, kProfileCache},
    {Feature::kPrefixLoad, Scope::kLinearProfile, "the linear profile does not model the load of a cached prefix"},
    {Feature::kSeveralDevices, Scope::kKpi, "the KPI method describes one device; $1 asked"},
    {Feature::kSeveralSequences, Scope::kKpi, "the KPI method describes one user; batch_size $1 asked"},
    {Feature::kStepTokenLimit, Scope::kClosedLoop, kStepTokens},
    {Feature::kStepTokenLimit, Scope::kOpenLoop, kStepTokens},
    {Feature::kEngine, Scope::kSpeedOfLight, "engine $1 is not used; the speed of light is of no engine"},
    {Feature::kEngine, Scope::kKpi, "engine $1 is not used; the KPI method is of no engine"},
    {Feature::kPrefixWithoutKvCache, Scope::kKpi, "without a KV cache the KPI method has no cached prefix"},
    {Feature::kWriteBackWithoutKvCache, Scope::kKpi, "without a KV cache the KPI method writes none back"},
    {Feature::kMixtureOfExperts, Scope::kLinearProfile, "the linear profile reads every expert at every step"},
    {Feature::kMixtureOfExperts, Scope::kKpi,
     "the KPI method reads one token's experts for all parallel prompt tokens"},
    {Feature::kSlidingWindow, Scope::kLinearProfile, "the linear profile reads the whole context in every layer"},
    {Feature::kSlidingWindow, Scope::kKpi, "the KPI method reads the whole context in every layer"},
    {Feature::kRecurrence, Scope::kLinearProfile, "the linear profile reads no states of recurrent layers"},
    {Feature::kSparseAttention, Scope::kLinearProfile,
     "the linear profile reads the whole context, not a choice of it"},
    {Feature::kSparseAttention, Scope::kKpi, "the KPI method reads the whole context, not a choice of it"},
};

// A scope without a column does not compile.
consteval bool ColumnsAreInOrder() {
  for (size_t i = 0; i < kScopes; ++i) {
    if (kColumns[i].scope != static_cast<Scope>(i)) return false;
  }
  return true;
}
static_assert(std::size(kColumns) == kScopes && ColumnsAreInOrder());

const Row& RowOf(Feature feature) { return kRows[static_cast<size_t>(feature)]; }

// Whether the scenario states a feature that the scope decides in this way. Made for each scope, so that an answer
// tests the rows of its scope alone, and calls none of them.
template <Coverage coverage, size_t scope>
bool StatesAny(const Scenario& scenario) {
  const auto any = [&scenario]<size_t... row>(std::index_sequence<row...>) {
    return ((kRows[row].cells.coverage[scope] == coverage && kRows[row].states(scenario)) || ...);
  };
  return any(std::make_index_sequence<kFeatures>());
}

using Test = bool (*)(const Scenario&);

template <Coverage coverage, size_t... scope>
consteval std::array<Test, kScopes> TestsOf(std::index_sequence<scope...>) {
  return {&StatesAny<coverage, scope>...};
}

template <Coverage coverage>
constexpr std::array<Test, kScopes> kStatesAny = TestsOf<coverage>(std::make_index_sequence<kScopes>());

const char* TextOf(const Row& row, Scope scope) {
  for (const CellText& cell : kTexts) {
    if (cell.feature == row.feature && cell.scope == scope) return cell.text;
  }
  const ScopeColumn& column = kColumns[static_cast<size_t>(scope)];
  const Coverage coverage = row.cells.coverage[static_cast<size_t>(scope)];
  if (coverage == Coverage::kRefused) return column.refusal;
  return coverage == Coverage::kIgnored ? column.ignored : "";
}

// A steady state beside a live load is the load's fault.
const char* FieldOf(const Row& row, Scope scope) {
  return TextOf(row, scope) == kSteadyStates ? "live_load" : row.field;
}

std::string MessageOf(const Row& row, Scope scope, std::string_view requested) {
  return absl::Substitute(TextOf(row, scope), row.field, absl::string_view(requested.data(), requested.size()));
}

// The number or name that a message repeats.
std::string Requested(const Scenario& scenario, Feature feature) {
  if (feature == Feature::kEngine) return scenario.deployment.engine;
  if (feature == Feature::kSeveralDevices) return absl::StrCat(scenario.deployment.devices());
  return feature == Feature::kSeveralSequences ? absl::StrCat(scenario.workload.batch_size) : "";
}

std::string MessageOf(const Row& row, Scope scope, const Scenario& scenario) {
  return MessageOf(row, scope, Requested(scenario, row.feature));
}

// The first stated feature that the scope refuses; null: none.
const Row* FirstRefused(const Scenario& scenario, Scope scope) {
  const size_t column = static_cast<size_t>(scope);
  if (!kStatesAny<Coverage::kRefused>[column](scenario)) return nullptr;
  for (const Row& row : kRows) {
    if (row.cells.coverage[column] == Coverage::kRefused && row.states(scenario)) return &row;
  }
  return nullptr;
}

}  // namespace

CoverageCell CellOf(Feature feature, Scope scope) {
  const Row& row = RowOf(feature);
  CoverageCell cell{
      .coverage = row.cells.coverage[static_cast<size_t>(scope)], .field = "", .message = MessageOf(row, scope, "...")};
  if (!cell.message.empty()) cell.field = FieldOf(row, scope);
  return cell;
}

std::string_view NameOf(Feature feature) { return RowOf(feature).name; }
std::string_view NameOf(Scope scope) { return kColumns[static_cast<size_t>(scope)].name; }

bool States(const Scenario& scenario, Feature feature) { return RowOf(feature).states(scenario); }

bool MeetsLiveLoad(const Scenario& scenario) {
  if (!scenario.live_load) return false;
  if (scenario.workload.batching == BatchingPolicy::kContinuous) return StatesPresent(*scenario.live_load);
  if (!IsIdle(*scenario.live_load)) return true;
  // An idle engine cuts a prompt into steps too. That shows where a pipeline works on several of them at once.
  return scenario.deployment.pipeline_parallel > 1 && Covers(scenario, Scope::kLiveLoad);
}

Scope PolicyOf(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  const bool continuous = w.batching == BatchingPolicy::kContinuous;
  if (scenario.disaggregation) {
    return continuous ? Scope::kDisaggregatedContinuous : Scope::kDisaggregatedBatches;
  }
  if (MeetsLiveLoad(scenario)) return Scope::kLiveLoad;
  if (continuous) return w.request_rate_per_second ? Scope::kOpenLoop : Scope::kClosedLoop;
  return w.batching == BatchingPolicy::kDynamic ? Scope::kDynamic : Scope::kStatic;
}

absl::Status CheckCovered(const Scenario& scenario, Scope scope) {
  const Row* refused = FirstRefused(scenario, scope);
  if (refused == nullptr) return absl::OkStatus();
  return Refusal(Reason::kNotModelled, FieldOf(*refused, scope), MessageOf(*refused, scope, scenario));
}

bool Covers(const Scenario& scenario, Scope scope) { return FirstRefused(scenario, scope) == nullptr; }

void WarnOfIgnored(const Scenario& scenario, Scope scope, FeatureGroup group, std::vector<Warning>& warnings) {
  const size_t column = static_cast<size_t>(scope);
  if (!kStatesAny<Coverage::kIgnored>[column](scenario)) return;
  for (const Row& row : kRows) {
    if (row.cells.coverage[column] != Coverage::kIgnored || row.group != group || !row.states(scenario)) continue;
    warnings.push_back({WarningCode::kNotUsed, MessageOf(row, scope, scenario), row.field});
  }
}

}  // namespace foretoken

#include "estimator/serving/coverage.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "estimator/base/errors.h"

namespace foretoken {
namespace {

constexpr size_t kScopes = static_cast<size_t>(Scope::kEnd);
constexpr size_t kFeatures = static_cast<size_t>(Feature::kEnd);

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

// A row as text, a letter for each scope: m modelled, r refused, i ignored, u unused, = as the operator model,
// - elsewhere. Blanks and bars are for the eye. Another number of letters, or another letter, does not compile.
struct Cells {
  std::array<Coverage, kScopes> coverage{};

  consteval Cells(const char* letters) {  // NOLINT(google-explicit-constructor): a row of the table reads as its cells
    size_t count = 0;
    for (; *letters != '\0'; ++letters) {
      if (*letters != ' ' && *letters != '|') coverage.at(count++) = CoverageOf(*letters);
    }
    if (count != kScopes) throw "a letter for each scope";
  }

  static consteval Coverage CoverageOf(char letter) {
    switch (letter) {
      case 'm':
        return Coverage::kModelled;
      case 'r':
        return Coverage::kRefused;
      case 'i':
        return Coverage::kIgnored;
      case 'u':
        return Coverage::kUnused;
      case '=':
        return Coverage::kAsOperatorModel;
      case '-':
        return Coverage::kElsewhere;
      default:
        throw "no such letter";
    }
  }
};

struct Row {
  Feature feature;
  FeatureGroup group;
  const char* name;
  const char* field;
  bool (*states)(const Scenario&);
  Cells cells;
};

bool HasWholePrompts(const Workload& w) { return w.keeps_kv_cache() && !w.prefills_on_arrival(); }

// Whether data-parallel replicas hold the experts together.
bool SharesExperts(const Scenario& s) {
  return s.model->mixture_of_experts && s.deployment.expert_parallel > 1 && s.deployment.data_parallel > 1;
}

bool ChoosesExchange(const Scenario& s) { return s.deployment.expert_exchange != ExpertExchange::kAllGather; }

constexpr FeatureGroup kLimits = FeatureGroup::kLimits;
constexpr FeatureGroup kInputs = FeatureGroup::kInputs;
constexpr FeatureGroup kAssumptions = FeatureGroup::kAssumptions;

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
    {Feature::kPrefixWithoutKvCache, Scope::kKpi, "without a KV cache the KPI method has no cached prefix"},
    {Feature::kWriteBackWithoutKvCache, Scope::kKpi, "without a KV cache the KPI method writes none back"},
    {Feature::kMixtureOfExperts, Scope::kLinearProfile, "the linear profile reads every expert at every step"},
    {Feature::kMixtureOfExperts, Scope::kKpi,
     "the KPI method reads one token's experts for all parallel prompt tokens"},
    {Feature::kSlidingWindow, Scope::kLinearProfile, "the linear profile reads the whole context in every layer"},
    {Feature::kSlidingWindow, Scope::kKpi, "the KPI method reads the whole context in every layer"},
};

// Columns: static, dynamic, closed loop, open loop, live load | disaggregated batches, continuous | speed of light,
// output row | linear profile, KPI.
constexpr Row kRows[] = {
    {Feature::kLiveLoad, kInputs, "a live load that is not idle", "live_load",
     [](const Scenario& s) { return s.live_load && !IsIdle(*s.live_load); }, "- - m m m | r r | = r | r r"},
    {Feature::kRequestRate, kInputs, "an arrival rate", "workload.request_rate_per_second",
     [](const Scenario& s) { return s.workload.request_rate_per_second.has_value(); }, "r m - m r | r m | = r | r r"},
    {Feature::kRequestRateOfPrefillBatches, kInputs, "an arrival rate of prompts that are prefilled together",
     "disaggregated_prefill.batch_size",
     [](const Scenario& s) {
       return s.workload.request_rate_per_second && s.disaggregation && s.disaggregation->batch_size > 1;
     },
     "- - - - - | - r | = - | - -"},
    {Feature::kDynamicBatching, kInputs, "dynamic batching", "workload.batching_policy",
     [](const Scenario& s) { return s.workload.batching == BatchingPolicy::kDynamic; }, "- m - - r | r - | = r | r r"},
    {Feature::kContinuousBatching, kInputs, "continuous batching", "workload.batching_policy",
     [](const Scenario& s) { return s.workload.batching == BatchingPolicy::kContinuous; },
     "- - m m m | - m | = r | r r"},
    {Feature::kOutputLengths, kInputs, "output lengths that differ", "workload.output_length_distribution",
     [](const Scenario& s) { return s.workload.output_lengths.has_value(); }, "m m m m r | r r | = r | r r"},
    {Feature::kSpeculation, kInputs, "speculative decoding with a KV cache", "speculative_decoding",
     [](const Scenario& s) { return s.speculation && HasWholePrompts(s.workload); }, "m m m m r | r r | = r | r r"},
    {Feature::kSpeculationWithoutKvCache, kInputs,
     "speculative decoding without a KV cache or with a pipelined prompt cache", "speculative_decoding",
     [](const Scenario& s) { return s.speculation && !HasWholePrompts(s.workload); }, "r r - - - | r r | = r | r r"},
    {Feature::kDisaggregation, kInputs, "disaggregated prefill", "disaggregated_prefill",
     [](const Scenario& s) { return s.disaggregation.has_value(); }, "- - - - - | m m | = r | r r"},
    {Feature::kTokenizer, kInputs, "tokenisation", "workload.tokenizer_tokens_per_second",
     [](const Scenario& s) { return s.workload.tokenizer_tokens_per_second.has_value(); },
     "m m m m m | m m | = = | r r"},
    {Feature::kNaiveAttention, kInputs, "naive attention", "deployment.attention_kernel",
     [](const Scenario& s) { return s.deployment.attention_kernel == AttentionKernel::kNaive; },
     "m m m m m | m m | m r | r r"},
    {Feature::kNoKvCache, kInputs, "no KV cache", "workload.kv_cache_mode",
     [](const Scenario& s) { return !s.workload.keeps_kv_cache(); }, "m m r r r | r r | = r | r m"},
    {Feature::kPipelinedPromptCache, kInputs, "pipelined prompt cache", "workload.kv_cache_mode",
     [](const Scenario& s) { return s.workload.prefills_on_arrival(); }, "m m r r r | r r | = = | r m"},
    {Feature::kPrefixLoad, kInputs, "a cached prefix that is loaded", "workload.prefix_load_bytes_per_second",
     [](const Scenario& s) { return s.workload.prefix_load.has_value(); }, "m m m m m | m m | = = | r m"},
    {Feature::kTransferredKvDtype, kInputs, "KV cache dtypes that differ between the pools",
     "disaggregated_prefill.deployment.kv_cache_dtype",
     [](const Scenario& s) {
       return s.disaggregation && s.disaggregation->deployment.kv_cache_dtype != s.deployment.kv_cache_dtype;
     },
     "- - - - - | r r | = - | - -"},
    {Feature::kNoPrompt, kInputs, "no prompt", "workload.prompt_tokens",
     [](const Scenario& s) { return s.workload.prompt_tokens == 0; }, "m m m m m | r r | = = | m m"},
    {Feature::kSeveralDevices, kInputs, "several devices", "deployment.tensor_parallel",
     [](const Scenario& s) { return s.deployment.devices() != 1; }, "m m m m m | m m | = = | m r"},
    {Feature::kSeveralSequences, kInputs, "several sequences", "workload.batch_size",
     [](const Scenario& s) { return s.workload.batch_size != 1; }, "m m m u m | m m | = = | m r"},
    {Feature::kStepTokenLimit, kLimits, "the engine's limit of tokens per step", "live_load.max_num_batched_tokens",
     [](const Scenario& s) { return s.live_load && s.live_load->max_num_batched_tokens; },
     "- - i i m | - - | = - | - -"},
    {Feature::kUnfusedElementwise, kInputs, "elementwise operators that are not fused",
     "deployment.unfused_elementwise", [](const Scenario& s) { return s.deployment.unfused_elementwise; },
     "m m m m m | m m | u = | i i"},
    {Feature::kRooflineExponent, kInputs, "a roofline exponent", "deployment.roofline_exponent",
     [](const Scenario& s) { return s.deployment.roofline_exponent != Deployment().roofline_exponent; },
     "m m m m m | m m | u = | i i"},
    {Feature::kExpertExchange, kInputs, "EP dispatch and combine other than by default", "deployment.expert_exchange",
     [](const Scenario& s) { return ChoosesExchange(s); }, "m m m m m | m m | u = | i i"},
    {Feature::kScaleOut, kInputs, "bandwidth between nodes", "deployment.scale_out_bytes_per_second",
     [](const Scenario& s) { return s.deployment.scale_out.has_value(); }, "m m m m m | m m | u = | i i"},
    {Feature::kDevicesPerNode, kInputs, "devices per node", "deployment.devices_per_node",
     [](const Scenario& s) { return s.deployment.devices_per_node.has_value(); }, "m m m m m | m m | u = | i i"},
    {Feature::kKvCacheWrittenBack, kInputs, "a KV cache that is written back", "workload.kv_cache_written_back",
     [](const Scenario& s) { return s.workload.kv_cache_written_back; }, "i i i i i | i i | = = | u m"},
    {Feature::kBatchingWindow, kInputs, "a batching window", "workload.batching_window_seconds",
     [](const Scenario& s) { return s.workload.batching_window.has_value(); }, "i m i i i | i i | = = | i i"},
    {Feature::kPromptArrival, kInputs, "a rate of prompt tokens without the pipelined prompt cache",
     "workload.prompt_arrival_tokens_per_second",
     [](const Scenario& s) { return s.workload.prompt_arrival_tokens_per_second && !s.workload.prefills_on_arrival(); },
     "i i i i i | i i | = = | i i"},
    {Feature::kPrefillChunk, kInputs, "prefill chunks without the pipelined prompt cache",
     "deployment.prefill_chunk_tokens",
     [](const Scenario& s) { return s.deployment.prefill_chunk_tokens && !s.workload.prefills_on_arrival(); },
     "m m m m m | m m | = = | i i"},
    {Feature::kExpertParallelOfDenseModel, kInputs, "expert parallelism of a dense model", "deployment.expert_parallel",
     [](const Scenario& s) { return s.deployment.expert_parallel > 1 && !s.model->mixture_of_experts; },
     "i i i i i | i i | = = | u -"},
    {Feature::kExpertExchangeUnshared, kInputs,
     "EP dispatch and combine other than by default where no replicas share experts", "deployment.expert_exchange",
     [](const Scenario& s) { return ChoosesExchange(s) && !SharesExperts(s); }, "i i i i i | i i | = = | - -"},
    {Feature::kExpertLoadImbalance, kInputs, "an expert load imbalance", "deployment.expert_load_imbalance",
     [](const Scenario& s) { return s.deployment.expert_load_imbalance != Deployment().expert_load_imbalance; },
     "m m m m m | m m | u = | u -"},
    {Feature::kExpertRouting, kInputs, "identical prompts that choose the same experts", "workload.expert_routing",
     [](const Scenario& s) { return s.workload.expert_routing != Workload().expert_routing; },
     "m m m m m | m m | u = | u u"},
    {Feature::kEngine, kInputs, "an engine", "deployment.engine",
     [](const Scenario& s) { return !s.deployment.engine.empty(); }, "m m m m m | m m | u = | m u"},
    {Feature::kSequentialBatches, kInputs, "sequential batches of what does not fit", "workload.capacity_policy",
     [](const Scenario& s) { return s.workload.capacity_policy == CapacityPolicy::kWaves; },
     "m u u u u | u u | = u | u u"},
    {Feature::kKpiShares, kInputs, "parallel prompt tokens and a compute utilisation", "workload.compute_utilization",
     [](const Scenario& s) {
       return s.workload.parallel_prompt_tokens != Workload().parallel_prompt_tokens ||
              s.workload.compute_utilization != Workload().compute_utilization;
     },
     "u u u u u | u u | = = | u m"},
    {Feature::kPrice, kInputs, "a price", "deployment.price_per_device_hour",
     [](const Scenario& s) { return s.deployment.price_per_device_hour.has_value(); }, "m m m m u | m m | = = | m m"},
    {Feature::kPrefixWithoutKvCache, kAssumptions, "a cached prefix without a KV cache",
     "workload.cached_prefix_tokens",
     [](const Scenario& s) { return !s.workload.keeps_kv_cache() && s.workload.cached_prefix_tokens > 0; },
     "- - - - - | - - | - - | - i"},
    {Feature::kWriteBackWithoutKvCache, kAssumptions, "a KV cache that is written back without a KV cache",
     "workload.kv_cache_written_back",
     [](const Scenario& s) { return !s.workload.keeps_kv_cache() && s.workload.kv_cache_written_back; },
     "- - - - - | - - | - - | - i"},
    {Feature::kMixtureOfExperts, kAssumptions, "a mixture of experts", "model_spec.mixture_of_experts",
     [](const Scenario& s) { return s.model->mixture_of_experts.has_value(); }, "m m m m m | m m | = = | i i"},
    {Feature::kSlidingWindow, kAssumptions, "a sliding window", "model_spec.sliding_window",
     [](const Scenario& s) { return s.model->sliding_window.has_value(); }, "m m m m m | m m | = = | i i"},
};

// A feature without a row, or a scope without a column, does not compile.
consteval bool RowsAreInOrder() {
  for (size_t i = 0; i < kFeatures; ++i) {
    if (kRows[i].feature != static_cast<Feature>(i) || kRows[i].states == nullptr) return false;
  }
  return true;
}
consteval bool ColumnsAreInOrder() {
  for (size_t i = 0; i < kScopes; ++i) {
    if (kColumns[i].scope != static_cast<Scope>(i)) return false;
  }
  return true;
}
static_assert(std::size(kRows) == kFeatures && RowsAreInOrder());
static_assert(std::size(kColumns) == kScopes && ColumnsAreInOrder());

const Row& RowOf(Feature feature) { return kRows[static_cast<size_t>(feature)]; }

// Rows that one scope decides in one way, so that an answer asks no others.
struct RowList {
  std::array<Feature, kFeatures> rows{};
  size_t count = 0;

  const Feature* begin() const { return rows.data(); }
  const Feature* end() const { return rows.data() + count; }
};
using ListPerScope = std::array<RowList, kScopes>;

consteval ListPerScope RowsThatAre(Coverage coverage, bool (*takes)(const Row&)) {
  ListPerScope lists{};
  for (const Row& row : kRows) {
    for (size_t scope = 0; scope < kScopes; ++scope) {
      if (takes(row) && row.cells.coverage[scope] == coverage) lists[scope].rows[lists[scope].count++] = row.feature;
    }
  }
  return lists;
}

constexpr ListPerScope kRefused = RowsThatAre(Coverage::kRefused, [](const Row&) { return true; });

template <FeatureGroup group>
constexpr ListPerScope kIgnored = RowsThatAre(Coverage::kIgnored, [](const Row& row) { return row.group == group; });

const RowList& IgnoredRows(Scope scope, FeatureGroup group) {
  const size_t column = static_cast<size_t>(scope);
  if (group == kInputs) return kIgnored<kInputs>[column];
  return group == kLimits ? kIgnored<kLimits>[column] : kIgnored<kAssumptions>[column];
}

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

// The number that a message repeats.
std::string Requested(const Scenario& scenario, Feature feature) {
  if (feature == Feature::kSeveralDevices) return absl::StrCat(scenario.deployment.devices());
  return feature == Feature::kSeveralSequences ? absl::StrCat(scenario.workload.batch_size) : "";
}

std::string MessageOf(const Row& row, Scope scope, const Scenario& scenario) {
  return MessageOf(row, scope, Requested(scenario, row.feature));
}

// The first stated feature that the scope refuses; null: none.
const Row* FirstRefused(const Scenario& scenario, Scope scope) {
  for (const Feature feature : kRefused[static_cast<size_t>(scope)]) {
    if (States(scenario, feature)) return &RowOf(feature);
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
  for (const Feature feature : IgnoredRows(scope, group)) {
    const Row& row = RowOf(feature);
    if (!row.states(scenario)) continue;
    warnings.push_back({WarningCode::kNotUsed, MessageOf(row, scope, scenario), row.field});
  }
}

}  // namespace foretoken

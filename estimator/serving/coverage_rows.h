// The rows of the coverage table: what a scenario may state, and which method and batching policy covers it. The one
// place for a new feature: a value of Feature, and its row in the same order. coverage.h asks the table.
#ifndef FORETOKEN_ESTIMATOR_SERVING_COVERAGE_ROWS_H_
#define FORETOKEN_ESTIMATOR_SERVING_COVERAGE_ROWS_H_

#include <array>
#include <cstddef>

#include "estimator/scenario/scenario.h"
#include "estimator/serving/coverage.h"

namespace foretoken {

enum class Feature : int {
  kLiveLoad,
  kRequestRate,
  kRequestRateOfPrefillBatches,
  kDynamicBatching,
  kContinuousBatching,
  kOutputLengths,
  kSpeculation,
  kSpeculationWithoutKvCache,
  kDisaggregation,
  kTokenizer,
  kNaiveAttention,
  kNoKvCache,
  kPipelinedPromptCache,
  kPrefixLoad,
  kTransferredKvDtype,
  kNoPrompt,
  kSeveralDevices,
  kSeveralSequences,
  kStepTokenLimit,
  kUnfusedElementwise,
  kRooflineExponent,
  kExpertExchange,
  kScaleOut,
  kDevicesPerNode,
  kKvCacheWrittenBack,
  kBatchingWindow,
  kPromptSpread,
  kOutputSpread,
  kRequestsOfRun,
  kScheduler,
  kSlotLimit,
  kPromptArrival,
  kPrefillChunk,
  kPassesInFlight,
  kExpertParallelOfDenseModel,
  kExpertExchangeUnshared,
  kExpertLoadImbalance,
  kExpertRouting,
  kEngine,
  kSequentialBatches,
  kKpiShares,
  kPrice,
  kPrefixWithoutKvCache,
  kWriteBackWithoutKvCache,
  kMixtureOfExperts,
  kSlidingWindow,
  kRecurrence,
  kSparseAttention,
  kEnd,
};

namespace coverage_rows {

inline constexpr size_t kScopes = static_cast<size_t>(Scope::kEnd);
inline constexpr size_t kFeatures = static_cast<size_t>(Feature::kEnd);

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

inline bool HasWholePrompts(const Workload& w) { return w.keeps_kv_cache() && !w.prefills_on_arrival(); }

// Whether data-parallel replicas hold the experts together.
inline bool SharesExperts(const Scenario& s) {
  return s.model->mixture_of_experts && s.deployment.expert_parallel > 1 && s.deployment.data_parallel > 1;
}

inline bool ChoosesExchange(const Scenario& s) { return s.deployment.expert_exchange != ExpertExchange::kAllGather; }

inline constexpr FeatureGroup kLimits = FeatureGroup::kLimits;
inline constexpr FeatureGroup kInputs = FeatureGroup::kInputs;
inline constexpr FeatureGroup kAssumptions = FeatureGroup::kAssumptions;

// Columns: static, dynamic, closed loop, open loop, live load | disaggregated batches, continuous | speed of light,
// output row | linear profile, KPI.
inline constexpr Row kRows[] = {
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
    {Feature::kPromptSpread, kInputs, "prompts of many lengths", "workload.prompt_spread_tokens",
     [](const Scenario& s) { return s.workload.prompt_spread_tokens > 0; }, "i i u i i | i i | = = | i i"},
    {Feature::kOutputSpread, kInputs, "outputs of uniform lengths", "workload.output_spread_tokens",
     [](const Scenario& s) { return s.workload.output_spread_tokens > 0; }, "i i m i i | i i | = = | i i"},
    {Feature::kRequestsOfRun, kInputs, "a run of so many requests", "workload.closed_loop_requests",
     [](const Scenario& s) { return s.workload.closed_loop_requests.has_value(); }, "i i m i i | i i | = = | i i"},
    {Feature::kScheduler, kInputs, "an order of prompts and decodes", "deployment.scheduler",
     [](const Scenario& s) { return s.deployment.scheduler.has_value(); }, "i i m i i | i i | = = | i i"},
    {Feature::kSlotLimit, kInputs, "the engine's limit of sequences", "deployment.max_num_seqs",
     [](const Scenario& s) { return s.deployment.max_num_seqs.has_value(); }, "i i m m i | i i | = = | i i"},
    {Feature::kPromptArrival, kInputs, "a rate of prompt tokens without the pipelined prompt cache",
     "workload.prompt_arrival_tokens_per_second",
     [](const Scenario& s) { return s.workload.prompt_arrival_tokens_per_second && !s.workload.prefills_on_arrival(); },
     "i i i i i | i i | = = | i i"},
    {Feature::kPrefillChunk, kInputs, "prefill chunks without the pipelined prompt cache",
     "deployment.prefill_chunk_tokens",
     [](const Scenario& s) { return s.deployment.prefill_chunk_tokens && !s.workload.prefills_on_arrival(); },
     "m m m m m | m m | = = | i i"},
    {Feature::kPassesInFlight, kInputs, "passes of a prefill in flight", "deployment.prefill_passes_in_flight",
     [](const Scenario& s) { return s.deployment.prefill_passes_in_flight.has_value(); },
     "m m m m m | m m | u = | i i"},
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
     [](const Scenario& s) { return !s.deployment.engine.empty(); }, "m m m m m | m m | i = | m i"},
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
    {Feature::kRecurrence, kAssumptions, "recurrent layers", "model_spec.linear_attention",
     [](const Scenario& s) { return s.model->linear_attention.has_value(); }, "m m m m m | m m | = = | i m"},
    {Feature::kSparseAttention, kAssumptions, "sparse attention", "model_spec.sparse_attention",
     [](const Scenario& s) { return s.model->sparse_attention.has_value(); }, "m m m m m | m m | = = | i i"},
};

// A feature without a row does not compile. Nor does a row that leaves out `states`, because its cells are no function.
consteval bool RowsAreInOrder() {
  for (size_t i = 0; i < kFeatures; ++i) {
    if (kRows[i].feature != static_cast<Feature>(i)) return false;
  }
  return true;
}
static_assert(std::size(kRows) == kFeatures && RowsAreInOrder());

}  // namespace coverage_rows
}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_COVERAGE_ROWS_H_

// The input of every estimate: which model, on which hardware, deployed how, under which load. Every field is valid and
// every default resolved, so that functions of a scenario need not check it. Mirrors foretoken.v1.Scenario; server/rpc
// converts and validates.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/base/dtype.h"
#include "estimator/base/units.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/model.h"

namespace foretoken {

enum class Method { kBestAvailable, kOperatorModel, kSpeedOfLight, kLinearProfile, kKpi };
enum class BatchingPolicy { kStatic, kDynamic, kContinuous };
enum class KvCacheMode { kCached, kNone, kPromptCache, kPipelinedPromptCache };
enum class CapacityPolicy { kRefuse, kWaves };
enum class AttentionKernel { kFlash, kNaive };
enum class ExpertExchange { kAllGather, kAllToAll };
enum class ExpertRouting { kIndependent, kIdenticalPrompts };

// How an engine that batches continuously fills a step with prompts and decodes.
enum class SchedulerPolicy {
  kMixed,         // vLLM V1: running decodes first, then prompts, cut to the token budget
  kPrefillFirst,  // SGLang: waiting prompts run in steps of their own, while decodes stop
  kInFlight,      // TensorRT-LLM: as kMixed, with whole prompts; memory for the whole request before it begins
};

// How the model is split over devices. A draft model with the parallelism of its target copies all of it.
struct Parallelism {
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int expert_parallel = 1;
  int data_parallel = 1;
  double expert_load_imbalance = 1;  // tokens of the busiest expert-parallel device over their mean
  ExpertExchange expert_exchange = ExpertExchange::kAllGather;

  int devices() const { return tensor_parallel * pipeline_parallel * data_parallel; }
  // Sequences on the busiest replica when `batch` is spread over all replicas.
  double PerReplica(double batch) const { return std::ceil(batch / data_parallel); }

  bool operator==(const Parallelism&) const = default;
};

// Everything of a deployment that the time of a step depends on. The step room sees nothing else of a deployment, so
// that step models can be cached by their placement.
struct Placement : Parallelism {
  Dtype weight_dtype = Dtype::kUnspecified;      // resolve with ResolveDtypes
  Dtype activation_dtype = Dtype::kUnspecified;  // likewise
  Dtype kv_cache_dtype = Dtype::kUnspecified;    // likewise
  std::optional<int> devices_per_node;           // absent: the hardware's
  std::optional<BytesPerSecond> scale_out;       // between nodes; absent: the hardware's
  AttentionKernel attention_kernel = AttentionKernel::kFlash;
  bool unfused_elementwise = false;
  double roofline_exponent = 2;

  bool operator==(const Placement&) const = default;
};

// A placement, and how the engine runs it.
struct Deployment : Placement {
  std::string engine;
  std::optional<int> prefill_chunk_tokens;
  std::optional<int> prefill_passes_in_flight;  // that pipeline stages work on at once; absent: as the engine does
  std::optional<int> max_num_seqs;              // sequences that a replica runs at most; absent: as memory allows
  std::optional<SchedulerPolicy> scheduler;     // resolve with SchedulerOf
  double memory_utilization = 0.9;
  std::optional<double> price_per_device_hour;  // in any currency

  bool operator==(const Deployment&) const = default;
};

// Fills unspecified dtypes:
//   weights      the model's native dtype; bf16 where that is fp32
//   activations  the weight dtype where engines compute in it (fp32, bf16, fp16, fp8; fp8 for fp8_block), else bf16
//   KV cache     the activation dtype; bf16 where that has 8.5 bits or fewer
void ResolveDtypes(const Model& model, Placement& placement);

// Prompt tokens that engines prefill in one step by default: vLLM's max_num_batched_tokens, SGLang's
// chunked_prefill_size, TensorRT-LLM's max_num_tokens.
inline constexpr int kStepTokens = 8192;

// Tokens of a prompt that llama.cpp computes at once by default: n_ubatch of llama-server and llama-bench.
inline constexpr int kLlamaCppUbatch = 512;

// Whether the engine, "name@version" or "name", is llama.cpp.
bool IsLlamaCpp(std::string_view engine);

// How the deployment fills a step with prompts and decodes: as stated, else as its engine is known to do, else kMixed.
SchedulerPolicy SchedulerOf(const Deployment& deployment);

// Speculative decoding: a small draft model proposes tokens, and one step of the scenario's model verifies them.
struct Speculation {
  const Model* draft = nullptr;  // owned as the scenario's model is
  Deployment deployment;         // of the draft model, with resolved dtypes
  bool follows = true;           // the draft model runs with the scenario's parallelism, also where a search varies it
  int draft_tokens = 0;          // that one speculative step proposes; 0: no speculation
  double acceptance = 0;         // 0 to 1: chance that a proposed token is accepted if all before it were
};

// Prompts are prefilled on a pool of replicas of its own, the prefill pool. It sends their KV cache to the scenario's
// deployment, the decode pool.
struct Disaggregation {
  const Hardware* hardware = nullptr;  // of the prefill pool; owned as the scenario's is
  Deployment deployment;               // likewise, with resolved dtypes
  bool follows = true;                 // it is the scenario's deployment, also where a search varies that
  int batch_size = 1;                  // prompts that a prefill replica takes together
  int prefill_replicas = 1;
  int decode_replicas = 1;
  std::optional<BytesPerSecond> transfer;  // from one replica to another; absent: from the network of both sides
  std::optional<Seconds> transfer_latency;
  bool layerwise_transfer = false;  // each layer's KV is sent as soon as it is computed
};

struct OutputLengthDistribution {
  struct Quantile {
    double probability = 0;
    double tokens = 0;
  };
  double mean_tokens = 0;
  std::optional<double> max_tokens;
  std::vector<Quantile> quantiles;
};

struct Workload {
  int batch_size = 1;
  int prompt_tokens = 0;
  int output_tokens = 1;
  int cached_prefix_tokens = 0;
  std::optional<BytesPerSecond> prefix_load;
  std::optional<OutputLengthDistribution> output_lengths;
  BatchingPolicy batching = BatchingPolicy::kStatic;
  KvCacheMode kv_cache_mode = KvCacheMode::kCached;
  std::optional<double> prompt_arrival_tokens_per_second;
  std::optional<double> request_rate_per_second;
  // Lengths are independent and uniform within their mean, prompt_tokens or output_tokens, and this many tokens around.
  int prompt_spread_tokens = 0;
  int output_spread_tokens = 0;
  // Requests of a run at constant concurrency, which offers batch_size of them at its start; absent: steady state.
  std::optional<int> closed_loop_requests;
  std::optional<Seconds> batching_window;
  CapacityPolicy capacity_policy = CapacityPolicy::kRefuse;
  ExpertRouting expert_routing = ExpertRouting::kIndependent;
  std::optional<double> tokenizer_tokens_per_second;
  int parallel_prompt_tokens = 128;
  double compute_utilization = 0.25;
  bool kv_cache_written_back = false;  // all of it, with each output token

  // Prompt tokens to prefill: without the cached prefix.
  int fresh_tokens() const { return prompt_tokens - cached_prefix_tokens; }
  // Whether decode steps read the keys and values of earlier tokens from a cache, and do not compute them again.
  bool keeps_kv_cache() const { return kv_cache_mode != KvCacheMode::kNone; }
  // Whether the prompt is prefilled while it arrives.
  bool prefills_on_arrival() const { return kv_cache_mode == KvCacheMode::kPipelinedPromptCache; }
  // Context halfway through the output: the mean of a sequence that decodes.
  double mean_context() const { return prompt_tokens + output_tokens / 2.0; }
};

// vLLM's default KV block.
inline constexpr int kBlockTokens = 16;

struct LiveLoad {
  std::optional<int> running_sequences;
  std::optional<double> running_context_tokens;
  std::optional<double> remaining_output_tokens;
  double least_remaining_output_tokens = 0;
  std::vector<double> remaining_each;  // of the running sequences, shortest first; empty: only the mean is known
  std::optional<int> waiting_requests;
  std::optional<double> queued_prefill_tokens;
  std::optional<double> in_flight_prefill_tokens;
  std::optional<double> free_kv_tokens;
  std::optional<double> kv_cache_usage;  // share
  std::optional<int> max_num_seqs;
  std::optional<int> max_num_batched_tokens;
  int kv_block_tokens = kBlockTokens;
};

// Whether the load states any request or free memory, and not the engine's limits alone.
bool StatesPresent(const LiveLoad& load);

// Whether the replica is idle and without limits, so that a request runs as if alone.
bool IsIdle(const LiveLoad& load);

enum class DecideBy { kPoint, kBand };

// What a percentile over requests is of, and which.
enum class ServedTime { kTtft, kTpot, kItl, kE2e };
enum class Percentile { kP50, kP90, kP95, kP99 };
inline constexpr size_t kServedTimes = 4;
inline constexpr size_t kPercentiles = 4;

// A percentile that is bounded, and its bound.
struct PercentileBound {
  ServedTime time = ServedTime::kTtft;
  Percentile percentile = Percentile::kP50;
  Seconds allowed;
};

struct Slo {
  std::optional<Seconds> max_ttft;
  std::optional<Seconds> max_tpot;
  std::optional<Seconds> max_e2e;
  DecideBy decide_by = DecideBy::kPoint;
  std::vector<PercentileBound> percentiles;  // each at most once
  std::optional<int> simulated_steps;        // that finding percentiles may take; absent: none are found
};
inline constexpr int kMostSimulatedSteps = 1'000'000;  // of an estimate

struct Calibration;

// The model, hardware and calibration are owned by the caller's snapshot and outlive the scenario.
struct Scenario {
  const Model* model = nullptr;
  const Hardware* hardware = nullptr;
  const Calibration* calibration = nullptr;  // null: the generic prior
  Deployment deployment;
  Workload workload;
  std::optional<LiveLoad> live_load;
  std::optional<Slo> slo;
  std::optional<Speculation> speculation;
  std::optional<Disaggregation> disaggregation;
  Method method = Method::kBestAvailable;
};

// Whether an estimate of the scenario has percentiles.
inline bool FindsPercentiles(const Scenario& scenario) { return scenario.slo && scenario.slo->simulated_steps; }

// Tokens of each prompt that one step prefills: the deployment's chunk, by default kStepTokens under continuous
// batching, and kLlamaCppUbatch in a batch of llama.cpp. Absent: the whole prompt.
std::optional<int> ChunkTokens(const Workload& workload, const Deployment& deployment);

// Prompts of the workload that one step of continuous batching prefills at most, the last one in part; 1 where a prompt
// is longer than a step, because it then takes several.
double PromptsThatFit(const Workload& workload, const Deployment& deployment);

// Whether continuous batching serves the scenario: requests join and leave a running batch. Under a live load it always
// does. Continuous batching has calibrations and a prior of its own.
inline bool IsContinuous(const Scenario& scenario) {
  return scenario.workload.batching == BatchingPolicy::kContinuous || scenario.live_load.has_value();
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_

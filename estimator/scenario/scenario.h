// One question to the core model, already parsed: every field is valid and every default resolved, so that past this
// point functions are total. Mirrors foretoken.v1.Scenario; server/rpc converts and validates.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_

#include <cmath>
#include <optional>
#include <string>
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

struct Deployment {
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int expert_parallel = 1;
  int data_parallel = 1;
  double expert_load_imbalance = 1;  // tokens of the busiest expert-parallel device over their mean
  ExpertExchange expert_exchange = ExpertExchange::kAllGather;
  Dtype weight_dtype = Dtype::kUnspecified;      // resolve with ResolveDtypes
  Dtype activation_dtype = Dtype::kUnspecified;  // likewise
  Dtype kv_cache_dtype = Dtype::kUnspecified;    // likewise
  std::string engine;
  std::optional<int> prefill_chunk_tokens;
  double memory_utilization = 0.9;
  std::optional<int> devices_per_node;
  std::optional<BytesPerSecond> scale_out;
  AttentionKernel attention_kernel = AttentionKernel::kFlash;
  bool unfused_elementwise = false;
  double roofline_exponent = 2;
  std::optional<double> price_per_device_hour;  // in any currency

  int devices() const { return tensor_parallel * pipeline_parallel * data_parallel; }
  // Sequences on the busiest replica, of `batch` over all of them.
  double PerReplica(double batch) const { return std::ceil(batch / data_parallel); }
};

// Fills unspecified dtypes: weights in the model's native dtype, bf16 where that is fp32; activations in the weight
// dtype where engines compute in it (fp32, bf16, fp16, fp8; fp8 for fp8_block), else bf16; KV cache in the activation
// dtype, or bf16 where that has 8.5 bits or fewer.
void ResolveDtypes(const Model& model, Deployment& deployment);

// Tokens of prompts that engines take into one step by default: vLLM's max_num_batched_tokens, SGLang's
// chunked_prefill_size, TensorRT-LLM's max_num_tokens.
inline constexpr int kStepTokens = 8192;

// A small model that proposes tokens for the scenario's model to verify.
struct Speculation {
  const Model* draft = nullptr;  // owned as the scenario's model is
  Deployment deployment;         // of the draft, with resolved dtypes
  bool follows = true;           // its degrees of parallelism are the scenario's, whatever those become
  int draft_tokens = 0;          // g, of one round; 0: no speculation
  double acceptance = 0;         // x, 0 to 1: each drafted token is accepted so often if those before it were
};

// Prompts are prefilled elsewhere: on a pool of replicas of its own, which sends their KV cache to the scenario's
// deployment, the decode side.
struct Disaggregation {
  const Hardware* hardware = nullptr;  // of the prefill side; owned as the scenario's is
  Deployment deployment;               // likewise, with resolved dtypes
  bool follows = true;                 // it is the scenario's, whose tensor parallelism may be varied
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
  std::optional<Seconds> batching_window;
  CapacityPolicy capacity_policy = CapacityPolicy::kRefuse;
  ExpertRouting expert_routing = ExpertRouting::kIndependent;
  std::optional<double> tokenizer_tokens_per_second;
  int parallel_prompt_tokens = 128;
  double compute_utilization = 0.25;
  bool kv_cache_written_back = false;  // all of it, with each output token

  // Prompt tokens to prefill: those that are not cached.
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
  std::optional<int> waiting_requests;
  std::optional<double> queued_prefill_tokens;
  std::optional<double> in_flight_prefill_tokens;
  std::optional<double> free_kv_tokens;
  std::optional<int> max_num_seqs;
  std::optional<int> max_num_batched_tokens;
  int kv_block_tokens = kBlockTokens;
};

// Whether the load says more than the engine's limits.
bool StatesPresent(const LiveLoad& load);

// Whether nothing runs, waits or is limited: a replica that a request would have to itself.
bool IsIdle(const LiveLoad& load);

struct Slo {
  std::optional<Seconds> max_ttft;
  std::optional<Seconds> max_tpot;
  std::optional<Seconds> max_e2e;
};

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

// Tokens of each prompt that a step takes: the deployment's chunk; where it states none, under continuous batching
// kStepTokens. Absent: the whole prompt.
std::optional<int> ChunkTokens(const Workload& workload, const Deployment& deployment);

// Prompts of the workload that a step of continuous batching takes at most: one in part, one at least in chunks.
double PromptsThatFit(const Workload& workload, const Deployment& deployment);

// Whether requests join and leave a running batch; a replica under live load does nothing else. Such engines have
// calibrations and a prior of their own.
inline bool IsContinuous(const Scenario& scenario) {
  return scenario.workload.batching == BatchingPolicy::kContinuous || scenario.live_load.has_value();
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_SCENARIO_H_

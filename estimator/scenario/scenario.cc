#include "estimator/scenario/scenario.h"

#include <algorithm>

#include "estimator/scenario/engine_version.h"

namespace foretoken {
namespace {

Dtype DefaultActivation(Dtype weight) {
  switch (weight) {
    case Dtype::kFp32:
    case Dtype::kBf16:
    case Dtype::kFp16:
    case Dtype::kFp8:
      return weight;
    case Dtype::kFp8Block:
      return Dtype::kFp8;  // only weights are scaled per block; activations are scaled per group of a row
    default:
      return Dtype::kBf16;
  }
}

}  // namespace

void ResolveDtypes(const Model& model, Placement& placement) {
  Dtype& weight = placement.weight_dtype;
  Dtype& activation = placement.activation_dtype;
  Dtype& kv = placement.kv_cache_dtype;
  // Engines serve models that were published in fp32 in 16 bits.
  if (weight == Dtype::kUnspecified) weight = model.native_dtype == Dtype::kFp32 ? Dtype::kBf16 : model.native_dtype;
  if (activation == Dtype::kUnspecified) activation = DefaultActivation(weight);
  if (kv == Dtype::kUnspecified) kv = BytesPerElement(activation) > Bytes(1.5) ? activation : Dtype::kBf16;
}

bool IsLlamaCpp(std::string_view engine) { return EngineName(engine) == "llama.cpp"; }

SchedulerPolicy SchedulerOf(const Deployment& deployment) {
  if (deployment.scheduler) return *deployment.scheduler;
  // SGLang asks for prompts before each step, and decodes where there are none, unless enable_mixed_chunk is set
  // (get_next_batch_to_run of python/sglang/srt/managers/scheduler.py, sgl-project/sglang).
  const std::string_view engine = EngineName(deployment.engine);
  if (engine == "sglang") return SchedulerPolicy::kPrefillFirst;
  // TensorRT-LLM adds whole prompts, unless enable_chunked_prefill is set (TorchLlmArgs of tensorrt_llm/llmapi).
  return engine == "tensorrt-llm" ? SchedulerPolicy::kInFlight : SchedulerPolicy::kMixed;
}

std::optional<int> ChunkTokens(const Workload& workload, const Deployment& deployment) {
  if (deployment.prefill_chunk_tokens) return deployment.prefill_chunk_tokens;
  if (workload.batching == BatchingPolicy::kContinuous) return kStepTokens;
  if (IsLlamaCpp(deployment.engine)) return kLlamaCppUbatch;
  return std::nullopt;
}

double PromptsThatFit(const Workload& workload, const Deployment& deployment) {
  const double tokens = std::max(1, workload.fresh_tokens());
  return std::max(1.0, ChunkTokens(workload, deployment).value_or(kStepTokens) / tokens);
}

bool StatesPresent(const LiveLoad& load) {
  return load.running_sequences || load.running_context_tokens || load.remaining_output_tokens ||
         load.waiting_requests || load.queued_prefill_tokens || load.in_flight_prefill_tokens || load.free_kv_tokens ||
         load.kv_cache_usage;
}

bool IsIdle(const LiveLoad& load) {
  const bool nothing_runs = load.running_sequences.value_or(0) == 0 && load.waiting_requests.value_or(0) == 0 &&
                            load.queued_prefill_tokens.value_or(0) == 0 &&
                            load.in_flight_prefill_tokens.value_or(0) == 0;
  return nothing_runs && !load.free_kv_tokens && !load.kv_cache_usage && !load.max_num_seqs && !load.max_num_batched_tokens;
}

}  // namespace foretoken

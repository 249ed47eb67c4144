// What the simulated engine does: the spec with every default filled in.
//
// Defaults and their sources:
//   vLLM, and engines without a row     max_num_batched_tokens 8192 and max_num_seqs 1024 on devices of 70 GiB and more
//                                       but the A100, else 2048 and 256; blocks of 16 tokens
//                                       (vllm/engine/arg_utils.py, get_batch_defaults, of the API server;
//                                       config/cache.py)
//   SGLang                              chunked_prefill_size 8192, below 25,000 MB 2048 (srt/server_args.py); blocks of
//                                       1 token (page_size); as many sequences as memory holds, up to 4096
//   TensorRT-LLM                        max_num_tokens 8192, max_batch_size 2048 (llmapi, BuildConfig); blocks of 32
//                                       tokens; GUARANTEED_NO_EVICT; prompts whole (enable_chunked_prefill false)
// The deployment's scheduler, max_num_seqs and prefill_chunk_tokens come before these, the limits of a live load before
// the deployment's, the spec before all.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_SETTINGS_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_SETTINGS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "estimator/phases/capacity.h"
#include "estimator/scenario/scenario.h"
#include "estimator/simulation/spec.h"
#include "estimator/step/step.h"

namespace foretoken {

struct EngineSettings {
  SchedulerPolicy policy = SchedulerPolicy::kMixed;
  bool prompts_alone = false;   // steps of prompts hold no decodes
  bool cuts_prompts = true;     // to the token budget; else only prompts that are longer than all of it
  bool reserves_whole = false;  // KV cache for prompt and output before a request begins
  int64_t step_tokens = 8192;   // the token budget
  int64_t max_sequences = 1;    // at once
  int block_tokens = 16;
  int64_t kv_tokens = 0;  // of a replica
};

// Concurrency of the closed loop on one replica; 0: there is none.
int64_t LoopOf(const Scenario& scenario, const SimulationSpec& spec);

// The lengths of the spec, else the workload's.
Lengths PromptsOf(const Scenario& scenario, const SimulationSpec& spec);
Lengths OutputsOf(const Scenario& scenario, const SimulationSpec& spec);

// Errors: kInvalidField where stated limits contradict each other; kOutOfMemory where the memory beside weights and
// activations holds no block.
absl::StatusOr<EngineSettings> SettingsOf(const Scenario& scenario, const SimulationSpec& spec, const StepModel& model);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_SETTINGS_H_

#include "estimator/simulation/settings.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/engine_version.h"

namespace foretoken {
namespace {

constexpr int kMostOfVllm = 1024;  // max_num_seqs on large devices

struct EngineDefaults {
  int step_tokens;
  int sequences;
  int block_tokens;
  int fewest_sequences = 0;  // `sequences` is the most, and the KV cache decides; 0: it does not
};

// vllm/engine/arg_utils.py, get_batch_defaults, of the API server; vllm/config/cache.py.
EngineDefaults OfVllm(const Hardware& hardware, Bytes memory) {
  const bool large = memory >= Gibibytes(70) && !absl::StrContains(absl::string_view(hardware.id), "a100");
  return {large ? 8192 : 2048, large ? kMostOfVllm : 256, kBlockTokens};
}

// sglang/srt/server_args.py: chunked_prefill_size in _handle_gpu_memory_settings, page_size in _handle_page_size.
// The limits of max_running_requests: sglang/srt/model_executor, _resolve_max_num_reqs.
EngineDefaults OfSglang(Bytes memory) {
  const int chunk = memory < Gibibytes(35)    ? 2048
                    : memory < Gibibytes(60)  ? 4096
                    : memory < Gibibytes(160) ? 8192
                                              : 16384;
  return {chunk, 4096, 1, 2048};
}

// tensorrt_llm/builder.py, BuildConfig: max_num_tokens, max_batch_size. tensorrt_llm/llmapi/llm_args.py:
// tokens_per_block of KvCacheConfig.
EngineDefaults OfTensorRtLlm() { return {8192, 2048, 32}; }

EngineDefaults DefaultsOf(const Scenario& scenario, const Machine& machine) {
  const std::string_view engine = EngineName(scenario.deployment.engine);
  if (engine == "sglang") return OfSglang(machine.memory_capacity);
  if (engine == "tensorrt-llm") return OfTensorRtLlm();
  return OfVllm(*scenario.hardware, machine.memory_capacity);
}

int64_t StepTokens(const Scenario& scenario, const SchedulerSpec& spec, const EngineDefaults& defaults) {
  if (spec.max_num_batched_tokens) return *spec.max_num_batched_tokens;
  if (scenario.live_load && scenario.live_load->max_num_batched_tokens) {
    return *scenario.live_load->max_num_batched_tokens;
  }
  return scenario.deployment.prefill_chunk_tokens.value_or(defaults.step_tokens);
}

// What the spec, the live load or the deployment states; 0: none of them.
int64_t StatedSequences(const Scenario& scenario, const SchedulerSpec& spec) {
  const bool loaded = scenario.live_load && scenario.live_load->max_num_seqs;
  if (spec.max_num_seqs) return *spec.max_num_seqs;
  return loaded ? *scenario.live_load->max_num_seqs : scenario.deployment.max_num_seqs.value_or(0);
}

// A step holds a token of every running sequence, as vLLM requires of its own limits.
absl::StatusOr<int64_t> MaxSequences(int64_t stated, const EngineDefaults& defaults, const EngineSettings& settings) {
  if (settings.prompts_alone) return stated > 0 ? stated : defaults.sequences;
  if (stated <= 0) return std::min<int64_t>(defaults.sequences, settings.step_tokens);
  if (stated <= settings.step_tokens) return stated;
  return Refusal(Reason::kInvalidField, "simulation.scheduler.max_num_seqs",
                 absl::StrCat("max_num_seqs ", stated, "; allowed 1 to ", settings.step_tokens,
                              ", the tokens of a step (max_num_batched_tokens)"));
}

// What the memory of a device holds beside the weights and the activations of the largest step.
int64_t TokensThatFit(const Scenario& scenario, const StepModel& model, const EngineSettings& settings, int64_t loop) {
  const Capacity capacity = MeasureCapacity(scenario, model.shard, model.machine);
  BatchBytes activations = capacity.activations;
  activations.step = {.at_least = static_cast<double>(settings.step_tokens)};
  const int64_t sequences = loop > 0 ? std::min(loop, settings.max_sequences) : settings.max_sequences;
  const Bytes room = capacity.usable - capacity.weights - activations(static_cast<double>(sequences));
  const double tokens = std::floor(room / capacity.kv_per_token);
  return static_cast<int64_t>(std::clamp(tokens, 0.0, static_cast<double>(kMaxSimulatedKvTokens)));
}

Lengths Around(int mean, int spread) {
  if (spread == 0) return FixedLength{mean};
  return UniformLengths{.low = std::max(1, mean - spread), .high = mean + spread};
}

// SGLang's default: 512 sequences for each context that the KV cache holds, within its limits
// (sglang/srt/model_executor, _resolve_max_num_reqs).
int64_t SequencesByMemory(const EngineDefaults& defaults, const Model& model, int64_t kv_tokens) {
  if (!model.max_position_embeddings) return defaults.sequences;
  const double contexts = static_cast<double>(kv_tokens) / *model.max_position_embeddings;
  return static_cast<int64_t>(std::clamp<double>(contexts * 512, defaults.fewest_sequences, defaults.sequences));
}

}  // namespace

int64_t LoopOf(const Scenario& scenario, const SimulationSpec& spec) {
  const Workload& workload = scenario.workload;
  int concurrency = workload.batch_size;
  if (std::holds_alternative<std::monostate>(spec.arrivals)) {
    if (workload.request_rate_per_second) return 0;
  } else if (const auto* loop = std::get_if<ClosedLoop>(&spec.arrivals)) {
    concurrency = loop->concurrency.value_or(concurrency);
  } else {
    return 0;
  }
  return static_cast<int64_t>(scenario.deployment.PerReplica(concurrency));
}

Lengths PromptsOf(const Scenario& scenario, const SimulationSpec& spec) {
  if (!std::holds_alternative<std::monostate>(spec.prompts)) return spec.prompts;
  return Around(scenario.workload.prompt_tokens, scenario.workload.prompt_spread_tokens);
}

Lengths OutputsOf(const Scenario& scenario, const SimulationSpec& spec) {
  if (!std::holds_alternative<std::monostate>(spec.outputs)) return spec.outputs;
  if (scenario.workload.output_lengths) return *scenario.workload.output_lengths;
  return Around(scenario.workload.output_tokens, scenario.workload.output_spread_tokens);
}

absl::StatusOr<EngineSettings> SettingsOf(const Scenario& scenario, const SimulationSpec& spec,
                                          const StepModel& model) {
  const SchedulerSpec& asked = spec.scheduler;
  const EngineDefaults defaults = DefaultsOf(scenario, model.machine);
  EngineSettings settings{.policy = asked.policy.value_or(SchedulerOf(scenario.deployment))};
  if (absl::Status has = InvalidFields(FaultsOfOptions(asked, settings.policy)); !has.ok()) return has;
  const bool in_flight = settings.policy == SchedulerPolicy::kInFlight;
  settings.prompts_alone = settings.policy == SchedulerPolicy::kPrefillFirst && !asked.mixed_chunk.value_or(false);
  settings.cuts_prompts = !in_flight || asked.chunked_prompt.value_or(false);
  settings.reserves_whole = in_flight && !asked.max_utilization.value_or(false);
  settings.step_tokens = StepTokens(scenario, asked, defaults);
  settings.block_tokens = asked.kv_block_tokens.value_or(defaults.block_tokens);
  const int64_t stated = StatedSequences(scenario, asked);
  const absl::StatusOr<int64_t> sequences = MaxSequences(stated, defaults, settings);
  if (!sequences.ok()) return sequences.status();
  settings.max_sequences = *sequences;
  settings.kv_tokens =
      asked.kv_tokens ? *asked.kv_tokens : TokensThatFit(scenario, model, settings, LoopOf(scenario, spec));
  if (stated <= 0 && defaults.fewest_sequences > 0) {
    settings.max_sequences =
        std::min(settings.max_sequences, SequencesByMemory(defaults, *scenario.model, settings.kv_tokens));
  }
  if (settings.kv_tokens >= settings.block_tokens) return settings;
  return OutOfMemory(scenario, MeasureCapacity(scenario, model.shard, model.machine), model.machine);
}

}  // namespace foretoken

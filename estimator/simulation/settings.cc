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
};

EngineDefaults OfVllm(const Hardware& hardware, Bytes memory) {
  const bool large = memory >= Gibibytes(70) && !absl::StrContains(absl::string_view(hardware.id), "a100");
  return {large ? 8192 : 2048, large ? kMostOfVllm : 256, kBlockTokens};
}

EngineDefaults DefaultsOf(const Scenario& scenario, const Machine& machine) {
  const std::string_view engine = EngineName(scenario.deployment.engine);
  const Bytes memory = machine.memory_capacity;
  if (engine == "sglang") return {memory < Bytes(25e9) ? 2048 : kStepTokens, 4096, 1};
  if (engine == "tensorrt-llm") return {kStepTokens, 2048, 32};
  return OfVllm(*scenario.hardware, memory);
}

int64_t StepTokens(const Scenario& scenario, const SchedulerSpec& spec, const EngineDefaults& defaults) {
  if (spec.max_num_batched_tokens) return *spec.max_num_batched_tokens;
  if (scenario.live_load && scenario.live_load->max_num_batched_tokens) {
    return *scenario.live_load->max_num_batched_tokens;
  }
  return scenario.deployment.prefill_chunk_tokens.value_or(defaults.step_tokens);
}

// A step holds a token of every running sequence, as vLLM requires of its own limits.
absl::StatusOr<int64_t> MaxSequences(const Scenario& scenario, const SchedulerSpec& spec,
                                     const EngineDefaults& defaults, const EngineSettings& settings) {
  const bool loaded = scenario.live_load && scenario.live_load->max_num_seqs;
  const int64_t stated = spec.max_num_seqs ? *spec.max_num_seqs
                         : loaded          ? *scenario.live_load->max_num_seqs
                                           : scenario.deployment.max_num_seqs.value_or(0);
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
  const bool in_flight = settings.policy == SchedulerPolicy::kInFlight;
  settings.prompts_alone = settings.policy == SchedulerPolicy::kPrefillFirst && !asked.mixed_chunk.value_or(false);
  settings.cuts_prompts = !in_flight || asked.chunked_prompt.value_or(false);
  settings.reserves_whole = in_flight && !asked.max_utilization.value_or(false);
  settings.step_tokens = StepTokens(scenario, asked, defaults);
  settings.block_tokens = asked.kv_block_tokens.value_or(defaults.block_tokens);
  const absl::StatusOr<int64_t> sequences = MaxSequences(scenario, asked, defaults, settings);
  if (!sequences.ok()) return sequences.status();
  settings.max_sequences = *sequences;
  settings.kv_tokens =
      asked.kv_tokens ? *asked.kv_tokens : TokensThatFit(scenario, model, settings, LoopOf(scenario, spec));
  if (settings.kv_tokens >= settings.block_tokens) return settings;
  return OutOfMemory(scenario, MeasureCapacity(scenario, model.shard, model.machine), model.machine);
}

}  // namespace foretoken

// What the simulated engine does: the spec with every default filled in.
//
// What the spec states comes first. Then come the limits of a live load, then the deployment's scheduler, max_num_seqs
// and prefill_chunk_tokens, and last the defaults of the engine. docs/model/simulation.md lists the defaults with their
// sources.
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

// Errors: kInvalidField where stated limits contradict each other, or the engine has no such option; kOutOfMemory where
// the memory beside weights and activations holds no block.
absl::StatusOr<EngineSettings> SettingsOf(const Scenario& scenario, const SimulationSpec& spec, const StepModel& model);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_SETTINGS_H_

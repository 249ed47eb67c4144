// A simulation of serving: the engine's scheduler, step by step, over the product's own step times. It answers what the
// closed forms (estimator/serving) cannot: percentiles, random lengths, bursts, preemption.
//
//   absl::StatusOr<SimulationResult> r = Simulate(scenario, spec, efficiencies, NeverCancelled);
//   r->ttft->p90.value   seconds, and r->ttft->p90.error its standard error
//
// Pure and deterministic: equal inputs give equal results on every machine but for the last bits of its mathematical
// library; safe from any number of threads. One replica is simulated, with its share of the load; numbers of requests
// and tokens a second are of the whole deployment.
//
// Refuses (kNotModelled): speculative decoding, disaggregated prefill, pipeline parallelism, a live load with a present
// state, prefixes that are loaded, operation without a KV cache or with prompts that are prefilled while they arrive.
// Policies, formulas and agreement with the closed forms: docs/model/simulation.md.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_SIMULATION_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/cancelled.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/simulation/engine.h"
#include "estimator/simulation/settings.h"
#include "estimator/simulation/spec.h"
#include "estimator/simulation/tally.h"

namespace foretoken {

// Why a simulation ended. Same order and numbers as foretoken.v1.SimulationEnd.
enum class SimulationEnd { kUnspecified, kRequests, kPrecision, kMaxSteps };

// Of the counted requests and the time in which they ended, except where said.
struct SimulationResult {
  std::optional<SimulatedTimes> ttft, e2e;  // absent: no request was counted
  std::optional<SimulatedTimes> tpot, itl;  // absent: no request had a second token
  double output_tokens_per_second = 0;      // of the deployment
  double requests_per_second = 0;           // likewise
  std::optional<double> goodput;            // requests/s that met every bound of the SLO; absent: there is none
  double mean_running = 0;                  // sequences of a replica
  double mean_waiting = 0;                  // requests in its queue, at the starts of steps
  double most_waiting = 0;                  // of a rate, at most those that can begin before the end, and a full batch
  double waiting_at_end = 0;
  double mean_kv_share = 0;  // of the KV cache in use
  double most_kv_share = 0;
  int64_t requests = 0;  // counted
  Seconds counted;       // simulated time in which they ended
  Seconds simulated;     // in all
  EngineCounts counts;   // of the whole run
  EngineSettings settings;
  SimulationEnd end = SimulationEnd::kUnspecified;
  std::vector<SimulatedRequest> rows;  // in order of their ends
  std::vector<Warning> warnings;
};

// Errors: kInvalidField (FaultsOf, with paths from "simulation."; limits that contradict each other); kNotModelled;
// kUnsupportedModel; kOutOfMemory; those of MakeStepModel; CANCELLED.
absl::StatusOr<SimulationResult> Simulate(const Scenario& scenario, const SimulationSpec& spec,
                                          const Efficiencies& efficiencies, Cancelled cancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_SIMULATION_H_

// The input of every batching policy, a replica, and its output: the times that one request meets there.
#ifndef FORETOKEN_ESTIMATOR_SERVING_SERVED_H_
#define FORETOKEN_ESTIMATOR_SERVING_SERVED_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "estimator/phases/capacity.h"
#include "estimator/phases/speculation.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/serving/prefill_pool.h"
#include "estimator/step/step.h"

namespace foretoken {

// One replica of the deployment. Holds references: what they refer to outlives it.
struct Replica {
  const Scenario& scenario;
  const StepModel& model;
  const Capacity& capacity;
  const Speculator* speculator = nullptr;     // null: no speculative decoding
  const PrefillPool* prefill_pool = nullptr;  // null: prompts are prefilled here
  bool steps_wanted = true;                   // false: Served::step may stay empty
};

// The running batch in a share of a request's decode steps.
struct RunningBatch {
  double share = 1;
  double running = 1;         // all sequences
  double read = 1;            // sequences with the request's context
  double others = 0;          // sequences with another context
  double others_context = 0;  // tokens of that context before the first of these steps
};
using RunningBatches = absl::InlinedVector<RunningBatch, 3>;

// What one request meets. Waiting is the queueing part of both phases.
struct Served {
  TimeParts prefill;               // from arrival to the first token
  TimeParts decode;                // all decode steps together
  double decode_steps = 0;         // of the longest sequence
  double running = 1;              // sequences of a replica that decode together
  double held = 1;                 // KV cache that a replica holds, in sequences of the workload's length
  double read = 1;                 // KV cache that a step reads, likewise
  RunningBatches running_batches;  // if the batch changes while the request decodes; empty: running and read throughout
  double prefilled = 1;            // sequences of a replica that are prefilled together
  TimeParts prefill_work;          // time of that prefill without waiting
  double waves = 1;                // sequential batches
  double requests_per_second = 0;  // of the deployment
  std::optional<SpeculationEstimate> round;
  std::optional<DisaggregationEstimate> disaggregation;
  // The time of decode step j = 1, 2, ... Refers to the replica's scenario and model.
  std::function<TimeParts(double)> step;
};

// The most sequences that a replica runs at once under continuous batching. Memory limits them, each halfway through
// its output on average, and so does the engine's limit if the deployment or the live load states it. 0 if not even one
// fits to its end.
double MostRunning(const Replica& replica);

// The whole sequences that hold as much KV cache as `running` sequences halfway through their outputs.
double HeldHalfway(const Workload& workload, double running);

// The refusal kUnstableLoad of a request rate that is not below `stable`, the deployment's, which `limit` sets. The
// second form takes the stable rate of one replica and how it serves: "in batches of 8".
absl::Status Unstable(const Scenario& scenario, const std::string& limit, double stable);
absl::Status Unstable(const Replica& replica, const std::string& how, double stable);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_SERVED_H_

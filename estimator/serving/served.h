// What every batching policy is given, a replica, and what it gives back: what one request meets there.
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

// One replica of the deployment, as every policy sees it. Views: what they refer to outlives them.
struct Replica {
  const Scenario& scenario;
  const StepModel& model;
  const Capacity& capacity;
  const Speculator* speculator = nullptr;     // null: no speculative decoding
  const PrefillPool* prefill_pool = nullptr;  // null: prompts are prefilled here
  bool steps_wanted = true;                   // false: Served::step may stay empty
};

// Who decodes together in a share of a request's decode steps.
struct RunningBatch {
  double share = 1;
  double running = 1;         // all of them
  double read = 1;            // those that see what the request sees
  double others = 0;          // those that do not,
  double others_context = 0;  // and what they see before the first of these steps
};
using RunningBatches = absl::InlinedVector<RunningBatch, 3>;

// What one request meets. Waiting is the queueing part of both phases.
struct Served {
  TimeParts prefill;        // from arrival to the first token
  TimeParts decode;         // all decode steps together
  double decode_steps = 0;  // of the sequence that ends last
  double running = 1;       // sequences of a replica that decode together
  // Sequences of the workload's length whose KV cache is as large as what a replica holds, and what a step reads.
  double held = 1;
  double read = 1;
  RunningBatches running_batches;  // where those of the first step do not stay; empty: running and read throughout
  double prefilled = 1;            // sequences of a replica that are prefilled together
  TimeParts prefill_work;          // what that takes without waiting for others
  double waves = 1;                // batches that run one after the other
  double requests_per_second = 0;  // of the deployment
  std::optional<SpeculationEstimate> round;
  std::optional<DisaggregationEstimate> disaggregation;
  // Decode step j = 1, 2, ... Refers to the replica's scenario and model.
  std::function<TimeParts(double)> step;
};

// Most sequences of the workload that a replica runs at once under continuous batching: what memory holds, each halfway
// through its output as they are on average, and the engine's limit where the live load states it. 0 where not even one
// fits to its end.
double MostRunning(const Replica& replica);

// Of `running` sequences that are halfway through their outputs on average: as many whole ones hold the same KV.
double HeldHalfway(const Workload& workload, double running);

// The refusal, kUnstableLoad, of a request rate that is not below the `stable` one of the deployment, which `limit`
// sets; or of a replica, by how it serves: "in batches of 8".
absl::Status Unstable(const Scenario& scenario, const std::string& limit, double stable);
absl::Status Unstable(const Replica& replica, const std::string& how, double stable);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_SERVED_H_

// A replica's live load as the next request finds it: the prompts before it, and the steps until it has a batch slot.
#ifndef FORETOKEN_ESTIMATOR_SERVING_REPLICA_QUEUE_H_
#define FORETOKEN_ESTIMATOR_SERVING_REPLICA_QUEUE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/completions.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Prompts of one length.
struct Prompts {
  double count = 0;
  double tokens = 0;  // of each, not yet prefilled
};

// The reported load. What is not reported is filled in from the workload.
struct ReplicaQueue {
  double running = 0;               // sequences that decode
  double context = 0;               // tokens of each
  std::optional<double> remaining;  // mean output tokens that each still makes; absent: none completes
  double least_remaining = 0;       // the fewest of them
  const std::vector<double>* remaining_each =
      nullptr;                       // of the live load; null: only the mean and the fewest are known
  Prompts in_flight;                 // partially prefilled, with a batch slot
  Prompts waiting;                   // before the request
  Prompts arriving;                  // the request, and those that arrive with it
  double step_tokens = kStepTokens;  // prompt tokens that a step has room for

  Completions WhenTheyEnd() const { return {running, remaining, least_remaining, remaining_each}; }
};

// REQUIRES: a live load. Warns if sequences run whose context is not reported.
ReplicaQueue ReadReplicaQueue(const Replica& replica, std::vector<Warning>& warnings);

// When all waiting and arriving prompts have a batch slot: a place in the batch, and KV cache for the prompt.
struct BatchSlots {
  bool must_wait = false;   // not all have a slot now
  double steps = 0;         // engine steps until all have a slot
  double taken = 0;         // sequences that hold the slots meanwhile
  double batch = 0;         // limit of the batch on the sequences that run at once
  double kv = 0;            // limit of the KV cache on the sequences that have joined by then,
  double kv_per_ended = 0;  // which rises with each completion

  // Sequences that have joined, the request included, while `left` of `running` still run. At least 1.
  double Joined(double running, double left) const;
};

// Running sequences release slots as they complete, and so do requests that begin before this one, which are assumed to
// be like it. The next prompt takes each slot at once. Warns of a wait, naming what is full. Warns if the KV cache
// fills while the requests decode, because the engine then preempts, which is not modelled.
//
// If a request has to wait for sequences whose remaining tokens are not reported, sets them in the queue to half of the
// request's output, with a warning. Errors: kOutOfMemory if a prompt has no room even after they complete.
absl::StatusOr<BatchSlots> TakeBatchSlots(const Replica& replica, ReplicaQueue& queue, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_REPLICA_QUEUE_H_

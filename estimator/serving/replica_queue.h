// A replica's live load as the next request finds it: who is before it, and who of them can start.
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
  double tokens = 0;  // of each, still to be prefilled
};

// The load, its gaps filled from the workload.
struct ReplicaQueue {
  double running = 0;                // sequences that decode
  double context = 0;                // tokens that each sees
  std::optional<double> remaining;   // output tokens that each has still to make on average; absent: none ends
  Prompts in_flight;                 // admitted already
  Prompts waiting;                   // before the request
  Prompts arriving;                  // the request, or as many as come together
  double step_tokens = kStepTokens;  // prompt tokens that a step has room for

  Completions WhenTheyEnd() const { return {running, remaining}; }
};

// REQUIRES: a live load. Warns where sequences run whose context is not stated.
ReplicaQueue ReadReplicaQueue(const Replica& replica, std::vector<Warning>& warnings);

// When all waiting and arriving prompts have a seat: room in the batch and KV cache for the prompt.
struct BatchSlots {
  bool must_wait = false;  // not all have one now
  double steps = 0;        // engine steps until they have, of
  double taken = 0;        // sequences that hold the seats meanwhile
  // Most that have joined by then, with the request: at once, beside those left,
  double batch = 0;
  double kv = 0;            // and in the KV cache, at first
  double kv_per_ended = 0;  // and more with each running sequence that has ended

  // At least 1, the request.
  double Joined(double running, double left) const;
};

// Seats become free as running sequences end and as requests that begin before this one, taken to be like it, do; each
// is taken by the next prompt at once. Warns of a wait, naming what is full, and of a KV cache that fills while the
// requests decode (the engine then preempts, which is not counted).
//
// Errors: kInvalidField where a request has to wait for sequences whose remaining_output_tokens are not stated;
// kOutOfMemory where a prompt has no room even when they have ended.
absl::StatusOr<BatchSlots> TakeBatchSlots(const Replica& replica, const ReplicaQueue& queue,
                                          std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_REPLICA_QUEUE_H_

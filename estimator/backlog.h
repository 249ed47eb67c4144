// A replica's live load as the next request finds it: who is before it, and who of them can start.
#ifndef FORETOKEN_ESTIMATOR_BACKLOG_H_
#define FORETOKEN_ESTIMATOR_BACKLOG_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving.h"

namespace foretoken {

// Prompts of one length.
struct Prompts {
  double count = 0;
  double tokens = 0;  // of each, still to be prefilled
};

// The load, its gaps filled from the workload.
struct Backlog {
  double running = 0;                // sequences that decode
  double context = 0;                // tokens that each sees
  std::optional<double> remaining;   // output tokens that each has still to make; absent: none ends
  Prompts in_flight;                 // admitted already
  Prompts waiting;                   // before the request
  Prompts arriving;                  // the request, or as many as come together
  double step_tokens = kStepTokens;  // prompt tokens that a step has room for
};

// REQUIRES: a live load. Warns where sequences run whose context is not stated.
Backlog ReadBacklog(const Replica& replica, std::vector<Warning>& warnings);

// Who of the waiting and arriving prompts has a seat: room in the batch and KV cache for its prompt.
struct Seats {
  double now = 0;          // prompts that can start at once
  bool must_wait = false;  // not all can
  double later = 0;        // prompts that run together when those running now have ended
  double generations = 0;  // of whole requests that come and go before the last arriving one has a seat
};

// Warns of a wait, naming what is full, and of a KV cache that fills while the requests decode (the engine then
// preempts, which is not counted).
//
// Errors: kInvalidField where a request has to wait for sequences whose remaining_output_tokens are not stated;
// kOutOfMemory where nothing runs and not even one prompt has room.
absl::StatusOr<Seats> TakeSeats(const Replica& replica, const Backlog& backlog, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BACKLOG_H_

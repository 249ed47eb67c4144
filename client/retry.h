// When and how a call is tried again.
//
// Only UNAVAILABLE is retried: it is the one code that says that the same call may succeed a moment later. A read is
// always safe to repeat; a write only when it carries a request_id, by which the server recognises the repetition.
#ifndef FORETOKEN_CLIENT_RETRY_H_
#define FORETOKEN_CLIENT_RETRY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace foretoken::client {

// Bounds of retrying.
struct RetryPolicy {
  int max_attempts = 4;  // the first one included; 1: never try again
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(1);
};

// The wait after attempt `attempt` (1, 2, ...): initial_backoff doubled each time up to max_backoff, times a jitter of
// 0.5 to 1. REQUIRES: 0 <= random < 1, uniform.
absl::Duration Backoff(const RetryPolicy& policy, int attempt, double random);

// How one call is retried.
struct RetryLoop {
  RetryPolicy policy;
  bool repeatable = true;                     // false: one attempt
  absl::Time deadline;                        // no attempt starts after it
  std::function<void(absl::Duration)> sleep;  // how to wait
};

// Calls `attempt` until it does not answer UNAVAILABLE or the bounds are reached; its last answer. Where that is
// DEADLINE_EXCEEDED, the UNAVAILABLE before it, which says why.
absl::Status CallWithRetry(const RetryLoop& loop, const std::function<absl::Status()>& attempt);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_RETRY_H_

// Retries of a call.
//
// Only UNAVAILABLE is retried, because it is the one code after which the same call may succeed a moment later. A read
// is always safe to repeat. A write is safe to repeat if it carries a request_id, by which the server recognises the
// retry.
#ifndef FORETOKEN_CLIENT_RETRY_H_
#define FORETOKEN_CLIENT_RETRY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace foretoken::client {

// Limits of retrying.
struct RetryPolicy {
  int max_attempts = 4;  // the first one included; 1: no retry
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

// Calls `attempt` until it returns anything but UNAVAILABLE or a limit is reached, and returns its last status. If a
// retry ends with DEADLINE_EXCEEDED, the UNAVAILABLE before it is returned, because it states the cause.
absl::Status CallWithRetry(const RetryLoop& loop, const std::function<absl::Status()>& attempt);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_RETRY_H_

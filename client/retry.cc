#include "client/retry.h"

#include <algorithm>
#include <cmath>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace foretoken::client {

namespace {

// The first failure, with a note that its retry got no answer in time.
absl::Status WithoutAnswer(const absl::Status& first) {
  absl::Status status(first.code(), absl::StrCat(first.message(), " (tried again, with no answer in time)"));
  first.ForEachPayload(
      [&status](absl::string_view url, const absl::Cord& payload) { status.SetPayload(url, payload); });
  return status;
}

}  // namespace

absl::Duration Backoff(const RetryPolicy& policy, int attempt, double random) {
  const absl::Duration doubled = policy.initial_backoff * std::exp2(attempt - 1);
  return std::min(doubled, policy.max_backoff) * (0.5 + 0.5 * random);
}

absl::Status CallWithRetry(const RetryLoop& loop, const std::function<absl::Status()>& attempt) {
  absl::BitGen random;
  absl::Status unavailable;  // status of the attempt before
  for (int tries = 1;; ++tries) {
    absl::Status status = attempt();
    const bool again = loop.repeatable && absl::IsUnavailable(status) && tries < loop.policy.max_attempts;
    if (absl::IsDeadlineExceeded(status) && !unavailable.ok()) return WithoutAnswer(unavailable);
    if (!again) return status;
    unavailable = status;
    const absl::Duration wait = Backoff(loop.policy, tries, absl::Uniform(random, 0.0, 1.0));
    if (absl::Now() + wait >= loop.deadline) return status;
    loop.sleep(wait);
  }
}

}  // namespace foretoken::client

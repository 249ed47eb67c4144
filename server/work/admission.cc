#include "server/work/admission.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "server/work/retry_after.h"

namespace foretoken::work {
namespace {

// Nobody should ask again sooner, or later, because the queue is another one by then.
constexpr double kSoonest = 0.1, kLatest = 30;
// Share of the bound at which a refused caller is welcome again.
constexpr double kWelcome = 0.5;
// How long short work waits: seconds, and seconds per second of its own.
constexpr double kLeastPatience = 5;
constexpr double kPatiencePerSecond = 100;

JobRefusal Refuse(RefusalCause cause, double retry_seconds, const std::string& message) {
  absl::Status status = Refusal(Reason::kOverloaded, "", message);
  SetRetryAfter(std::clamp(retry_seconds, kSoonest, kLatest), status);
  return {cause, std::move(status)};
}

// What is there already, beside what is allowed.
JobRefusal TooMany(RefusalCause cause, double retry_seconds, const char* whose, int64_t found, int64_t asked,
                   int64_t allowed, const char* of_what) {
  return Refuse(cause, retry_seconds,
                absl::StrCat(whose, " large calls: ", found, of_what, " in the server, ", asked, " asked; allowed ",
                             allowed, " at once"));
}

std::string Late(double wait, const char* allowed, double seconds) {
  return absl::StrFormat("the server is busy: the call would wait %.1f s for its turn; allowed %s%.1f s", wait, allowed,
                         seconds);
}

}  // namespace

const char* NameOf(RefusalCause cause) {
  constexpr std::array<const char*, kNumRefusalCauses> kNames = {"queue_wait", "deadline",     "caller_calls",
                                                                 "calls",      "caller_bytes", "bytes"};
  return kNames[static_cast<size_t>(cause)];
}

std::optional<JobRefusal> FindRefusal(const JobSpec& spec, const Limits& limits, const RunQueue& queue) {
  const CallerQueue* caller = queue.Find(spec.caller);
  const int own_jobs = caller == nullptr ? 0 : caller->num_jobs;
  const int64_t own_bytes = caller == nullptr ? 0 : caller->bytes;
  const double wait = queue.ExpectedWait(spec);
  if (own_jobs >= limits.max_jobs_of_caller) {
    return TooMany(RefusalCause::kCallerJobs, wait / 2, "your", own_jobs, 1, limits.max_jobs_of_caller, "");
  }
  if (queue.num_jobs() >= limits.max_jobs) {
    return TooMany(RefusalCause::kJobs, wait / 2, "all callers'", queue.num_jobs(), 1, limits.max_jobs, "");
  }
  if (own_bytes + spec.bytes > limits.max_bytes_of_caller) {
    return TooMany(RefusalCause::kCallerBytes, wait / 2, "your", own_bytes, spec.bytes, limits.max_bytes_of_caller,
                   " bytes of requests");
  }
  if (queue.bytes() + spec.bytes > limits.max_bytes) {
    return TooMany(RefusalCause::kBytes, wait / 2, "all callers'", queue.bytes(), spec.bytes, limits.max_bytes,
                   " bytes of requests");
  }
  const double patience = std::max(kLeastPatience, kPatiencePerSecond * queue.ExpectedSeconds(spec));
  const double most = std::min(absl::ToDoubleSeconds(limits.max_wait), patience);
  if (wait > most) {
    return Refuse(RefusalCause::kWait, wait - kWelcome * most, Late(wait, "", most));
  }
  const double left = absl::ToDoubleSeconds(spec.time_left);
  if (wait > left) {
    return Refuse(RefusalCause::kDeadline, wait - left, Late(wait, "by your deadline ", std::max(0.0, left)));
  }
  return std::nullopt;
}

}  // namespace foretoken::work

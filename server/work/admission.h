// What the scheduler takes on, and what it refuses at once: work whose turn would come too late, and more than fits.
#ifndef FORETOKEN_SERVER_WORK_ADMISSION_H_
#define FORETOKEN_SERVER_WORK_ADMISSION_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/work/run_queue.h"

namespace foretoken::work {

struct Limits {
  // Expected, before a job's first turn. Short work is refused earlier: after a hundred times its own expected time, at
  // least a second, because a longer queue of it answers no more calls, only later.
  absl::Duration max_wait = absl::Seconds(10);
  int max_jobs = 4000;                               // waiting and running
  int max_jobs_of_caller = 1000;                     // the same of one caller
  int64_t max_bytes = int64_t{512} << 20;            // of memory, of their requests
  int64_t max_bytes_of_caller = int64_t{128} << 20;  // the same of one caller
};

enum class RefusalCause { kWait, kDeadline, kCallerJobs, kJobs, kCallerBytes, kBytes };
inline constexpr int kNumRefusalCauses = 6;

// "queue_wait", "deadline", "caller_calls", "calls", "caller_bytes", "bytes": as the metric names them.
const char* NameOf(RefusalCause cause);

struct JobRefusal {
  RefusalCause cause = RefusalCause::kWait;
  absl::Status status;  // kOverloaded, with the time after which to try again
};

// None: `spec` is taken on.
std::optional<JobRefusal> FindRefusal(const JobSpec& spec, const Limits& limits, const RunQueue& queue);

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_ADMISSION_H_

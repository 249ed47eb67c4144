// One large call as the scheduler sees it: who asks, what kind of work, and how much of it.
#ifndef FORETOKEN_SERVER_WORK_JOB_H_
#define FORETOKEN_SERVER_WORK_JOB_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace foretoken::work {

using Nanos = std::chrono::nanoseconds;

// Kinds whose cost a unit is measured apart.
enum class JobKind { kEstimate, kBatch, kSolve, kSweep, kFit, kStore, kSimulate };
inline constexpr int kNumJobKinds = 7;

// Seconds that a unit takes before any was measured: a token's latency, a candidate, an estimate of a search, a point,
// a sample, an access to the store, a step of a simulation. From docs/performance.md, on one core; the first
// measurements replace them.
inline constexpr std::array<double, kNumJobKinds> kFirstSecondsPerUnit = {1e-6, 15e-6, 15e-6, 1e-6, 1e-3, 2e-3, 0.5e-6};

struct JobSpec {
  std::string caller;  // jobs of one caller share its turns
  JobKind kind = JobKind::kSolve;
  double units = 1;
  int64_t bytes = 0;  // of the request, held until the call ends
  absl::Duration time_left = absl::InfiniteDuration();
};

// Short work goes before long work of the same caller: below 2 ms, below 20 ms, below 200 ms, above.
inline constexpr int kNumLevels = 4;
int LevelOf(double seconds);

struct CallerQueue;

// The scheduler's record of a job. Its fields are RunQueue's.
struct Job {
  enum class State { kOutside, kWaiting, kRunning };

  JobSpec spec;
  CallerQueue* caller = nullptr;
  uint64_t number = 0;  // in order of admission
  State state = State::kOutside;
  bool begun = false;         // had a turn
  bool holds_thread = false;  // its turn has begun and not ended
  int level = 0;
  bool is_short = false;         // was of level 0 at first
  double expected_seconds = 0;   // in all, by the measured rate of its kind
  double remaining_seconds = 0;  // of those
  Nanos used{0};
  Nanos waiting_since{0};
};

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_JOB_H_

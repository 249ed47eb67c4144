// Who runs next: a queue per caller, turns of a slice each, short work first.
//
// Between callers: the caller that had the least time of late goes first, so that each of n busy callers gets 1/n
// however many jobs it has. Between the jobs of one caller: the lowest level (job.h) first, in a level the shorter one.
// Every fourth turn of a caller goes to the oldest job of its highest level, so that a flood of short work does not
// stop long work. A job that takes longer than expected moves up a level.
//
// No threads and no clock: times are arguments, the order is a function of the calls. Not thread-safe.
#ifndef FORETOKEN_SERVER_WORK_RUN_QUEUE_H_
#define FORETOKEN_SERVER_WORK_RUN_QUEUE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/work/job.h"

namespace foretoken::work {

// What a turn is charged with until it ends.
inline constexpr Nanos kSlice = std::chrono::milliseconds(1);
// Jobs of one caller that hold a thread between their turns. Each holds a stack and its half-made answer.
inline constexpr int kMostParkedOfCaller = 16;
// The same over all callers: the most threads beside those that run.
inline constexpr int kMostParked = 256;
// Streams of one caller that have begun, short ones (of level 0 at first) and longer ones apart, so that readers who do
// not read keep no short one from its turn. Each holds a chunk of an answer.
inline constexpr int kMostStreamsOfCaller = 32;
inline constexpr int kMostShortStreamsOfCaller = 128;

// The queue of one caller, and what it has in the server.
struct CallerQueue {
  std::string name;
  std::array<std::map<uint64_t, Job*>, kNumLevels> waiting;  // by number
  std::array<double, kNumLevels> backlog_seconds{};          // expected, of waiting and running jobs
  std::array<double, kNumJobKinds> seconds_per_unit{};       // measured; 0: not yet
  int num_waiting = 0;
  int num_running = 0;
  int num_parked = 0;   // hold a thread and do not run
  int num_streams = 0;  // begun and not ended
  int num_short_streams = 0;
  int num_jobs = 0;   // admitted and not ended
  int64_t bytes = 0;  // of their requests
  uint64_t turns = 0;
  int64_t time = 0;    // virtual, ns: the time that it had, or the queue's when it came
  uint64_t place = 0;  // among callers of the same time
};

class RunQueue {
 public:
  // `slots`: jobs that run at once. A fit looks up too seldom for slices, so one slot is kept from fits where there are
  // two or more.
  explicit RunQueue(int slots) : slots_(slots), fit_slots_(slots > 1 ? slots - 1 : 1) {}

  // The job's caller becomes known, and its expected time is set. Leave ends that.
  void Join(Job& job);
  void Leave(Job& job);

  // The job wants a turn, or the next one. REQUIRES: it is outside, or it runs.
  void Wait(Job& job, Nanos now);
  // REQUIRES: it waits.
  void Withdraw(Job& job);
  // The job whose turn it is now, which then runs; null where none may.
  Job* Next();
  // The job ran for `time`; Wait, Renew or Stop follows.
  void Charge(Job& job, Nanos time);
  // The job goes on with another slice, because nobody waits. REQUIRES: it was charged.
  void Renew(const Job& job);
  // The job's turn has ended; it is outside.
  void Stop(Job& job);
  // `units` of the job took `time`: later jobs of its kind, of its caller before all, are expected to take as long.
  void Learn(const Job& job, double units, Nanos time);

  // When a job of `spec` would have its first turn, if it came now: what its caller has at its level and below, and as
  // much of every other caller's, over all slots.
  double ExpectedWait(const JobSpec& spec) const;
  double ExpectedSeconds(const JobSpec& spec) const;

  // Null: nothing of that caller is here.
  const CallerQueue* Find(const std::string& caller) const;
  int num_jobs() const { return num_jobs_; }
  int num_waiting() const { return num_waiting_; }
  int64_t bytes() const { return bytes_; }

 private:
  struct ByTurn {
    bool operator()(const CallerQueue* a, const CallerQueue* b) const {
      return a->time != b->time ? a->time < b->time : a->place < b->place;
    }
  };

  CallerQueue& QueueOf(const std::string& caller);
  void ForgetIdleCallers();
  void Enter(Job& job);
  void Drop(Job& job);
  void SetLevel(Job& job, int level);
  void MoveTime(CallerQueue& caller, Nanos by);
  bool MayRun(const Job& job) const;
  Job* Best(const CallerQueue& caller) const;
  void Begin(Job& job);

  const int slots_;
  const int fit_slots_;
  absl::flat_hash_map<std::string, std::unique_ptr<CallerQueue>> callers_;
  std::set<CallerQueue*, ByTurn> active_;  // have waiting jobs
  int64_t time_ = 0;                       // virtual: that of the last turn that began
  uint64_t next_number_ = 0;
  uint64_t next_place_ = 0;
  std::array<double, kNumJobKinds> seconds_per_unit_ = kFirstSecondsPerUnit;
  int num_jobs_ = 0;
  int num_waiting_ = 0;
  int num_parked_ = 0;
  int num_fits_ = 0;  // running
  int64_t bytes_ = 0;
};

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_RUN_QUEUE_H_

// Runs what must not hold up the threads that serve calls: sweeps, large batches, searches, fits, writes. A few run at
// once, in fair turns (run_queue.h), and what would wait for too long is refused at once (admission.h).
//
//   absl::StatusOr<std::unique_ptr<Ticket>> ticket = scheduler.Admit({.caller = "ci", .kind = JobKind::kSolve});
//   if (!ticket.ok()) return Refuse(ticket.status());
//   (*ticket)->Run([&] {
//     for (...) {
//       Compute();
//       (*ticket)->GiveWay();  // between units of work: lets others run once this turn's slice is used up
//     }
//   });
//
// A job whose turn is interrupted keeps its thread, which waits, so any computation can be interrupted where it calls
// GiveWay. There are as many threads as jobs that run or were interrupted, and the number of those is bounded.
#ifndef FORETOKEN_SERVER_WORK_FAIR_SCHEDULER_H_
#define FORETOKEN_SERVER_WORK_FAIR_SCHEDULER_H_

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/ops/histogram.h"
#include "server/work/admission.h"
#include "server/work/run_queue.h"

namespace foretoken::work {

class FairScheduler;

// The place of one call among the large ones, from its admission to its end. One turn at a time. Thread-safe.
class Ticket {
 public:
  // Ends the job. REQUIRES: no turn waits. The last turn may still be returning.
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  // Runs `turn` on a thread of the scheduler when the job's turn comes. REQUIRES: the turn before has returned, or
  // calls this as the last thing that it does. The ticket may end before the turn has returned.
  void Run(std::function<void()> turn);

  // Takes back a turn that has not begun. False: it has begun or ended.
  bool Withdraw();

  // Lets others run, if this turn has used its slice and others wait. Costs a look at the clock otherwise.
  // REQUIRES: called within the turn.
  void GiveWay() const;

  // Tells how many of its units the turn has done, so that later jobs of the kind are expected to take as long.
  // REQUIRES: called within the turn.
  void Did(double units) const;

 private:
  friend class FairScheduler;
  struct Turn;
  Ticket(FairScheduler* scheduler, std::shared_ptr<Turn> turn) : scheduler_(scheduler), turn_(std::move(turn)) {}

  FairScheduler* const scheduler_;
  const std::shared_ptr<Turn> turn_;
};

// Thread-safe.
class FairScheduler {
 public:
  using Clock = std::function<Nanos()>;  // steady

  struct Options {
    std::string name;  // in metrics
    int slots = 2;     // jobs that run at once
    int niceness = 0;  // what its threads add to the process's own: above 0, calls go first on a busy machine
    Limits limits;
    Clock clock = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  };

  // What happened so far, and what is there now.
  struct Statistics {
    int jobs = 0;
    int waiting = 0;
    int64_t bytes = 0;
    std::array<uint64_t, kNumRefusalCauses> refused{};
    prometheus::ClientMetric::Histogram delay_seconds;  // from a job's first wait to its first turn
  };

  explicit FairScheduler(Options options);
  // Runs what waits, then ends the threads. REQUIRES: no ticket is left then.
  ~FairScheduler();
  FairScheduler(const FairScheduler&) = delete;
  FairScheduler& operator=(const FairScheduler&) = delete;

  // Errors: kOverloaded: a limit is reached, or the job would wait for too long.
  absl::StatusOr<std::unique_ptr<Ticket>> Admit(JobSpec spec);

  Statistics statistics() const;
  const std::string& name() const { return options_.name; }

 private:
  friend class Ticket;
  using Turn = Ticket::Turn;

  void Start(const std::shared_ptr<Turn>& turn, std::function<void()> next);
  bool Withdraw(Turn& turn);
  void GiveWay(Turn& turn);
  void End(Turn& turn);

  // Gives free slots to those whose turn it is.
  void Dispatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(std::list<std::thread>::iterator place);
  // Lets go of the lock meanwhile.
  void RunTurn(Turn& turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TurnsOrEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !granted_.empty() || ending_; }

  const Options options_;
  mutable absl::Mutex mutex_;
  RunQueue queue_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<Turn>> granted_ ABSL_GUARDED_BY(mutex_);  // have a slot and need a thread
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> ended_threads_ ABSL_GUARDED_BY(mutex_);  // to be joined
  int idle_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::array<uint64_t, kNumRefusalCauses> refused_ ABSL_GUARDED_BY(mutex_){};
  ops::Histogram delay_seconds_;
};

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_FAIR_SCHEDULER_H_

#include "server/work/fair_scheduler.h"

#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <iterator>
#include <utility>

namespace foretoken::work {
namespace {

// 100 us to 30 s.
const std::vector<double>& DelayBounds() {
  static const auto& bounds = *new std::vector<double>{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3,
                                                       100e-3, 250e-3, 500e-3, 1,    2.5,    5,    10,    30};
  return bounds;
}

// Threads that wait for work although all slots could run without them, so that a turn that comes beside an interrupted
// one finds a thread.
constexpr int kSpareThreads = 2;

}  // namespace

// The record of a job and of its turns. All of it is guarded by the scheduler's mutex, except what a turn alone uses.
struct Ticket::Turn : Job, std::enable_shared_from_this<Turn> {
  std::function<void()> next;  // the turn that waits, or follows the running one
  bool parked = false;         // its thread waits for a slot
  absl::CondVar resumed;
  bool ended = false;    // the ticket is gone
  bool delayed = false;  // the delay of its first turn was observed
  Nanos slice_begin{0};
  double units_done = 0;  // that were not learned from
  Nanos learned{0};       // of the time it used
};

Ticket::~Ticket() { scheduler_->End(*turn_); }

void Ticket::Run(std::function<void()> turn) { scheduler_->Start(turn_, std::move(turn)); }

bool Ticket::Withdraw() { return scheduler_->Withdraw(*turn_); }

void Ticket::GiveWay() const { scheduler_->GiveWay(*turn_); }

void Ticket::Did(double units) const { turn_->units_done += units; }

FairScheduler::FairScheduler(Options options)
    : options_(std::move(options)), queue_(options_.slots), delay_seconds_(DelayBounds()) {}

FairScheduler::~FairScheduler() {
  absl::MutexLock lock(&mutex_);
  ending_ = true;
  const auto all_ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_.empty(); };
  mutex_.Await(absl::Condition(&all_ended));
  JoinEnded();
  assert(queue_.num_jobs() == 0);  // a ticket that is left would end its job in what is gone
}

absl::StatusOr<std::unique_ptr<Ticket>> FairScheduler::Admit(JobSpec spec) {
  absl::MutexLock lock(&mutex_);
  std::optional<JobRefusal> refusal = FindRefusal(spec, options_.limits, queue_);
  if (refusal) {
    ++refused_[static_cast<size_t>(refusal->cause)];
    return std::move(refusal->status);
  }
  auto turn = std::make_shared<Turn>();
  turn->spec = std::move(spec);
  queue_.Join(*turn);
  return std::unique_ptr<Ticket>(new Ticket(this, std::move(turn)));
}

FairScheduler::Statistics FairScheduler::statistics() const {
  absl::MutexLock lock(&mutex_);
  return {.jobs = queue_.num_jobs(),
          .waiting = queue_.num_waiting(),
          .bytes = queue_.bytes(),
          .refused = refused_,
          .delay_seconds = delay_seconds_.Collect()};
}

void FairScheduler::Start(const std::shared_ptr<Turn>& turn, std::function<void()> next) {
  absl::MutexLock lock(&mutex_);
  turn->next = std::move(next);
  if (turn->state != Job::State::kOutside) return;  // the turn before is returning; RunTurn goes on with `next`
  queue_.Wait(*turn, options_.clock());
  Dispatch();
}

bool FairScheduler::Withdraw(Turn& turn) {
  absl::MutexLock lock(&mutex_);
  if (turn.next == nullptr) return false;
  turn.next = nullptr;
  if (turn.state == Job::State::kWaiting) {
    queue_.Withdraw(turn);
    Dispatch();
  }
  return true;
}

void FairScheduler::End(Turn& turn) {
  absl::MutexLock lock(&mutex_);
  turn.ended = true;
  if (turn.state == Job::State::kRunning) return;  // its last turn is returning
  queue_.Leave(turn);
  Dispatch();
}

void FairScheduler::GiveWay(Turn& turn) {
  const Nanos now = options_.clock();
  if (now - turn.slice_begin < kSlice) return;
  absl::MutexLock lock(&mutex_);
  queue_.Charge(turn, now - turn.slice_begin);
  turn.slice_begin = now;
  if (queue_.num_waiting() == 0) return queue_.Renew(turn);
  queue_.Wait(turn, now);
  --running_;
  turn.parked = true;
  Dispatch();
  while (turn.parked) turn.resumed.Wait(&mutex_);
  turn.slice_begin = options_.clock();
}

void FairScheduler::Dispatch() {
  if (running_ == options_.slots || queue_.num_waiting() == 0) return;
  const Nanos now = options_.clock();
  while (running_ < options_.slots) {
    auto* turn = static_cast<Turn*>(queue_.Next());
    if (turn == nullptr) return;
    ++running_;
    if (!turn->delayed) delay_seconds_.Observe(std::chrono::duration<double>(now - turn->waiting_since).count());
    turn->delayed = true;
    if (turn->parked) {
      turn->parked = false;
      turn->resumed.Signal();
      continue;
    }
    granted_.push_back(turn->shared_from_this());
    if (granted_.size() > static_cast<size_t>(idle_threads_)) AddThread();
  }
}

void FairScheduler::JoinEnded() {
  for (std::thread& thread : ended_threads_) thread.join();
  ended_threads_.clear();
}

void FairScheduler::AddThread() {
  JoinEnded();
  ++idle_threads_;  // until it takes its first turn
  threads_.emplace_back();
  const auto place = std::prev(threads_.end());
  *place = std::thread([this, place] { Work(place); });
}

void FairScheduler::Work(std::list<std::thread>::iterator place) {
  // On Linux niceness belongs to the thread. A refusal costs fairness only.
  if (options_.niceness > 0 && nice(options_.niceness) == -1) errno = 0;
  absl::MutexLock lock(&mutex_);
  while (true) {
    if (granted_.empty() && idle_threads_ > options_.slots + kSpareThreads) break;
    mutex_.Await(absl::Condition(this, &FairScheduler::TurnsOrEnd));
    if (granted_.empty()) break;
    const std::shared_ptr<Turn> turn = std::move(granted_.front());
    granted_.pop_front();
    --idle_threads_;
    RunTurn(*turn);
    ++idle_threads_;
    Dispatch();
  }
  --idle_threads_;
  ended_threads_.splice(ended_threads_.end(), threads_, place);
}

void FairScheduler::RunTurn(Turn& turn) {
  {
    std::function<void()> body = std::move(turn.next);
    turn.next = nullptr;
    mutex_.Unlock();
    turn.slice_begin = options_.clock();
    if (body != nullptr) body();  // null: withdrawn after it had got a slot and before it had a thread
    body = nullptr;               // without the lock, because it may hold the last reference to a ticket
    mutex_.Lock();
  }
  const Nanos now = options_.clock();
  queue_.Charge(turn, now - turn.slice_begin);
  --running_;
  if (turn.units_done > 0) {
    queue_.Learn(turn, turn.units_done, turn.used - turn.learned);
    turn.units_done = 0;
    turn.learned = turn.used;
  }
  if (turn.next != nullptr) {
    turn.holds_thread = false;
    queue_.Wait(turn, now);
  } else {
    queue_.Stop(turn);
    if (turn.ended) queue_.Leave(turn);
  }
}

}  // namespace foretoken::work

#include "server/work/run_queue.h"

#include <algorithm>
#include <bit>

namespace foretoken::work {
namespace {

// One in so many turns of a caller goes to its longest work.
constexpr uint64_t kTurnsALongOne = 4;
// Callers whose measured rates are kept while they have nothing here.
constexpr size_t kMostIdleCallers = 1024;
// Weight of the newest measurement.
constexpr double kNewest = 0.2;

double SecondsOf(Nanos time) { return std::chrono::duration<double>(time).count(); }

// In a level: by the power of two of the expected time, then in order of admission.
uint64_t PlaceOf(const Job& job) {
  const auto microseconds = static_cast<uint64_t>(std::min(job.expected_seconds, 1e9) * 1e6);
  return static_cast<uint64_t>(std::bit_width(microseconds)) << 56 | job.number;
}

int& StreamsOf(const Job& job) { return job.is_short ? job.caller->num_short_streams : job.caller->num_streams; }

void Learn(double measured, double& rate) { rate = rate == 0 ? measured : (1 - kNewest) * rate + kNewest * measured; }

}  // namespace

int LevelOf(double seconds) {
  if (seconds < 2e-3) return 0;
  if (seconds < 20e-3) return 1;
  return seconds < 200e-3 ? 2 : 3;
}

CallerQueue& RunQueue::QueueOf(const std::string& caller) {
  std::unique_ptr<CallerQueue>& queue = callers_[caller];
  if (queue == nullptr) {
    queue = std::make_unique<CallerQueue>();
    queue->name = caller;
  }
  return *queue;
}

const CallerQueue* RunQueue::Find(const std::string& caller) const {
  const auto found = callers_.find(caller);
  return found == callers_.end() ? nullptr : found->second.get();
}

void RunQueue::ForgetIdleCallers() {
  if (callers_.size() <= kMostIdleCallers) return;
  absl::erase_if(callers_, [](const auto& entry) { return entry.second->num_jobs == 0; });
}

void RunQueue::Join(Job& job) {
  ForgetIdleCallers();
  job.caller = &QueueOf(job.spec.caller);
  job.number = next_number_++;
  job.expected_seconds = job.remaining_seconds = ExpectedSeconds(job.spec);
  job.level = LevelOf(job.expected_seconds);
  job.is_short = job.level == 0;
  ++job.caller->num_jobs;
  job.caller->bytes += job.spec.bytes;
  ++num_jobs_;
  bytes_ += job.spec.bytes;
}

void RunQueue::Leave(Job& job) {
  if (job.state == Job::State::kWaiting) Withdraw(job);
  if (job.begun && job.spec.kind == JobKind::kSweep) --StreamsOf(job);
  --job.caller->num_jobs;
  job.caller->bytes -= job.spec.bytes;
  --num_jobs_;
  bytes_ -= job.spec.bytes;
  job.caller = nullptr;
}

// From outside: its time ahead counts again.
void RunQueue::Enter(Job& job) { job.caller->backlog_seconds[static_cast<size_t>(job.level)] += job.remaining_seconds; }

void RunQueue::Drop(Job& job) {
  double& backlog = job.caller->backlog_seconds[static_cast<size_t>(job.level)];
  backlog = std::max(0.0, backlog - job.remaining_seconds);
}

void RunQueue::SetLevel(Job& job, int level) {
  if (level == job.level) return;
  Drop(job);
  job.level = level;
  Enter(job);
}

void RunQueue::Wait(Job& job, Nanos now) {
  CallerQueue& caller = *job.caller;
  if (job.state == Job::State::kRunning) {
    --caller.num_running;
    if (job.spec.kind == JobKind::kFit) --num_fits_;
    if (job.holds_thread) {
      ++caller.num_parked;
      ++num_parked_;
    }
  } else {
    Enter(job);
    if (caller.num_waiting + caller.num_running == 0) caller.time = std::max(caller.time, time_);
  }
  job.state = Job::State::kWaiting;
  job.waiting_since = now;
  caller.waiting[static_cast<size_t>(job.level)].emplace(PlaceOf(job), &job);
  ++num_waiting_;
  if (++caller.num_waiting > 1) return;
  caller.place = next_place_++;
  active_.insert(&caller);
}

void RunQueue::Withdraw(Job& job) {
  CallerQueue& caller = *job.caller;
  caller.waiting[static_cast<size_t>(job.level)].erase(PlaceOf(job));
  --num_waiting_;
  if (--caller.num_waiting == 0) active_.erase(&caller);
  job.state = Job::State::kOutside;
  Drop(job);
}

bool RunQueue::MayRun(const Job& job) const {
  if (job.spec.kind == JobKind::kFit && num_fits_ >= fit_slots_) return false;
  if (job.holds_thread) return true;
  if (job.spec.kind == JobKind::kSweep && !job.begun) {
    if (StreamsOf(job) >= (job.is_short ? kMostShortStreamsOfCaller : kMostStreamsOfCaller)) return false;
  }
  return job.caller->num_parked < kMostParkedOfCaller && num_parked_ < kMostParked;
}

Job* RunQueue::Best(const CallerQueue& caller) const {
  const bool long_first = caller.turns % kTurnsALongOne == kTurnsALongOne - 1;
  Job* oldest = nullptr;
  for (int i = 0; i < kNumLevels && oldest == nullptr; ++i) {
    const int level = long_first ? kNumLevels - 1 - i : i;
    for (const auto& [place, job] : caller.waiting[static_cast<size_t>(level)]) {
      if ((oldest != nullptr && oldest->number < job->number) || !MayRun(*job)) continue;
      if (!long_first) return job;
      oldest = job;
    }
  }
  return oldest;
}

Job* RunQueue::Next() {
  for (CallerQueue* caller : active_) {
    if (Job* job = Best(*caller); job != nullptr) {
      Begin(*job);
      return job;
    }
  }
  return nullptr;
}

void RunQueue::Begin(Job& job) {
  CallerQueue& caller = *job.caller;
  caller.waiting[static_cast<size_t>(job.level)].erase(PlaceOf(job));
  --num_waiting_;
  active_.erase(&caller);
  time_ = std::max(time_, caller.time);
  caller.time += kSlice.count();
  ++caller.turns;
  if (--caller.num_waiting > 0) {
    caller.place = next_place_++;
    active_.insert(&caller);
  }
  if (job.holds_thread) {
    --caller.num_parked;
    --num_parked_;
  }
  if (!job.begun && job.spec.kind == JobKind::kSweep) ++StreamsOf(job);
  if (job.spec.kind == JobKind::kFit) ++num_fits_;
  ++caller.num_running;
  job.begun = job.holds_thread = true;
  job.state = Job::State::kRunning;
}

void RunQueue::MoveTime(CallerQueue& caller, Nanos by) {
  const bool active = active_.erase(&caller) > 0;
  caller.time += by.count();
  if (active) active_.insert(&caller);
}

void RunQueue::Charge(Job& job, Nanos time) {
  MoveTime(*job.caller, time - kSlice);
  job.used += time;
  Drop(job);
  job.remaining_seconds -= SecondsOf(time);
  // Past what was expected: what lasted long is likely to last as long again.
  if (job.remaining_seconds < 0) job.remaining_seconds = SecondsOf(job.used) / 2;
  Enter(job);
  SetLevel(job, std::max(job.level, LevelOf(SecondsOf(job.used))));
}

void RunQueue::Renew(const Job& job) {
  time_ = std::max(time_, job.caller->time);
  MoveTime(*job.caller, kSlice);
}

void RunQueue::Stop(Job& job) {
  Drop(job);
  job.state = Job::State::kOutside;
  job.holds_thread = false;
  --job.caller->num_running;
  if (job.spec.kind == JobKind::kFit) --num_fits_;
}

void RunQueue::Learn(const Job& job, double units, Nanos time) {
  if (!(units > 0)) return;
  const auto kind = static_cast<size_t>(job.spec.kind);
  const double measured = SecondsOf(time) / units;
  work::Learn(measured, seconds_per_unit_[kind]);
  work::Learn(measured, job.caller->seconds_per_unit[kind]);
}

double RunQueue::ExpectedSeconds(const JobSpec& spec) const {
  const auto kind = static_cast<size_t>(spec.kind);
  const CallerQueue* caller = Find(spec.caller);
  const double own = caller == nullptr ? 0 : caller->seconds_per_unit[kind];
  return spec.units * (own > 0 ? own : seconds_per_unit_[kind]);
}

double RunQueue::ExpectedWait(const JobSpec& spec) const {
  const CallerQueue* caller = Find(spec.caller);
  if (caller == nullptr) return 0;
  const int level = LevelOf(ExpectedSeconds(spec));
  double ahead = 0;
  for (int i = 0; i <= level; ++i) ahead += caller->backlog_seconds[static_cast<size_t>(i)];
  double total = ahead;
  for (const CallerQueue* other : active_) {
    if (other == caller) continue;
    double theirs = 0;
    for (const double seconds : other->backlog_seconds) theirs += seconds;
    total += std::min(theirs, ahead);
  }
  return total / (spec.kind == JobKind::kFit ? fit_slots_ : slots_);
}

}  // namespace foretoken::work

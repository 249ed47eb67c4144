#include "tests/profile/fake_engine.h"

#include <algorithm>
#include <utility>

namespace foretoken::fake {
namespace {

constexpr size_t kMostSteps = 1'000'000;
constexpr size_t kMostRequests = 1'000;

SchedulerSettings With(SchedulerSettings settings, const FakeFaults& faults) {
  settings.prefix_caching |= faults.prefix_caching > 0;
  return settings;
}

}  // namespace

Generation::State Generation::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

int64_t Generation::WaitFor(int64_t tokens) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_.ended || static_cast<int64_t>(state_.tokens.size()) >= tokens; });
  return static_cast<int64_t>(state_.tokens.size());
}

void Generation::AddToken(double end, int64_t cached, bool last) {
  const std::lock_guard lock(mutex_);
  state_.cached_tokens = cached;
  state_.tokens.push_back(end);
  state_.ended |= last;
  changed_.notify_all();
}

void Generation::End() {
  const std::lock_guard lock(mutex_);
  state_.ended = true;
  changed_.notify_all();
}

FakeEngine::FakeEngine(StepModel model, const SchedulerSettings& settings, const FakeFaults& faults, double time_scale)
    : model_(std::move(model)),
      faults_(faults),
      time_scale_(time_scale),
      scheduler_(With(settings, faults), model_),
      thread_([this] { Run(); }) {}

FakeEngine::~FakeEngine() {
  Stop();
  thread_.join();
}

void FakeEngine::Stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  submitted_.notify_all();
  stopped_.notify_all();
  for (const auto& [id, generation] : running_) generation->End();
  for (const Pending& pending : pending_) pending.generation->End();
}

std::shared_ptr<const Generation> FakeEngine::Submit(int64_t prompt, int64_t output, std::vector<uint64_t> blocks) {
  const Efficiencies& of = model_.efficiencies;
  const double admission =
      time_scale_ *
      (of.admission + of.admission_per_request + static_cast<double>(prompt) * of.admission_per_token).value();
  const std::lock_guard lock(mutex_);
  const double arrival = SinceStart();
  last_queued_ = std::max(last_queued_, arrival + admission);
  auto generation = std::make_shared<Generation>(
      next_id_++, Generation::State{.arrival = arrival, .queued = last_queued_, .prompt_tokens = prompt});
  if (stopping_) generation->End();
  requests_.push_back(generation);
  if (requests_.size() > kMostRequests) requests_.pop_front();
  pending_.push_back({generation, last_queued_, prompt, output, std::move(blocks)});
  submitted_.notify_all();
  return generation;
}

void FakeEngine::Abort(const Generation& generation) {
  const std::lock_guard lock(mutex_);
  aborted_.push_back(generation.id());
  std::erase_if(pending_, [&](const Pending& pending) { return pending.generation->id() == generation.id(); });
}

SchedulerCounts FakeEngine::counts() const {
  const std::lock_guard lock(mutex_);
  SchedulerCounts counts = scheduler_.counts();
  counts.waiting += static_cast<int64_t>(pending_.size());
  return counts;
}

std::vector<StepRecord> FakeEngine::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

std::vector<Generation::State> FakeEngine::requests() const {
  const std::lock_guard lock(mutex_);
  std::vector<Generation::State> states;
  for (const auto& generation : requests_) states.push_back(generation->state());
  return states;
}

void FakeEngine::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Receive();
    const PlannedStep step = scheduler_.Plan();
    if (step.seconds > 0) {
      RunStep(step, lock);
    } else if (!WaitForWork(lock)) {
      return;
    }
  }
}

// Who was queued when the last step ended joins the next, and who gave up leaves.
void FakeEngine::Receive() {
  while (!pending_.empty() && pending_.front().queued <= now_) {
    Pending& next = pending_.front();
    scheduler_.Add(next.generation->id(), next.prompt, next.output, std::move(next.blocks));
    running_[next.generation->id()] = std::move(next.generation);
    pending_.pop_front();
  }
  for (const int64_t id : aborted_) {
    scheduler_.Remove(id);
    if (const auto found = running_.find(id); found != running_.end()) {
      found->second->End();
      running_.erase(found);
    }
  }
  aborted_.clear();
}

// Idle until the next request is queued. Whether there is one.
bool FakeEngine::WaitForWork(std::unique_lock<std::mutex>& lock) {
  submitted_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
  if (stopping_) return false;
  now_ = std::max(now_, pending_.front().queued);
  return true;
}

void FakeEngine::RunStep(const PlannedStep& step, std::unique_lock<std::mutex>& lock) {
  const double begin = now_;
  now_ += SlowedBy(step.seconds);
  ++ran_;
  const auto end = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(now_));
  if (stopped_.wait_until(lock, end, [this] { return stopping_; })) return;
  if (steps_.size() < kMostSteps) steps_.push_back({begin, now_, step.decodes, step.prompt_tokens});
  Deliver();
}

double FakeEngine::SlowedBy(double seconds) const {
  const double slowed = time_scale_ * seconds * (1 + faults_.drift_per_minute * now_ / 60);
  const auto every = static_cast<int64_t>(faults_.stall_every_steps);
  return every > 0 && (ran_ + 1) % every == 0 ? slowed + faults_.stall_seconds : slowed;
}

void FakeEngine::Deliver() {
  for (const MadeToken& token : scheduler_.Finish()) {
    const auto found = running_.find(token.request);
    found->second->AddToken(now_, token.cached, token.last);
    if (token.last) running_.erase(found);
  }
}

}  // namespace foretoken::fake

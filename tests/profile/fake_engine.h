// The fake engine: a thread that runs the steps of a FakeScheduler in real time.
//
// Engine time is exact. A step begins where the last one ended, and ends after what the step model says, whenever the
// thread happens to wake. So a late wake-up delays the tokens of one step and nothing after it. An idle engine begins
// when a request comes. All times are seconds since the start of the engine.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_ENGINE_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "estimator/step/step.h"
#include "tests/profile/fake_faults.h"
#include "tests/profile/fake_scheduler.h"

namespace foretoken::fake {

// One request in the engine. Thread-safe.
class Generation {
 public:
  struct State {
    double arrival = 0;  // when it was submitted
    double queued = 0;   // when the engine could begin with it: after the admission of the step model's efficiencies
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;   // of the prompt
    std::vector<double> tokens;  // the end of the step that made each: what a client would measure at best
    bool ended = false;          // has all its tokens, was given up, or the engine stopped
  };

  Generation(int64_t id, const State& state) : id_(id), state_(state) {}

  int64_t id() const { return id_; }
  State state() const;
  // Waits until it has this many tokens, or ended. Tokens that it has then.
  int64_t WaitFor(int64_t tokens) const;

 private:
  friend class FakeEngine;
  void AddToken(double end, int64_t cached, bool last);
  void End();

  int64_t id_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  State state_;
};

// A step that ran.
struct StepRecord {
  double begin = 0;
  double end = 0;
  int64_t decodes = 0;
  int64_t prompt_tokens = 0;
};

class FakeEngine {
 public:
  // time_scale: 2 makes all steps take twice as long.
  FakeEngine(StepModel model, const SchedulerSettings& settings, const FakeFaults& faults, double time_scale);
  ~FakeEngine();
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  bool CanHold(int64_t tokens) const { return scheduler_.CanHold(tokens); }
  // REQUIRES: CanHold(prompt + output); `blocks` as of FakeScheduler::Add.
  std::shared_ptr<const Generation> Submit(int64_t prompt, int64_t output, std::vector<uint64_t> blocks);
  // The client has left.
  void Abort(const Generation& generation);
  // Ends all generations. Later ones end at once.
  void Stop();

  SchedulerCounts counts() const;
  // All steps, up to the first million.
  std::vector<StepRecord> steps() const;
  // The last thousand requests, the oldest first.
  std::vector<Generation::State> requests() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    std::shared_ptr<Generation> generation;
    double queued = 0;
    int64_t prompt = 0;
    int64_t output = 0;
    std::vector<uint64_t> blocks;
  };

  double SinceStart() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void Run();
  void Receive();
  bool WaitForWork(std::unique_lock<std::mutex>& lock);
  void RunStep(const PlannedStep& step, std::unique_lock<std::mutex>& lock);
  double SlowedBy(double seconds) const;
  void Deliver();

  const StepModel model_;
  const FakeFaults faults_;
  const double time_scale_;
  const Clock::time_point start_ = Clock::now();

  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  FakeScheduler scheduler_;
  double now_ = 0;  // end of the last step
  int64_t ran_ = 0;
  int64_t next_id_ = 0;
  double last_queued_ = 0;
  std::deque<Pending> pending_;
  std::vector<int64_t> aborted_;
  std::map<int64_t, std::shared_ptr<Generation>> running_;  // in the scheduler
  std::vector<StepRecord> steps_;
  std::deque<std::shared_ptr<const Generation>> requests_;
  std::thread thread_;  // the last, because it uses all of the above
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_ENGINE_H_

// The order of turns, by a clock of the tests and one or two slots.
#include "server/work/run_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace foretoken::work {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Jobs that take the time that a test says, a slice at a turn, on one slot.
class RunQueueTest : public testing::Test {
 protected:
  struct Task {
    Job job;
    Nanos left;
    Nanos ended{-1};
  };

  Task& Add(const std::string& caller, JobKind kind, double units, Nanos takes) {
    Task& task = tasks_.emplace_back();
    task.job.spec = {.caller = caller, .kind = kind, .units = units};
    task.left = takes;
    queue_.Join(task.job);
    queue_.Wait(task.job, now_);
    return task;
  }
  // A batch of a thousand candidates: 15 ms.
  Task& AddBatch(const std::string& caller) { return Add(caller, JobKind::kBatch, 1000, milliseconds(15)); }

  Task& TaskOf(const Job& job) {
    for (Task& task : tasks_) {
      if (&task.job == &job) return task;
    }
    throw std::logic_error("a job of no task");
  }

  // One turn: to the end of the slice, or of the task.
  void Turn() {
    Job* job = queue_.Next();
    ASSERT_NE(job, nullptr);
    Task& task = TaskOf(*job);
    const Nanos time = std::min(kSlice, task.left);
    now_ += time;
    task.left -= time;
    had_[job->spec.caller] += time;
    queue_.Charge(*job, time);
    if (task.left > Nanos(0)) return queue_.Wait(*job, now_);
    task.ended = now_;
    queue_.Stop(*job);
    queue_.Leave(*job);
  }
  void TurnsUntil(Nanos end) {
    while (now_ < end && queue_.num_waiting() > 0) Turn();
  }

  RunQueue queue_{1};
  Nanos now_{0};
  std::deque<Task> tasks_;
  std::map<std::string, Nanos> had_;
};

TEST_F(RunQueueTest, ASearchOfAnotherDoesNotWaitForBatches) {
  for (int i = 0; i < 100; ++i) AddBatch(i % 2 == 0 ? "a" : "b");
  TurnsUntil(milliseconds(300));
  const Nanos came = now_;
  const Task& search = Add("c", JobKind::kSolve, 40, microseconds(300));
  Turn();
  EXPECT_EQ(search.ended - came, microseconds(300));
}

TEST_F(RunQueueTest, BusyCallersShareEquallyWhateverTheyAsk) {
  for (int i = 0; i < 1000; ++i) AddBatch("many");
  Add("one", JobKind::kSweep, 1e7, std::chrono::seconds(10));
  for (int i = 0; i < 10; ++i) Add("few", JobKind::kSolve, 1000, milliseconds(100));
  TurnsUntil(milliseconds(900));
  for (const char* caller : {"many", "one", "few"}) {
    EXPECT_NEAR(std::chrono::duration<double>(had_[caller]).count(), 0.3, 0.002) << caller;
  }
}

TEST_F(RunQueueTest, WhoComesLaterOwesNothingAndIsOwedNothing) {
  for (int i = 0; i < 100; ++i) AddBatch("early");
  TurnsUntil(milliseconds(500));
  for (int i = 0; i < 100; ++i) AddBatch("late");
  TurnsUntil(milliseconds(700));
  EXPECT_NEAR(std::chrono::duration<double>(had_["late"]).count(), 0.1, 0.002);
}

TEST_F(RunQueueTest, ASmallSweepOfTheSameCallerGoesBeforeItsLongOnes) {
  for (int i = 0; i < 100; ++i) Add("a", JobKind::kSweep, 1e6, milliseconds(500));
  TurnsUntil(milliseconds(50));
  const Nanos came = now_;
  const Task& small = Add("a", JobKind::kSweep, 3, microseconds(20));
  TurnsUntil(came + milliseconds(5));
  EXPECT_GE(small.ended, came);
  EXPECT_LE(small.ended - came, kSlice + microseconds(20));  // a turn of long work may come between
}

TEST_F(RunQueueTest, AFloodOfShortWorkLeavesLongWorkAQuarter) {
  const Task& sweep = Add("a", JobKind::kSweep, 1e6, milliseconds(100));
  for (int i = 0; i < 2000; ++i) Add("a", JobKind::kSolve, 40, milliseconds(1));
  TurnsUntil(milliseconds(410));
  EXPECT_GE(sweep.ended, Nanos(0));
}

TEST_F(RunQueueTest, WorkThatTakesLongerThanExpectedStepsBack) {
  Task& dear = Add("a", JobKind::kSolve, 40, milliseconds(1000));  // expected: 0.6 ms
  EXPECT_EQ(dear.job.level, 0);
  TurnsUntil(milliseconds(50));
  EXPECT_EQ(dear.job.level, 2);
  const Nanos came = now_;
  const Task& quick = Add("a", JobKind::kSolve, 40, microseconds(300));
  TurnsUntil(came + milliseconds(5));
  EXPECT_LE(quick.ended - came, kSlice + microseconds(300));
}

TEST_F(RunQueueTest, AFewTimesShorterIsFirstToo) {
  for (int i = 0; i < 600; ++i) Add("a", JobKind::kBatch, 120, microseconds(1800));
  TurnsUntil(milliseconds(50));
  const Nanos came = now_;
  const Task& search = Add("a", JobKind::kSolve, 20, microseconds(300));
  TurnsUntil(came + milliseconds(5));
  EXPECT_GE(search.ended, came);
  EXPECT_LE(search.ended - came, kSlice + microseconds(300));
}

TEST_F(RunQueueTest, JobsOfOneLevelEndInTheOrderOfTheirArrival) {
  std::vector<const Task*> batches;
  for (int i = 0; i < 10; ++i) batches.push_back(&AddBatch("a"));
  TurnsUntil(std::chrono::seconds(1));
  for (size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_LT(batches[i]->ended, batches[i + 1]->ended) << i;
}

TEST_F(RunQueueTest, AFitLeavesASlotToOthers) {
  RunQueue queue(2);
  std::deque<Job> fits(9);
  for (Job& fit : fits) {
    fit.spec = {.caller = "ci", .kind = JobKind::kFit, .units = 1000};
    queue.Join(fit);
    queue.Wait(fit, now_);
  }
  EXPECT_EQ(queue.Next(), &fits[0]);
  EXPECT_EQ(queue.Next(), nullptr);
  Job search;
  search.spec = {.caller = "ci", .kind = JobKind::kSolve, .units = 40};
  queue.Join(search);
  queue.Wait(search, now_);
  EXPECT_EQ(queue.Next(), &search);
  queue.Charge(fits[0], milliseconds(900));
  queue.Stop(fits[0]);
  EXPECT_EQ(queue.Next(), &fits[1]);
}

TEST_F(RunQueueTest, WhatHoldsAThreadOrAStreamIsBounded) {
  std::deque<Job> sweeps(kMostStreamsOfCaller + 1);
  for (Job& sweep : sweeps) {
    sweep.spec = {.caller = "a", .kind = JobKind::kSweep, .units = 1e6};
    queue_.Join(sweep);
    queue_.Wait(sweep, now_);
  }
  for (int i = 0; i < kMostStreamsOfCaller; ++i) {  // each sends its first chunk, to a reader that does not read
    Job* sweep = queue_.Next();
    ASSERT_EQ(sweep, &sweeps[static_cast<size_t>(i)]);
    queue_.Charge(*sweep, microseconds(100));
    queue_.Stop(*sweep);
  }
  EXPECT_EQ(queue_.Next(), nullptr);
  Job small;
  small.spec = {.caller = "a", .kind = JobKind::kSweep, .units = 3};
  queue_.Join(small);
  queue_.Wait(small, now_);
  EXPECT_EQ(queue_.Next(), &small);
  queue_.Leave(sweeps[0]);
  EXPECT_EQ(queue_.Next(), &sweeps.back());
}

TEST_F(RunQueueTest, InterruptedWorkGoesOnWhenTooMuchIsInterrupted) {
  std::deque<Job> searches(kMostParkedOfCaller + 1);
  for (Job& search : searches) {  // each is expected to be short, is interrupted and steps back
    search.spec = {.caller = "a", .kind = JobKind::kSolve, .units = 1};
    queue_.Join(search);
    queue_.Wait(search, now_);
  }
  for (int i = 0; i < kMostParkedOfCaller;) {
    Job* search = queue_.Next();
    const bool first = search->used == Nanos(0);
    queue_.Charge(*search, first ? milliseconds(3) : kSlice);
    queue_.Wait(*search, now_);
    i += first ? 1 : 0;
  }
  EXPECT_TRUE(queue_.Next()->holds_thread);
  EXPECT_EQ(searches.back().used, Nanos(0));
}

TEST_F(RunQueueTest, TheWaitIsWhatIsAheadAtMeasuredRates) {
  for (int i = 0; i < 10; ++i) AddBatch("a");  // 0.15 s as first expected
  const JobSpec batch = {.caller = "a", .kind = JobKind::kBatch, .units = 1000};
  EXPECT_NEAR(queue_.ExpectedWait(batch), 0.15, 1e-9);
  EXPECT_NEAR(queue_.ExpectedWait({.caller = "a", .kind = JobKind::kSolve, .units = 40}), 0, 1e-9);
  // Another caller's batch waits for its own alone, beside a's; as it has none, for nothing.
  EXPECT_EQ(queue_.ExpectedWait({.caller = "b", .kind = JobKind::kBatch, .units = 1000}), 0);
  AddBatch("b");
  EXPECT_NEAR(queue_.ExpectedWait({.caller = "b", .kind = JobKind::kBatch, .units = 1000}), 0.030, 1e-9);
  // Batches of a that take ten times as long: its next ones are expected to, those of b a fifth of the way.
  Job dear;
  dear.spec = batch;
  queue_.Join(dear);
  queue_.Learn(dear, 1000, milliseconds(150));
  EXPECT_NEAR(queue_.ExpectedSeconds(batch), 0.150, 1e-9);
  EXPECT_NEAR(queue_.ExpectedSeconds({.caller = "b", .kind = JobKind::kBatch, .units = 1000}), 0.042, 1e-9);
}

}  // namespace
}  // namespace foretoken::work

// The threads under the order of turns. The clock is the tests': a job works by moving it.
#include "server/work/fair_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "server/work/work_metrics.h"

namespace foretoken::work {
namespace {

using std::chrono::milliseconds;

class FairSchedulerTest : public testing::Test {
 protected:
  FairScheduler::Options OptionsOf(int slots) {
    return {.name = "test", .slots = slots, .clock = [this] { return Nanos(now_.load()); }};
  }
  void Work(const Ticket& ticket, int milliseconds_of_work) {
    for (int i = 0; i < milliseconds_of_work; ++i) {
      now_ += Nanos(milliseconds(1)).count();
      ticket.GiveWay();
    }
  }
  // Holds the only slot until `begin`, so that what is admitted meanwhile waits. The ticket ends before the scheduler.
  std::unique_ptr<Ticket> Hold(FairScheduler& scheduler, absl::Notification& begin) {
    std::unique_ptr<Ticket> holder = *scheduler.Admit({.caller = "holder"});
    absl::Notification held;
    holder->Run([&] {
      held.Notify();
      begin.WaitForNotification();
    });
    held.WaitForNotification();
    return holder;
  }

  std::atomic<int64_t> now_{0};
};

TEST_F(FairSchedulerTest, AShortJobRunsBetweenTheSlicesOfLongOnes) {
  FairScheduler scheduler(OptionsOf(1));
  absl::Notification begin;
  const std::unique_ptr<Ticket> holder = Hold(scheduler, begin);
  std::vector<std::unique_ptr<Ticket>> tickets;
  std::vector<std::string> ended;  // one slot: one thread at a time is in a turn
  absl::BlockingCounter all(3);
  const auto add = [&](const std::string& caller, int work, double units) {
    tickets.push_back(*scheduler.Admit({.caller = caller, .kind = JobKind::kBatch, .units = units}));
    tickets.back()->Run([&, caller, work, ticket = tickets.back().get()] {
      Work(*ticket, work);
      ended.push_back(caller);
      all.DecrementCount();
    });
  };
  add("a", 1000, 66'000);
  add("b", 1000, 66'000);
  add("c", 1, 65);
  begin.Notify();
  all.Wait();
  EXPECT_EQ(ended, (std::vector<std::string>{"c", "a", "b"}));
}

TEST_F(FairSchedulerTest, InterruptedJobsAreAllFinished) {
  FairScheduler scheduler(OptionsOf(2));
  constexpr int kJobs = 60;
  std::vector<std::unique_ptr<Ticket>> tickets;
  absl::BlockingCounter all(kJobs);
  std::atomic<int> inside{0}, most{0};
  for (int i = 0; i < kJobs; ++i) {
    tickets.push_back(*scheduler.Admit({.caller = std::to_string(i % 7), .units = 1.0 + 1000 * (i % 3)}));
    tickets.back()->Run([&, ticket = tickets.back().get()] {
      for (int step = 0; step < 20; ++step) {
        const int now = ++inside;
        int before = most;
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        now_ += Nanos(milliseconds(1)).count();
        --inside;
        ticket->GiveWay();
      }
      all.DecrementCount();
    });
  }
  all.Wait();
  EXPECT_LE(most, 2);
  tickets.clear();
  while (scheduler.statistics().jobs > 0) absl::SleepFor(absl::Milliseconds(1));  // the last turns return
  EXPECT_EQ(scheduler.statistics().waiting, 0);
}

TEST_F(FairSchedulerTest, AStreamRunsTurnByTurn) {
  FairScheduler scheduler(OptionsOf(1));
  absl::Notification done;
  auto ticket = *scheduler.Admit({.caller = "a", .kind = JobKind::kSweep, .units = 3});
  int turns = 0;
  std::function<void()> turn = [&] {
    if (++turns == 3) return done.Notify();
    ticket->Run(turn);  // before this turn has returned
  };
  ticket->Run(turn);
  done.WaitForNotification();
  EXPECT_EQ(turns, 3);
}

TEST_F(FairSchedulerTest, ATurnThatHasNotBegunCanBeTakenBack) {
  FairScheduler scheduler(OptionsOf(1));
  absl::Notification begin;
  const std::unique_ptr<Ticket> holder = Hold(scheduler, begin);
  auto ticket = *scheduler.Admit({.caller = "a"});
  EXPECT_FALSE(ticket->Withdraw());
  ticket->Run([] { FAIL() << "was taken back"; });
  EXPECT_EQ(scheduler.statistics().waiting, 1);
  EXPECT_TRUE(ticket->Withdraw());
  EXPECT_FALSE(ticket->Withdraw());
  EXPECT_EQ(scheduler.statistics().waiting, 0);
  absl::Notification ran;
  ticket->Run([&] { ran.Notify(); });
  begin.Notify();
  ran.WaitForNotification();
}

TEST_F(FairSchedulerTest, ATicketMayEndInsideItsLastTurn) {
  FairScheduler scheduler(OptionsOf(1));
  for (int i = 0; i < 100; ++i) {
    absl::Notification done;
    auto ticket = *scheduler.Admit({.caller = "a"});
    ticket->Run([&] {
      ticket.reset();
      done.Notify();
    });
    done.WaitForNotification();
  }
}

TEST_F(FairSchedulerTest, TheEndRunsWhatWaits) {
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<Ticket>> tickets;
  {
    FairScheduler scheduler(OptionsOf(1));
    absl::Notification begin;
    const std::unique_ptr<Ticket> holder = Hold(scheduler, begin);
    for (int i = 0; i < 5; ++i) {
      tickets.push_back(*scheduler.Admit({.caller = "a"}));
      tickets.back()->Run([&] { ++ran; });
    }
    begin.Notify();
    while (ran < 5) absl::SleepFor(absl::Milliseconds(1));
    tickets.clear();
  }
  EXPECT_EQ(ran, 5);
}

// Between a slot and a thread there is a moment in which a turn can still be taken back.
TEST_F(FairSchedulerTest, ATurnThatIsTakenBackAtAnyMomentRunsOnceOrNever) {
  FairScheduler scheduler(OptionsOf(2));
  for (int i = 0; i < 2000; ++i) {
    auto runs = std::make_shared<absl::Notification>();
    const std::unique_ptr<Ticket> ticket = *scheduler.Admit({.caller = "a"});
    ticket->Run([runs] { runs->Notify(); });
    EXPECT_TRUE(ticket->Withdraw() || runs->WaitForNotificationWithTimeout(absl::Seconds(30)));
  }
}

TEST_F(FairSchedulerTest, CountsWhatItRefusesAndHowLongJobsWaited) {
  FairScheduler::Options options = OptionsOf(1);
  options.limits.max_jobs_of_caller = 2;
  FairScheduler scheduler(options);
  absl::Notification begin, ran;
  const std::unique_ptr<Ticket> holder = Hold(scheduler, begin);
  auto first = *scheduler.Admit({.caller = "a", .bytes = 7});
  auto second = *scheduler.Admit({.caller = "a", .bytes = 8});
  EXPECT_TRUE(absl::IsResourceExhausted(scheduler.Admit({.caller = "a"}).status()));
  first->Run([&] { ran.Notify(); });
  now_ += Nanos(milliseconds(40)).count();
  begin.Notify();
  ran.WaitForNotification();
  const FairScheduler::Statistics now = scheduler.statistics();
  EXPECT_EQ(now.refused[static_cast<size_t>(RefusalCause::kCallerJobs)], 1U);
  EXPECT_EQ(now.jobs, 3);
  EXPECT_EQ(now.bytes, 15);
  EXPECT_EQ(now.delay_seconds.sample_count, 2U);
  EXPECT_NEAR(now.delay_seconds.sample_sum, 0.040, 1e-9);
  std::set<std::string> families;
  for (const auto& family : WorkMetrics({&scheduler}).Collect()) families.insert(family.name);
  EXPECT_THAT(families,
              testing::ElementsAre("foretoken_queue_bytes", "foretoken_queue_calls", "foretoken_queue_delay_seconds",
                                   "foretoken_queue_refused_total", "foretoken_queue_waiting"));
}

}  // namespace
}  // namespace foretoken::work

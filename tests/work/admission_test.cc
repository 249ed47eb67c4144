// What is refused at once, for what reason, and when to come again.
#include "server/work/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "estimator/base/errors.h"
#include "server/work/retry_after.h"

namespace foretoken::work {
namespace {

using testing::HasSubstr;

class AdmissionTest : public testing::Test {
 protected:
  static JobSpec Batch(const std::string& caller, int64_t bytes = 0) {
    return {.caller = caller, .kind = JobKind::kBatch, .units = 1000, .bytes = bytes};  // 15 ms as first expected
  }
  void Add(const JobSpec& spec) {
    Job& job = jobs_.emplace_back();
    job.spec = spec;
    queue_.Join(job);
    queue_.Wait(job, Nanos(0));
  }
  void Expect(const JobSpec& spec, RefusalCause cause, const char* message) {
    const std::optional<JobRefusal> refusal = FindRefusal(spec, limits_, queue_);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->cause, cause) << refusal->status;
    EXPECT_EQ(refusal->status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(DetailOf(refusal->status).reason, Reason::kOverloaded);
    EXPECT_THAT(std::string(refusal->status.message()), HasSubstr(message));
    EXPECT_GE(RetryAfterOf(refusal->status).value_or(0), 0.1);
    EXPECT_LE(RetryAfterOf(refusal->status).value_or(0), 30);
  }
  bool Taken(const JobSpec& spec) const { return !FindRefusal(spec, limits_, queue_); }

  Limits limits_;
  RunQueue queue_{1};
  std::deque<Job> jobs_;
};

TEST_F(AdmissionTest, RefusesWhatWouldWaitTooLong) {
  limits_.max_wait = absl::Milliseconds(100);
  for (int i = 0; i < 7; ++i) {
    EXPECT_TRUE(Taken(Batch("a"))) << i;
    Add(Batch("a"));
  }
  Expect(Batch("a"), RefusalCause::kWait, "the call would wait 0.1 s for its turn; allowed 0.1 s");
  EXPECT_TRUE(Taken(Batch("b")));                                             // has a turn of its own
  EXPECT_TRUE(Taken({.caller = "a", .kind = JobKind::kSolve, .units = 40}));  // short work goes first
}

TEST_F(AdmissionTest, ShortWorkIsRefusedEarlier) {
  const JobSpec short_sweep = {.caller = "a", .kind = JobKind::kSweep, .units = 15e3};  // 15 ms
  const JobSpec long_sweep = {.caller = "a", .kind = JobKind::kSweep, .units = 1e6};    // 1 s
  for (int i = 0; i < 340; ++i) Add(short_sweep);
  Expect(short_sweep, RefusalCause::kWait, "the call would wait 5.1 s for its turn; allowed 5.0 s");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(Taken(long_sweep));
    Add(long_sweep);
  }
  Add(long_sweep);
  Expect(long_sweep, RefusalCause::kWait, "the call would wait 10.1 s for its turn; allowed 10.0 s");
}

TEST_F(AdmissionTest, RefusesWhatItsDeadlineWouldCut) {
  for (int i = 0; i < 20; ++i) Add(Batch("a"));  // 0.3 s
  JobSpec patient = Batch("a");
  patient.time_left = absl::Milliseconds(400);
  EXPECT_TRUE(Taken(patient));
  JobSpec hasty = Batch("a");
  hasty.time_left = absl::Milliseconds(200);
  Expect(hasty, RefusalCause::kDeadline, "would wait 0.3 s for its turn; allowed by your deadline 0.2 s");
}

TEST_F(AdmissionTest, RefusesMoreThanFits) {
  limits_ = {.max_jobs = 5, .max_jobs_of_caller = 3, .max_bytes = 1000, .max_bytes_of_caller = 500};
  for (int i = 0; i < 3; ++i) Add(Batch("a", 100));
  Expect(Batch("a"), RefusalCause::kCallerJobs, "your large calls: 3 in the server, 1 asked; allowed 3 at once");
  Expect(Batch("b", 501), RefusalCause::kCallerBytes, "0 bytes of requests in the server, 501 asked; allowed 500");
  Add(Batch("b", 500));
  Expect(Batch("c", 300), RefusalCause::kBytes, "800 bytes of requests in the server, 300 asked; allowed 1000");
  Add(Batch("c", 200));
  Expect(Batch("d"), RefusalCause::kJobs, "all callers' large calls: 5 in the server, 1 asked; allowed 5 at once");
  queue_.Leave(jobs_.back());
  EXPECT_TRUE(Taken(Batch("d")));
}

TEST_F(AdmissionTest, NamesCauses) {
  EXPECT_STREQ(NameOf(RefusalCause::kWait), "queue_wait");
  EXPECT_STREQ(NameOf(RefusalCause::kDeadline), "deadline");
  EXPECT_STREQ(NameOf(RefusalCause::kBytes), "bytes");
}

}  // namespace
}  // namespace foretoken::work

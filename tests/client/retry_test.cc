#include "client/retry.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/time/clock.h"

namespace foretoken::client {
namespace {

TEST(BackoffTest, DoublesUpToItsBoundAndJitters) {
  struct Case {
    const char* name;
    int attempt;
    double random;
    int want_ms;
  };
  const Case cases[] = {
      {"first, least", 1, 0, 25},       // 50 * 0.5
      {"second, middle", 2, 0.5, 75},   // 100 * 0.75
      {"fifth, least", 5, 0, 400},      // 800 * 0.5
      {"sixth is bounded", 6, 0, 500},  // min(1600, 1000) * 0.5
      {"far out is bounded", 60, 0.5, 750},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Backoff(RetryPolicy(), c.attempt, c.random), absl::Milliseconds(c.want_ms)) << c.name;
}

int Attempts(RetryLoop loop, const absl::Status& answer) {
  int attempts = 0;
  loop.sleep = [](absl::Duration) {};
  CallWithRetry(loop, [&] {
    ++attempts;
    return answer;
  }).IgnoreError();
  return attempts;
}

TEST(CallWithRetryTest, OnlyUnavailableOnlyRepeatableOnlyInTime) {
  const absl::Time far = absl::InfiniteFuture();
  EXPECT_EQ(Attempts({.policy = {}, .repeatable = true, .deadline = far, .sleep = {}}, absl::UnavailableError("")), 4);
  EXPECT_EQ(Attempts({.policy = {}, .repeatable = false, .deadline = far, .sleep = {}}, absl::UnavailableError("")), 1);
  EXPECT_EQ(Attempts({.policy = {}, .repeatable = true, .deadline = far, .sleep = {}}, absl::InternalError("")), 1);
  EXPECT_EQ(
      Attempts({.policy = {}, .repeatable = true, .deadline = absl::Now(), .sleep = {}}, absl::UnavailableError("")),
      1);
  EXPECT_EQ(Attempts({.policy = {}, .repeatable = true, .deadline = far, .sleep = {}}, absl::OkStatus()), 1);
}

TEST(CallWithRetryTest, EveryCodeButUnavailableIsFinal) {
  constexpr int kLastCode = static_cast<int>(absl::StatusCode::kUnauthenticated);
  for (int code = 0; code <= kLastCode; ++code) {
    const absl::Status answer(static_cast<absl::StatusCode>(code), "m");
    const RetryLoop loop{.policy = {}, .repeatable = true, .deadline = absl::InfiniteFuture(), .sleep = {}};
    EXPECT_EQ(Attempts(loop, answer), absl::IsUnavailable(answer) ? 4 : 1) << answer;
  }
}

TEST(CallWithRetryTest, WaitsLongerEachTime) {
  std::vector<absl::Duration> waits;
  const RetryLoop loop{.policy = {.max_attempts = 3},
                       .repeatable = true,
                       .deadline = absl::InfiniteFuture(),
                       .sleep = [&waits](absl::Duration wait) { waits.push_back(wait); }};
  EXPECT_FALSE(CallWithRetry(loop, [] { return absl::UnavailableError("m"); }).ok());
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_GE(waits[0], absl::Milliseconds(25));  // 50 * 0.5
  EXPECT_LE(waits[0], absl::Milliseconds(50));
  EXPECT_GE(waits[1], absl::Milliseconds(50));  // 100 * 0.5
  EXPECT_LE(waits[1], absl::Milliseconds(100));
}

TEST(CallWithRetryTest, TheCauseKeepsItsDetails) {
  absl::Status cause = absl::UnavailableError("the store is locked");
  cause.SetPayload("url", absl::Cord("details"));
  int calls = 0;
  const RetryLoop loop{
      .policy = {}, .repeatable = true, .deadline = absl::InfiniteFuture(), .sleep = [](absl::Duration) {}};
  const absl::Status status =
      CallWithRetry(loop, [&] { return ++calls == 1 ? cause : absl::DeadlineExceededError(""); });
  EXPECT_EQ(status.GetPayload("url"), absl::Cord("details"));
}

TEST(CallWithRetryTest, TheCauseOutlivesARepetitionWithoutAnswer) {
  const RetryLoop loop{
      .policy = {}, .repeatable = true, .deadline = absl::InfiniteFuture(), .sleep = [](absl::Duration) {}};
  int calls = 0;
  const absl::Status status = CallWithRetry(loop, [&calls] {
    return ++calls == 1 ? absl::UnavailableError("the store is locked") : absl::DeadlineExceededError("");
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(status.ToString(), "UNAVAILABLE: the store is locked (tried again, with no answer in time)");
}

}  // namespace
}  // namespace foretoken::client

#include "client/cli/profile/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/profile/profiler.h"

namespace foretoken::cli {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

// A request of 4 output tokens: the first after 100 ms, then one every 10 ms.
RequestTiming Request() {
  return {.prompt_asked = 32,
          .output_asked = 4,
          .first = 0.1,
          .last = 0.13,
          .end = 0.131,
          .events = 4,
          .prompt_tokens = 32,
          .output_tokens = 4,
          .gaps = {0.01f, 0.01f, 0.01f},
          .http_status = 200};
}

LoadRun RunOf(std::vector<RequestTiming> requests) {
  return {.point = {.concurrency = 1,
                    .requests = static_cast<int>(requests.size()),
                    .prompt_least = 32,
                    .prompt_most = 32,
                    .output_least = 4,
                    .output_most = 4},
          .requests = std::move(requests),
          .seconds = 1};
}

std::vector<FindingKind> KindsOf(const Outcome& outcome) {
  std::vector<FindingKind> kinds;
  for (const Finding& finding : outcome.findings) kinds.push_back(finding.kind);
  return kinds;
}

TEST(OutcomeTest, ByHand) {
  RequestTiming slow = Request();
  slow.first = 0.3;
  slow.last = 0.36;
  slow.gaps = {0.02f, 0.02f, 0.02f};
  const Outcome outcome = Summarize(RunOf({Request(), slow}));
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_TRUE(outcome.usable());
  EXPECT_THAT(outcome.ttft->mean, DoubleNear(0.2, 1e-9));
  EXPECT_THAT(outcome.ttft->p90, DoubleNear(0.3, 1e-9));
  EXPECT_THAT(outcome.tpot->mean, DoubleNear(0.015, 1e-9));
  EXPECT_THAT(outcome.e2e->mean, DoubleNear(0.245, 1e-9));
  EXPECT_THAT(outcome.itl->mean, DoubleNear(0.015, 1e-7));
}

TEST(OutcomeTest, PercentilesAreAtTheirRank) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  const Spread spread = SpreadOf(values);
  EXPECT_EQ(spread.mean, 50.5);
  EXPECT_EQ(spread.p50, 50);
  EXPECT_EQ(spread.p90, 90);
  EXPECT_EQ(spread.p99, 99);
  EXPECT_EQ(SpreadOf({7}).p99, 7);
}

TEST(OutcomeTest, AFailedRequestSpoils) {
  RequestTiming failed = Request();
  failed.status = absl::UnavailableError("HTTP 429: slow down");
  const Outcome outcome = Summarize(RunOf({Request(), failed}));
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kRequestsFailed));
  EXPECT_EQ(outcome.findings[0].text, "1 of 2 requests failed: HTTP 429: slow down");
  EXPECT_FALSE(outcome.usable());
}

TEST(OutcomeTest, OfNoAnswerNothingIsKnown) {
  RequestTiming failed = Request();
  failed.status = absl::UnavailableError("gone");
  const Outcome outcome = Summarize(RunOf({failed}));
  EXPECT_FALSE(outcome.usable());
  EXPECT_FALSE(outcome.e2e.has_value());
}

TEST(OutcomeTest, ShorterOutputsSpoil) {
  RequestTiming early = Request();
  early.output_tokens = 3;
  early.events = 3;
  const Outcome outcome = Summarize(RunOf({Request(), early}));
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kEndedEarly));
  EXPECT_FALSE(outcome.usable());
}

TEST(OutcomeTest, CachedPromptsSpoil) {
  RequestTiming cached = Request();
  cached.cached_tokens = 16;
  EXPECT_THAT(KindsOf(Summarize(RunOf({cached}))), ElementsAre(FindingKind::kPrefixCached));
}

TEST(OutcomeTest, OfMergedTokensOnlyTheFirstOneIsNotKnown) {
  RequestTiming merged = Request();
  merged.events = 2;  // at 100 and 120 ms, two tokens each: 10 ms a token
  merged.last = 0.12;
  merged.gaps = {0.02f};
  const Outcome outcome = Summarize(RunOf({merged}));
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kMergedTokens));
  EXPECT_TRUE(outcome.usable());
  EXPECT_FALSE(outcome.ttft.has_value());
  EXPECT_THAT(outcome.tpot->mean, DoubleNear(0.01, 1e-9));
  EXPECT_TRUE(outcome.e2e.has_value());
}

TEST(OutcomeTest, OfTokensHeldBackOnlyTheEndIsKnown) {
  RequestTiming held = Request();
  held.gaps = {0.0f, 0.03f, 0.0f};
  const Outcome outcome = Summarize(RunOf({held}));
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kHeldBack));
  EXPECT_FALSE(outcome.ttft.has_value());
  EXPECT_FALSE(outcome.tpot.has_value());
  EXPECT_TRUE(outcome.e2e.has_value());
}

TEST(OutcomeTest, APauseThatNoPromptExplainsSpoils) {
  RequestTiming paused = Request();
  paused.gaps = {0.01f, 1.0f, 0.01f};
  EXPECT_THAT(KindsOf(Summarize(RunOf({paused}))), ElementsAre(FindingKind::kStalled));
  RequestTiming behind_a_prompt = Request();
  behind_a_prompt.gaps = {0.01f, 0.11f, 0.01f};
  EXPECT_THAT(KindsOf(Summarize(RunOf({behind_a_prompt}))), IsEmpty());
}

TEST(OutcomeTest, RequestsSentLateSpoil) {
  RequestTiming late = Request();
  late.sent = 0.05;
  EXPECT_THAT(KindsOf(Summarize(RunOf({late}))), ElementsAre(FindingKind::kSentLate));
}

TEST(OutcomeTest, OtherLengthsAreTakenOver) {
  RequestTiming longer = Request();
  longer.prompt_tokens = 34;
  const Outcome outcome = Summarize(RunOf({longer}));
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kOtherLengths));
  EXPECT_TRUE(outcome.usable());
  EXPECT_EQ(outcome.point.prompt_most, 34);
}

TEST(OutcomeTest, ClockStepsAndMissingUsageAreNoted) {
  RequestTiming uncounted = Request();
  uncounted.output_tokens.reset();
  LoadRun run = RunOf({uncounted});
  run.clock_step = -3600;
  const Outcome outcome = Summarize(run);
  EXPECT_THAT(KindsOf(outcome), ElementsAre(FindingKind::kNoUsage, FindingKind::kClockStepped));
  EXPECT_TRUE(outcome.usable());
}

TEST(OutcomeTest, RunsOfOneLoadAreTheirMedian) {
  std::vector<Outcome> runs(3, Summarize(RunOf({Request()})));
  runs[0].ttft->mean = 0.5;
  runs[2].ttft->mean = 0.2;
  EXPECT_EQ(MedianOf(runs).ttft->mean, 0.2);
  EXPECT_TRUE(Agree(runs[1], runs[1], 0.05));
  EXPECT_FALSE(Agree(runs[0], runs[1], 0.05));
}

}  // namespace
}  // namespace foretoken::cli

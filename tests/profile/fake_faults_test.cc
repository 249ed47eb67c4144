#include "tests/profile/fake_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "estimator/simulation/step_clock.h"
#include "tests/profile/fake_endpoint_fixture.h"

namespace foretoken::fake {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Eight tokens, streamed: 8 events, the usage and the end.
constexpr char kEight[] = R"("prompt": [1, 2, 3], "max_tokens": 8, "ignore_eos": true, "stream": true, )"
                          R"("stream_options": {"include_usage": true})";

class FakeFaultsTest : public FakeEndpointFixture {
 protected:
  // The answer to kEight.
  std::unique_ptr<RawClient> Eight(const FakeFaults& faults) {
    Start({.faults = faults});
    return Asked(kEight);
  }
};

TEST_F(FakeFaultsTest, WithoutFaultsAllIsThere) {
  const auto client = Eight({});
  EXPECT_TRUE(client->whole());
  EXPECT_THAT(client->Events(), SizeIs(10));
}

TEST_F(FakeFaultsTest, RefusesWithRetryAfter) {
  const auto client = Eight({.http_429 = 1, .retry_after_seconds = 7});
  EXPECT_EQ(client->Status(), "429 Too Many Requests");
  EXPECT_THAT(client->bytes(), HasSubstr("\r\nretry-after: 7\r\n"));
  EXPECT_TRUE(client->whole());
}

TEST_F(FakeFaultsTest, FailsForAShareOfRequests) {
  std::vector<std::string> all = {Eight({.http_500 = 0.5})->Status()};
  for (int i = 1; i < 4; ++i) all.push_back(Asked(kEight)->Status());
  const std::string failed = "500 Internal Server Error";
  EXPECT_THAT(all, ElementsAre("200 OK", failed, "200 OK", failed));
  EXPECT_EQ(endpoint_->requests(), 4);
}

TEST_F(FakeFaultsTest, StopsEarly) {
  const auto client = Eight({.early_stop = 1});
  EXPECT_THAT(client->Events(), SizeIs(6));
  EXPECT_THAT(client->Body(), AllOf(HasSubstr("\"finish_reason\":\"stop\""), HasSubstr("\"completion_tokens\":4}")));
}

TEST_F(FakeFaultsTest, ResetsTheConnection) {
  const auto client = Eight({.reset = 1, .after_events = 3});
  EXPECT_TRUE(client->reset());
  EXPECT_FALSE(client->whole());
  EXPECT_THAT(client->Events(), SizeIs(3));
}

TEST_F(FakeFaultsTest, TruncatesTheBody) {
  const auto client = Eight({.truncated_body = 1});
  EXPECT_FALSE(client->reset());
  EXPECT_FALSE(client->whole());
  EXPECT_THAT(client->bytes(), testing::EndsWith("\r\n400\r\ndata: {\"id\":"));
}

TEST_F(FakeFaultsTest, SendsAnEventThatDoesNotEnd) {
  const auto client = Eight({.endless_event = 1});
  EXPECT_GE(client->bytes().size(), 20'000'000u);
  EXPECT_THAT(client->Events(), SizeIs(3));
  EXPECT_FALSE(client->whole());
}

TEST_F(FakeFaultsTest, SendsAHugeEvent) {
  const auto client = Eight({.huge_event = 1});
  EXPECT_TRUE(client->whole());
  ASSERT_THAT(client->Events(), SizeIs(11));
  EXPECT_GT(client->Events()[2].size(), 10'000'000u);
}

TEST_F(FakeFaultsTest, SendsWhatIsNoJson) {
  const std::vector<std::string> events = Eight({.wrong_json = 1})->Events();
  ASSERT_THAT(events, SizeIs(11));
  EXPECT_THAT(events[2], HasSubstr("\"text\":}"));
  EXPECT_THAT(events[3], HasSubstr("\"text\":\" w\""));
}

TEST_F(FakeFaultsTest, SendsAnError) {
  const auto client = Eight({.error_event = 1});
  EXPECT_TRUE(client->whole());
  const std::vector<std::string> events = client->Events();
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_THAT(events[2], StartsWith("{\"error\":{\"message\":\"the engine has died\""));
}

TEST_F(FakeFaultsTest, LeavesOutTheUsage) {
  const auto client = Eight({.without_usage = 1});
  EXPECT_THAT(client->Events(), SizeIs(9));
  EXPECT_THAT(client->Body(), Not(HasSubstr("prompt_tokens")));
}

TEST_F(FakeFaultsTest, MergesTokensInOneEvent) {
  const std::vector<std::string> events = Eight({.stream_interval = 3})->Events();
  ASSERT_THAT(events, SizeIs(6));  // 1, 3, 3 and 1 tokens
  EXPECT_THAT(events[1], HasSubstr("\"text\":\" w w w\""));
  EXPECT_THAT(events[3], HasSubstr("\"text\":\" w\",\"logprobs\":null,\"finish_reason\":\"length\""));
}

// Nothing is passed on before the end, because the end comes first.
TEST_F(FakeFaultsTest, HoldsTokensBackAndDeliversThemTogether) {
  Start({.faults = {.hold_back_seconds = 1e6}});
  const auto client = Sent(kEight);
  EXPECT_TRUE(client->ReadUntil("data: "));
  EXPECT_THAT(endpoint_->engine().requests().at(0).tokens, SizeIs(8));
  client->ReadAnswer();
  EXPECT_THAT(client->Events(), SizeIs(10));
}

TEST_F(FakeFaultsTest, SendsTheRoleBeforeTheFirstToken) {
  Start({.faults = {.early_role = 1, .stall_every_steps = 1, .stall_seconds = 1e6}});
  const auto client = Sent(R"("messages": [{"role": "user", "content": "a"}], "stream": true)", "/v1/chat/completions");
  EXPECT_TRUE(client->ReadUntil("assistant"));
  EXPECT_THAT(endpoint_->engine().requests().at(0).tokens, SizeIs(0));
}

TEST_F(FakeFaultsTest, StallsNowAndThen) {
  Eight({.stall_every_steps = 3, .stall_seconds = 0.05});
  const std::vector<StepRecord> steps = endpoint_->engine().steps();
  ASSERT_THAT(steps, SizeIs(8));
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(steps[i].end - steps[i].begin > 0.05, i % 3 == 2) << i;
  }
}

TEST_F(FakeFaultsTest, Drifts) {
  Start({.faults = {.drift_per_minute = 600}});
  Asked(kEight);
  const StepModel truth = *MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", GenericServedPrior());
  StepClock clock(truth);
  const std::vector<StepRecord> steps = endpoint_->engine().steps();
  ASSERT_THAT(steps, SizeIs(8));
  for (size_t i = 1; i < 8; ++i) {
    const double slower = (steps[i].end - steps[i].begin) / clock.Decode(1, 3 + static_cast<double>(i));
    EXPECT_NEAR(slower, 1 + 10 * steps[i].begin, 1e-6) << i;
  }
}

TEST_F(FakeFaultsTest, ScalesTime) {
  Start({.time_scale = 0.5});
  Asked(kEight);
  const StepModel truth = *MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", GenericServedPrior());
  const std::vector<StepRecord> steps = endpoint_->engine().steps();
  ASSERT_THAT(steps, SizeIs(8));
  EXPECT_NEAR((steps[7].end - steps[7].begin) / StepClock(truth).Decode(1, 10), 0.5, 1e-6);
}

TEST_F(FakeFaultsTest, CachesPrompts) {
  Start({.faults = {.prefix_caching = 1}});
  const std::string asked = absl::StrCat("\"prompt\": [", Numbers(40), R"(], "max_tokens": 1)");
  Asked(asked);
  Asked(asked);
  EXPECT_EQ(endpoint_->engine().requests().at(0).cached_tokens, 0);
  EXPECT_EQ(endpoint_->engine().requests().at(1).cached_tokens, 32);
  EXPECT_EQ(endpoint_->engine().steps().at(1).prompt_tokens, 8);
  EXPECT_THAT(Got("/metrics"),
              AllOf(HasSubstr("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"fake-model\"} 32\n"),
                    HasSubstr("vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"fake-model\"} 80\n")));
}

TEST_F(FakeFaultsTest, CountsTokensThatTheTokenizerAdds) {
  EXPECT_THAT(Eight({.added_prompt_tokens = 4})->Body(), HasSubstr("\"prompt_tokens\":7,"));
  EXPECT_EQ(endpoint_->engine().steps().at(0).prompt_tokens, 7);
}

TEST_F(FakeFaultsTest, MakesSeveralTokensOfAWord) {
  Start({.faults = {.tokens_per_word = 3}});
  EXPECT_THAT(Asked(R"("prompt": "a b", "max_tokens": 1)")->Body(), HasSubstr("\"prompt_tokens\":6,"));
  EXPECT_THAT(Asked(R"("prompt": [1, 2], "max_tokens": 1)")->Body(), HasSubstr("\"prompt_tokens\":2,"));
}

TEST_F(FakeFaultsTest, HidesWhatItIs) {
  Start({.faults = {.without_metrics = 1}});
  EXPECT_THAT(Got("/metrics"), StartsWith("404"));
  EXPECT_THAT(Got("/version"), StartsWith("404"));
  EXPECT_THAT(Got("/v1/models"), StartsWith("200"));
}

TEST(SetFaultsTest, SetsByName) {
  FakeFaults faults;
  EXPECT_TRUE(SetFaults("reset=0.25,stall_every_steps=100,stall_seconds=2", faults).ok());
  EXPECT_EQ(faults.reset, 0.25);
  EXPECT_EQ(faults.stall_every_steps, 100);
  EXPECT_EQ(faults.stall_seconds, 2);
  EXPECT_TRUE(SetFaults("", faults).ok());
  EXPECT_THAT(std::string(SetFaults("restet=1", faults).message()),
              StartsWith("fault \"restet\"; allowed: http_429, "));
  EXPECT_EQ(SetFaults("reset=-1", faults).message(), "fault reset=\"-1\"; allowed: a number from 0");
  EXPECT_EQ(SetFaults("reset", faults).message(), "fault reset=\"\"; allowed: a number from 0");
}

// Each member has a name: there are as many names as numbers.
TEST(SetFaultsTest, KnowsAllFaults) {
  const std::string names = FaultNames();
  EXPECT_EQ((std::count(names.begin(), names.end(), ',') + 1) * sizeof(double), sizeof(FakeFaults));
}

TEST(IsOfShareTest, IsExact) {
  for (const double share : {0.0, 0.1, 0.25, 1.0 / 3, 0.5, 0.9, 1.0}) {
    int hits = 0;
    for (int i = 0; i < 300; ++i) hits += IsOfShare(share, i);
    EXPECT_EQ(hits, static_cast<int>(share * 300 + 0.5)) << share;
  }
}

}  // namespace
}  // namespace foretoken::fake

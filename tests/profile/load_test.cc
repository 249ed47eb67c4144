// Loads on the fake endpoint: what is sent, and each fault of an endpoint found and named.
#include "client/cli/profile/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "client/cli/profile/discovery.h"
#include "client/cli/profile/endpoint.h"
#include "client/cli/profile/local_device.h"
#include "client/cli/profile/outcome.h"
#include "client/cli/profile/profiler.h"
#include "tests/profile/fake_endpoint.h"

namespace foretoken::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class LoadTest : public testing::Test {
 protected:
  void Start(const fake::FakeFaults& faults, double time_scale = 1) {
    endpoint_ =
        *fake::FakeEndpoint::Start(*fake::MakeFakeStepModel("qwen3-0.6b", "nvidia-h100-sxm-80gb", GenericServedPrior()),
                                   {.served_model = "m", .time_scale = time_scale, .faults = faults});
    target_ = {.url = endpoint_->url(), .model = "m"};
  }

  LoadRun Run(const LoadPoint& point) {
    std::mt19937_64 random(7);
    absl::StatusOr<LoadRun> run = RunLoad(http_, target_, point, {.seconds = 30}, random);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *std::move(run) : LoadRun{.point = point};
  }

  std::vector<FindingKind> Findings(const LoadPoint& point) {
    std::vector<FindingKind> kinds;
    const LoadRun run = Run(point);
    for (const Finding& finding : Summarize(run).findings) kinds.push_back(finding.kind);
    return kinds;
  }

  std::vector<FindingKind> FindingsOf(const fake::FakeFaults& faults) {
    Start(faults);
    return Findings(kFour);
  }

  static constexpr LoadPoint kFour = {
      .concurrency = 2, .requests = 4, .prompt_least = 40, .prompt_most = 40, .output_least = 24, .output_most = 24};
  HttpClient http_{HttpOptions{}};
  std::unique_ptr<fake::FakeEndpoint> endpoint_;
  Target target_;
};

TEST_F(LoadTest, AClosedLoopKeepsItsConcurrency) {
  Start({});
  const LoadRun run = Run(kFour);
  ASSERT_EQ(run.requests.size(), 4u);
  for (const RequestTiming& request : run.requests) {
    EXPECT_TRUE(request.status.ok()) << request.status;
    EXPECT_EQ(request.events, 24);
    EXPECT_EQ(request.output_tokens, 24);
    EXPECT_EQ(request.prompt_tokens, 40);
    EXPECT_GT(request.first, 0);
    EXPECT_LE(request.last, request.end);
  }
  int64_t most = 0;
  for (const auto& step : endpoint_->engine().steps()) most = std::max<int64_t>(most, step.decodes);
  EXPECT_EQ(most, 2);
}

TEST_F(LoadTest, LengthsLieBetweenTheirBounds) {
  Start({});
  const LoadRun run = Run(
      {.concurrency = 8, .requests = 40, .prompt_least = 10, .prompt_most = 20, .output_least = 2, .output_most = 5});
  std::vector<int> prompts;
  for (const RequestTiming& request : run.requests) {
    prompts.push_back(*request.prompt_tokens);
    EXPECT_EQ(*request.prompt_tokens, request.prompt_asked);
    EXPECT_EQ(*request.output_tokens, request.output_asked);
  }
  EXPECT_EQ(*std::min_element(prompts.begin(), prompts.end()), 10);
  EXPECT_EQ(*std::max_element(prompts.begin(), prompts.end()), 20);
}

TEST_F(LoadTest, AnOpenLoopSendsAtItsRateWhateverTheAnswers) {
  Start({}, 20);  // an engine so slow that a closed loop would send nothing more
  const LoadRun run = Run({.rate = 200, .requests = 40, .output_least = 2, .output_most = 2});
  const double last = run.requests.back().due;
  EXPECT_GT(last, 0.08);  // 40 arrivals at 200/s: 0.2 s, deviation 0.03 s
  EXPECT_LT(last, 0.4);
  EXPECT_LT(run.requests.back().sent, run.requests.front().sent + run.requests.front().end + last);
}

TEST_F(LoadTest, BurstsHaveTheirDeviation) {
  Start({});
  const auto deviation = [this](double cv) {
    std::vector<double> gaps;
    const LoadRun run = Run({.rate = 2000, .arrival_cv = cv, .requests = 300});
    for (size_t i = 1; i < run.requests.size(); ++i) gaps.push_back(run.requests[i].due - run.requests[i - 1].due);
    double mean = 0, square = 0;
    for (const double gap : gaps) {
      mean += gap / static_cast<double>(gaps.size());
      square += gap * gap / static_cast<double>(gaps.size());
    }
    return std::sqrt(square - mean * mean) / mean;
  };
  EXPECT_NEAR(deviation(1), 1, 0.25);
  EXPECT_NEAR(deviation(3), 3, 1);
}

TEST_F(LoadTest, WithoutFaultsNothingIsFound) { EXPECT_THAT(FindingsOf({}), IsEmpty()); }

TEST_F(LoadTest, FindsRefusedAndBrokenAnswers) {
  const fake::FakeFaults all[] = {{.http_429 = 0.25},       {.http_500 = 0.25},   {.reset = 0.25},
                                  {.truncated_body = 0.25}, {.wrong_json = 0.25}, {.huge_event = 0.25},
                                  {.error_event = 0.25}};
  for (const fake::FakeFaults& faults : all) {
    EXPECT_THAT(FindingsOf(faults), Contains(FindingKind::kRequestsFailed));
  }
}

TEST_F(LoadTest, TellsWhyARequestFailed) {
  const auto why = [this](const fake::FakeFaults& faults) {
    Start(faults);
    return std::string(Run(kFour).requests.front().status.message());
  };
  EXPECT_THAT(why({.http_429 = 1}), HasSubstr("HTTP 429"));
  EXPECT_THAT(why({.http_500 = 1}), HasSubstr("HTTP 500"));
  EXPECT_THAT(why({.wrong_json = 1}), HasSubstr("no JSON object"));
  EXPECT_THAT(why({.huge_event = 1}), HasSubstr("an event of over 1048576 bytes"));
  EXPECT_THAT(why({.endless_event = 1}), HasSubstr("an event of over 1048576 bytes"));
}

TEST_F(LoadTest, FindsOutputsThatEndEarly) {
  EXPECT_THAT(FindingsOf({.early_stop = 0.25}), Contains(FindingKind::kEndedEarly));
}

TEST_F(LoadTest, FindsMergedTokens) {
  EXPECT_THAT(FindingsOf({.stream_interval = 4}), Contains(FindingKind::kMergedTokens));
}

TEST_F(LoadTest, FindsAProxyThatHoldsBack) {
  EXPECT_THAT(FindingsOf({.hold_back_seconds = 0.2}), Contains(FindingKind::kHeldBack));
}

TEST_F(LoadTest, FindsAPause) {
  EXPECT_THAT(FindingsOf({.stall_every_steps = 12, .stall_seconds = 1.5}), Contains(FindingKind::kStalled));
}

TEST_F(LoadTest, FindsAnswersWithoutUsage) {
  EXPECT_THAT(FindingsOf({.without_usage = 1}), Contains(FindingKind::kNoUsage));
}

TEST_F(LoadTest, FindsOtherPromptLengths) {
  EXPECT_THAT(FindingsOf({.added_prompt_tokens = 5}), Contains(FindingKind::kOtherLengths));
}

TEST_F(LoadTest, GivesUpALoadThatDoesNotEnd) {
  Start({.stall_every_steps = 1, .stall_seconds = 60});
  std::mt19937_64 random(1);
  const absl::Status status = RunLoad(http_, target_, kFour, {.seconds = 0.2}, random).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("4 of 4 requests had not ended after 0.2 s"));
  EXPECT_EQ(http_.active(), 0u);
}

TEST_F(LoadTest, AnInterruptEndsIt) {
  Start({.stall_every_steps = 1, .stall_seconds = 60});
  std::mt19937_64 random(1);
  const LoadLimits limits{.interrupted = [] { return true; }};
  EXPECT_TRUE(absl::IsCancelled(RunLoad(http_, target_, kFour, limits, random).status()));
}

TEST_F(LoadTest, AfterTenFailuresNoMoreAreSent) {
  Start({.http_500 = 1});
  LoadPoint many = kFour;
  many.requests = 1000;
  (void)Run(many);
  EXPECT_LE(endpoint_->requests(), 12);
}

// An engine that becomes twice as slow each second: what was measured meanwhile is taken back, and measured again.
TEST_F(LoadTest, ADriftOfTheMachineTakesLoadsBack) {
  Start({.drift_per_minute = 60});
  std::vector<LoadPoint> measured, taken_back;
  std::string text;
  Profiler profiler(http_, {.target = target_, .budget_seconds = 6, .between_references = 2},
                    {.on_outcome =
                         [&measured](const LoadPoint& asked, const Outcome&, int) {
                           measured.push_back(asked);
                           return absl::OkStatus();
                         },
                     .on_drift =
                         [&](const Finding& finding, const std::vector<LoadPoint>& loads) {
                           text = finding.text;
                           taken_back.insert(taken_back.end(), loads.begin(), loads.end());
                           return absl::OkStatus();
                         }},
                    1);
  std::vector<LoadPoint> loads(8, kFour);
  for (size_t i = 0; i < loads.size(); ++i) loads[i].output_most = loads[i].output_least = 20 + static_cast<int>(i);
  ASSERT_TRUE(profiler.Measure(loads).ok());
  ASSERT_FALSE(taken_back.empty());
  EXPECT_THAT(text, HasSubstr("times what it took in the median before"));
  for (const LoadPoint& load : taken_back) EXPECT_THAT(measured, Contains(load));
}

TEST_F(LoadTest, LearnsHowManyTokensWordsMake) {
  Start({.added_prompt_tokens = 7, .tokens_per_word = 3});
  for (const Api api : {Api::kWords, Api::kChat}) {
    const absl::StatusOr<Target> target = FindTarget(http_, endpoint_->url(), "m", api, {});
    ASSERT_TRUE(target.ok()) << target.status();
    EXPECT_NEAR(target->scale.tokens_per_word, 3, 1e-9);
    EXPECT_NEAR(target->scale.fixed_tokens, 7, 1e-9);
    target_ = *target;
    EXPECT_EQ(*Run({.prompt_least = 100, .prompt_most = 100, .output_least = 2, .output_most = 2})
                   .requests.front()
                   .prompt_tokens,
              100);
  }
}

TEST_F(LoadTest, ReadsWhatTheServerTells) {
  Start({});
  const absl::StatusOr<ServerFacts> facts = Discover(http_, endpoint_->url());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->Text(Fact::kEngine), "vllm");
  EXPECT_EQ(facts->Text(Fact::kVersion), "0.11.0");
  EXPECT_EQ(facts->Text(Fact::kModel), "m");
  EXPECT_EQ(facts->Number(Fact::kMaxModelLen), 32768);
  EXPECT_EQ(facts->Number(Fact::kBlockTokens), 16);
  EXPECT_EQ(facts->Number(Fact::kKvTokens), 16 * 65536);
  EXPECT_EQ(facts->Number(Fact::kMaxNumSeqs), 0);  // vLLM does not tell
}

TEST_F(LoadTest, AServerThatIsNotThereIsNamed) {
  const absl::Status status = Discover(http_, "http://127.0.0.1:1").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("http://127.0.0.1:1/v1/models"));
}

TEST(LocalDeviceTest, CountsTheNames) {
  EXPECT_EQ(CountedNames("NVIDIA H100\nNVIDIA L4\n NVIDIA H100 \n\n"), "2 x NVIDIA H100, 1 x NVIDIA L4");
  EXPECT_EQ(CountedNames(""), "");
  EXPECT_TRUE(IsLocal("http://127.0.0.1:8000"));
  EXPECT_TRUE(IsLocal("http://localhost:8000/v1"));
  EXPECT_FALSE(IsLocal("http://gpu-7:8000"));
  EXPECT_FALSE(IsLocal("http://192.168.0.1/127."));
}

TEST(EndpointUrlTest, TakesAServerAndRefusesTheRest) {
  EXPECT_EQ(*EndpointUrl("http://a:1/"), "http://a:1");
  EXPECT_EQ(*EndpointUrl("https://a/v1"), "https://a");
  EXPECT_EQ(*EndpointUrl("http://a:1/proxy/v1/"), "http://a:1/proxy");
  for (const char* wrong : {"", "a:1", "http://", "ftp://a", "http:///x", "file:///etc/passwd"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(EndpointUrl(wrong).status())) << wrong;
  }
}

}  // namespace
}  // namespace foretoken::cli

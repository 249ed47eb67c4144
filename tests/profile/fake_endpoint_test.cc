#include "tests/profile/fake_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "estimator/simulation/step_clock.h"
#include "tests/profile/fake_endpoint_fixture.h"

namespace foretoken::fake {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

using FakeEndpointTest = FakeEndpointFixture;

// As vLLM 0.11 writes them.
TEST_F(FakeEndpointTest, StreamsACompletion) {
  Start();
  const auto client = Asked(R"("prompt": [7, 8, 9], "max_tokens": 2, "stream": true, )"
                            R"("stream_options": {"include_usage": true})");
  EXPECT_EQ(client->Status(), "200 OK");
  EXPECT_TRUE(client->whole());
  EXPECT_THAT(client->bytes(), HasSubstr("content-type: text/event-stream"));
  std::vector<std::string> events = client->Events();
  for (std::string& event : events) event = std::regex_replace(event, std::regex("\"created\":[0-9]+,"), "");
  const std::string head = R"({"id":"cmpl-0","object":"text_completion","model":"fake-model",)";
  EXPECT_THAT(
      events,
      ElementsAre(
          head + R"("choices":[{"index":0,"text":" w","logprobs":null,"finish_reason":null,"stop_reason":null}],)"
                 R"("usage":null})",
          head + R"("choices":[{"index":0,"text":" w","logprobs":null,"finish_reason":"length","stop_reason":null}],)"
                 R"("usage":null})",
          head + R"("choices":[],"usage":{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2}})", "[DONE]"));
}

TEST_F(FakeEndpointTest, AChatBeginsWithTheRoleAlone) {
  Start();
  const auto client = Asked(R"("messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": )"
                            R"("say  one\nword"}], "max_completion_tokens": 2, "stream": true, )"
                            R"("stream_options": {"include_usage": true})",
                            "/v1/chat/completions");
  const std::vector<std::string> events = client->Events();
  ASSERT_THAT(events, SizeIs(5));
  EXPECT_THAT(events[0], AllOf(HasSubstr("\"object\":\"chat.completion.chunk\""),
                               HasSubstr(R"("delta":{"role":"assistant","content":""})")));
  EXPECT_THAT(events[1], HasSubstr(R"("delta":{"content":" w"},"logprobs":null,"finish_reason":null)"));
  EXPECT_THAT(events[2], HasSubstr(R"("delta":{"content":" w"},"logprobs":null,"finish_reason":"length")"));
  EXPECT_THAT(events[3], HasSubstr(R"("prompt_tokens":5,)"));
  EXPECT_EQ(events[4], "[DONE]");
}

TEST_F(FakeEndpointTest, AnswersWholeOnOneConnection) {
  Start();
  RawClient client(endpoint_->port());
  for (const int tokens : {1, 3}) {
    client.Send("POST", "/v1/completions",
                absl::StrCat(R"({"model": "fake-model", "prompt": "a b", "max_tokens": )", tokens, "}"));
    client.ReadAnswer();
    EXPECT_TRUE(client.whole());
    EXPECT_THAT(client.Body(), AllOf(HasSubstr(tokens == 1 ? "\"text\":\" w\"" : "\"text\":\" w w w\""),
                                     HasSubstr(absl::StrCat("\"completion_tokens\":", tokens, "}"))));
  }
}

TEST_F(FakeEndpointTest, OutputsEndAsAsked) {
  Start({.eos_tokens = 5});
  EXPECT_THAT(Asked(R"("prompt": "a", "max_tokens": 9)")->Body(),
              AllOf(HasSubstr("\"completion_tokens\":5}"), HasSubstr("\"finish_reason\":\"stop\"")));
  EXPECT_THAT(Asked(R"("prompt": "a", "max_tokens": 9, "min_tokens": 7)")->Body(),
              HasSubstr("\"completion_tokens\":7}"));
  EXPECT_THAT(Asked(R"("prompt": "a", "max_tokens": 9, "ignore_eos": true)")->Body(),
              AllOf(HasSubstr("\"completion_tokens\":9}"), HasSubstr("\"finish_reason\":\"length\"")));
  EXPECT_THAT(Asked(R"("prompt": "a", "ignore_eos": true)")->Body(), HasSubstr("\"completion_tokens\":16}"));
}

TEST_F(FakeEndpointTest, RefusesWhatItCannotServe) {
  Start({.max_model_len = 10});
  EXPECT_EQ(Asked(R"("prompt": [1, 2, 3], "max_tokens": 7)")->Status(), "200 OK");
  EXPECT_THAT(Asked(R"("prompt": [1, 2, 3], "max_tokens": 8)")->Body(),
              HasSubstr("maximum context length is 10 tokens. However, you requested 11 tokens."));
  EXPECT_THAT(Asked(R"("prompt": [[1, 2], [3]])")->Body(), HasSubstr("neither a text nor one array of tokens"));
  EXPECT_EQ(Asked(R"("prompt": )")->Status(), "400 Bad Request");
  EXPECT_EQ(Asked(R"("prompt": "a", "model": "other")")->Status(), "404 Not Found");
  EXPECT_THAT(Got("/v1/other"), StartsWith("404 Not Found"));
}

TEST_F(FakeEndpointTest, SaysWhatItServes) {
  Start({.version = "0.32.0", .max_model_len = 4096, .scheduler = {.num_gpu_blocks = 1000}});
  EXPECT_THAT(Got("/v1/models"), AllOf(HasSubstr("\"id\":\"fake-model\""), HasSubstr("\"owned_by\":\"vllm\""),
                                       HasSubstr("\"max_model_len\":4096}")));
  EXPECT_EQ(Got("/version"), "200 OK\n{\"version\":\"0.32.0\"}");
  EXPECT_THAT(Got("/health"), StartsWith("200 OK"));
  EXPECT_THAT(Got("/metrics"),
              AllOf(HasSubstr("\nvllm:num_requests_waiting{engine=\"0\",model_name=\"fake-model\"} 0\n"),
                    HasSubstr("block_size=\"16\""), HasSubstr("num_gpu_blocks=\"1000\"")));
}

// The second step takes for ever, so whatever comes, comes before it.
TEST_F(FakeEndpointTest, EachTokenIsSentWhenItsStepEnds) {
  Start({.scheduler = {.num_gpu_blocks = 100}, .faults = {.stall_every_steps = 2, .stall_seconds = 1e6}});
  const auto client = Sent(R"("prompt": "a b", "max_tokens": 9, "stream": true)");
  EXPECT_TRUE(client->ReadUntil("\n\n\r\n"));
  EXPECT_THAT(client->Events(), SizeIs(1));
  EXPECT_THAT(Got("/metrics"),
              AllOf(HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"fake-model\"} 1\n"),
                    HasSubstr("vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"fake-model\"} 0.01\n")));
}

// Of one request, token by token; the thread's wake-ups are late, and the engine's time is not.
TEST_F(FakeEndpointTest, EngineTimeIsTheStepModels) {
  Efficiencies efficiencies = GenericServedPrior();
  efficiencies.weight_read = 0.6;
  efficiencies.layer_gap = efficiencies.layer_gap * 2;
  efficiencies.admission_per_token = Seconds(1e-5);
  Start({}, efficiencies);
  const auto sent = std::chrono::steady_clock::now();
  Asked(absl::StrCat("\"prompt\": [", Numbers(300), R"(], "max_tokens": 20, "ignore_eos": true, "stream": true)"));
  const double measured = std::chrono::duration<double>(std::chrono::steady_clock::now() - sent).count();
  const Generation::State request = endpoint_->engine().requests().at(0);
  EXPECT_NEAR(request.queued - request.arrival,
              (efficiencies.admission + efficiencies.admission_per_request).value() + 300 * 1e-5, 1e-12);
  const StepModel truth = *MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", efficiencies);
  StepClock clock(truth);
  PromptWork prompt;
  prompt.Add(300, 0, true);
  double end = request.queued + clock.Mixed(prompt, 0, 0);
  ASSERT_THAT(request.tokens, SizeIs(20));
  for (int i = 0; i < 20; ++i) {
    EXPECT_NEAR(request.tokens[static_cast<size_t>(i)], end, 1e-9) << i;
    end += clock.Decode(1, 301 + i);
  }
  EXPECT_GE(measured, request.tokens.back() - request.arrival);
}

TEST_F(FakeEndpointTest, ServesManyStreamsAtOnce) {
  Start({.scheduler = {.max_num_seqs = 48}});
  constexpr int kStreams = 64;
  std::vector<std::thread> threads;
  std::atomic<int> whole = 0;
  for (int i = 0; i < kStreams; ++i) {
    threads.emplace_back([&] {
      const auto client = Sent(
          absl::StrCat("\"prompt\": [", Numbers(200), R"(], "max_tokens": 10, "ignore_eos": true, "stream": true)"));
      client->ReadAnswer();
      whole += client->whole() && client->Events().size() == 11;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, kStreams);
  int64_t tokens = 0, prompts = 0;
  double last = 0;
  for (const StepRecord& step : endpoint_->engine().steps()) {
    EXPECT_LE(step.decodes, 48);
    EXPECT_GE(step.begin, last);
    last = step.end;
    tokens += step.decodes;
    prompts += step.prompt_tokens;
  }
  EXPECT_EQ(tokens, kStreams * 9);
  EXPECT_EQ(prompts, kStreams * 200);
}

TEST_F(FakeEndpointTest, AClientThatLeavesFreesItsSeat) {
  Start({.scheduler = {.max_num_seqs = 1}});
  {
    const auto client = Sent(R"("prompt": "a b", "max_tokens": 30000, "ignore_eos": true, "stream": true)");
    EXPECT_TRUE(client->ReadUntil("data: "));
  }
  EXPECT_THAT(Asked(R"("prompt": "a b", "max_tokens": 1)")->Body(), HasSubstr("\"completion_tokens\":1}"));
  EXPECT_LT(endpoint_->engine().requests().at(0).tokens.size(), 30000u);
}

TEST_F(FakeEndpointTest, SaysThatAPortIsTaken) {
  Start();
  const auto second =
      FakeEndpoint::Start(*MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", {}), {.port = endpoint_->port()});
  EXPECT_THAT(std::string(second.status().message()), StartsWith("listening of 127.0.0.1:"));
  EXPECT_THAT(std::string(MakeFakeStepModel("llama-3.1-8b", "none", {}).status().message()),
              HasSubstr("\"none\" is no id of the catalog"));
}

}  // namespace
}  // namespace foretoken::fake

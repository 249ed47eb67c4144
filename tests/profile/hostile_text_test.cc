// Texts of an endpoint that would forge lines of the terminal, and numbers that would overflow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "client/cli/profile/discovery.h"
#include "client/cli/profile/load.h"
#include "tests/profile/fake_http.h"

namespace foretoken::cli {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kForged[] = "\x1b[2J\nregistered hardware x";

class HostileTextTest : public testing::Test {
 protected:
  void Serve(const std::string& status, const std::string& body) {
    server_ = *fake::HttpServer::Start(0, [status, body](const fake::HttpRequest&, fake::HttpConnection& connection) {
      connection.Answer(status, "application/json", body);
    });
    url_ = absl::StrCat("http://127.0.0.1:", server_->port());
  }

  std::string WhyARequestFails() {
    std::mt19937_64 random(1);
    const absl::StatusOr<LoadRun> run = RunLoad(http_, {.url = url_, .model = "m"}, {}, {.seconds = 30}, random);
    return run.ok() ? std::string(run->requests.front().status.message()) : run.status().ToString();
  }

  HttpClient http_{HttpOptions{}};
  std::unique_ptr<fake::HttpServer> server_;
  std::string url_;
};

TEST_F(HostileTextTest, AnErrorIsOneLineWithoutControls) {
  Serve("500 Internal Server Error", kForged);
  const std::string why = WhyARequestFails();
  EXPECT_THAT(why, HasSubstr(R"(HTTP 500: \x1b[2J registered hardware x)"));
  EXPECT_THAT(why, Each(Not('\n')));
}

TEST_F(HostileTextTest, AnErrorInAnEventLikewise) {
  Serve("200 OK", "data: {\"error\":{\"message\":\"\\u001b[2J\\nregistered hardware x\"}}\n\n");
  EXPECT_THAT(WhyARequestFails(), HasSubstr(R"(the endpoint says: \x1b[2J registered hardware x)"));
}

TEST_F(HostileTextTest, ALongErrorIsCut) {
  Serve("500 Internal Server Error", std::string(5000, 'a'));
  EXPECT_EQ(WhyARequestFails(), absl::StrCat("HTTP 500: ", std::string(300, 'a'), "..."));
}

TEST_F(HostileTextTest, AModelThatCannotBeShownIsNoModel) {
  Serve("200 OK", R"({"data":[{"id":"\u001b]0;title\u0007"},{"id":"good","owned_by":"vllm"},{"id":5e300}]})");
  const absl::StatusOr<ServerFacts> facts = Discover(http_, url_);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_THAT(facts->models, ElementsAre("good"));
  EXPECT_EQ(facts->Text(Fact::kModel), "good");
}

TEST_F(HostileTextTest, NumbersOfTheMetricsDoNotOverflow) {
  server_ = *fake::HttpServer::Start(0, [](const fake::HttpRequest& request, fake::HttpConnection& connection) {
    const bool metrics = request.path == "/metrics";
    connection.Answer("200 OK", "text/plain",
                      metrics ? "vllm:cache_config_info{block_size=\"2000000000\",num_gpu_blocks=\"2000000000\"} 1\n"
                                "vllm:cache_config_info{block_size=\"9223372036854775807\",num_gpu_blocks=\"16\"} 1\n"
                              : R"({"data":[{"id":"m"}]})");
  });
  url_ = absl::StrCat("http://127.0.0.1:", server_->port());
  const absl::StatusOr<ServerFacts> facts = Discover(http_, url_);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->Text(Fact::kKvTokens), "4000000000000000000");
  EXPECT_EQ(facts->Number(Fact::kKvTokens), 0);  // no number of tokens
}

}  // namespace
}  // namespace foretoken::cli

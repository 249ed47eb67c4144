#include "client/cli/profile/completion.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace foretoken::cli {
namespace {

using google::protobuf::Struct;
using testing::HasSubstr;

Struct Parsed(const Ask& ask, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Struct body;
  const std::string json = BodyOf(ask, random);
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &body).ok()) << json;
  return body;
}

TEST(BodyTest, AsksForExactlyTheseTokens) {
  const Struct body = Parsed({.model = "a \"b\"", .prompt_tokens = 5, .output_tokens = 7});
  const auto& fields = body.fields();
  EXPECT_EQ(fields.at("model").string_value(), "a \"b\"");
  EXPECT_EQ(fields.at("prompt").list_value().values_size(), 5);
  EXPECT_EQ(fields.at("max_tokens").number_value(), 7);
  EXPECT_EQ(fields.at("min_tokens").number_value(), 7);
  EXPECT_TRUE(fields.at("ignore_eos").bool_value());
  EXPECT_TRUE(fields.at("stream").bool_value());
  EXPECT_TRUE(fields.at("stream_options").struct_value().fields().at("include_usage").bool_value());
}

TEST(BodyTest, CountsAreWholeNumbersInTheText) {
  std::mt19937_64 random(1);
  EXPECT_THAT(BodyOf({.prompt_tokens = 1, .output_tokens = 64}, random), HasSubstr("\"max_tokens\":64,"));
}

TEST(BodyTest, NoTwoPromptsAreAlike) {
  std::set<std::string> prompts;
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) prompts.insert(BodyOf({.prompt_tokens = 16, .output_tokens = 1}, random));
  EXPECT_EQ(prompts.size(), 50u);
}

TEST(BodyTest, WordsAreAsManyAsMakeTheTokens) {
  const Ask ask = {.api = Api::kWords,
                   .scale = {.tokens_per_word = 2.5, .fixed_tokens = 10},
                   .prompt_tokens = 110,
                   .output_tokens = 1};
  const std::string words = Parsed(ask).fields().at("prompt").string_value();
  EXPECT_EQ(std::count(words.begin(), words.end(), ' '), 39);
}

TEST(BodyTest, AChatHasOneMessage) {
  const Struct body = Parsed({.api = Api::kChat, .prompt_tokens = 4, .output_tokens = 1});
  const auto& messages = body.fields().at("messages").list_value();
  ASSERT_EQ(messages.values_size(), 1);
  EXPECT_EQ(messages.values(0).struct_value().fields().at("role").string_value(), "user");
  EXPECT_EQ(body.fields().count("prompt"), 0u);
}

TEST(EventTest, ReadsTokensUsageAndEnd) {
  EXPECT_TRUE(ReadEvent("[DONE]")->done);
  EXPECT_TRUE(ReadEvent(R"({"choices":[{"text":""}]})")->token);
  EXPECT_TRUE(ReadEvent(R"({"choices":[{"delta":{"content":"a"}}]})")->token);
  EXPECT_TRUE(ReadEvent(R"({"choices":[{"delta":{"reasoning_content":"a"}}]})")->token);
  EXPECT_FALSE(ReadEvent(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})")->token);
  const Event usage = *ReadEvent(R"({"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,)"
                                 R"("prompt_tokens_details":{"cached_tokens":8}}})");
  EXPECT_FALSE(usage.token);
  EXPECT_EQ(usage.prompt_tokens, 12);
  EXPECT_EQ(usage.output_tokens, 3);
  EXPECT_EQ(usage.cached_tokens, 8);
}

TEST(EventTest, RefusesWhatIsNoChunk) {
  for (const char* data : {"", "{", "[]", "12", R"({"a":1})", "null"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadEvent(data).status())) << data;
  }
}

TEST(EventTest, TellsTheErrorInTheEndpointsWords) {
  const absl::Status status = ReadEvent(R"({"error":{"message":"out of memory","code":500}})").status();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory"));
}

TEST(EventTest, TakesHostileTypes) {
  for (const char* data : {R"({"choices":5})", R"({"choices":[5,null,{"text":7}]})", R"({"usage":"x","choices":null})",
                           R"({"usage":{"prompt_tokens":-1e300,"completion_tokens":1e300}})"}) {
    (void)ReadEvent(data);  // no crash
  }
  EXPECT_EQ(ReadEvent(R"({"usage":{"prompt_tokens":-5,"completion_tokens":1e300}})")->prompt_tokens, 0);
}

}  // namespace
}  // namespace foretoken::cli

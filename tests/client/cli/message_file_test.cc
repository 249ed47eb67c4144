#include "client/cli/scenario/message_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "foretoken/v1/scenario.pb.h"

namespace foretoken::cli {
namespace {

TEST(MessageFileTest, TextprotoAndJsonAreToldApart) {
  for (const char* text :
       {"model_id: \"m\" workload { batch_size: 2 }", "# a comment\nmodel_id: 'm' workload { batch_size: 2 }",
        " {\"model_id\": \"m\", \"workload\": {\"batch_size\": 2}}",
        "{\"modelId\": \"m\", \"workload\": {\"batchSize\": 2}}"}) {
    v1::Scenario scenario;
    std::istringstream in(text);
    ASSERT_TRUE(ReadMessage("-", in, scenario).ok()) << text;
    EXPECT_EQ(scenario.ShortDebugString(), "model_id: \"m\" workload { batch_size: 2 }");
  }
}

TEST(MessageFileTest, ErrorsNameTheirPlace) {
  v1::Scenario scenario;
  EXPECT_THAT(std::string(ParseMessage("model_id: 'm'\nworkloads {}", "a.textproto", scenario).message()),
              testing::AllOf(testing::HasSubstr("a.textproto:2:"), testing::HasSubstr("workloads")));
  EXPECT_THAT(std::string(ParseMessage("{\"workloads\": 1}", "a.json", scenario).message()),
              testing::AllOf(testing::HasSubstr("a.json"), testing::HasSubstr("workloads")));
  std::istringstream in;
  EXPECT_THAT(std::string(ReadMessage("/no/such/file", in, scenario).message()),
              testing::HasSubstr("/no/such/file: cannot be read"));
}

TEST(MessageFileTest, WhatIsNoFileOfSensibleSizeIsRefused) {
  std::istringstream in;
  EXPECT_EQ(ReadText(testing::TempDir(), in).status().message(),
            testing::TempDir() + ": cannot be read: Is a directory");
  EXPECT_EQ(ReadText("/dev/zero", in).status().message(), "/dev/zero: longer than allowed: 67108864 bytes");
}

TEST(MessageFileTest, JsonKeepsTheFieldNames) {
  v1::Scenario scenario;
  scenario.mutable_workload()->set_batch_size(0);
  EXPECT_THAT(ToJson(scenario), testing::HasSubstr("\"batch_size\": 0"));
}

}  // namespace
}  // namespace foretoken::cli

#include "client/cli/import/trace_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cli/import/json_records.h"
#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"
#include "tests/paths.h"

namespace foretoken::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string Sample(const std::string& name) { return SourcePath("tests/client/import/samples/" + name); }

// In order of arrival, at 1,000, 2,000 and 5,000 ms: gaps of 1 s and 3 s are 2 +- 1. The prompts have 9 blocks, of
// which 1, 2 and 1 were there before. The mean of 512, 1,000 and 2,048 is 1,186.7.
TEST(TraceFormatTest, RequestsOfMooncake) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"import", "mooncake-trace", Sample("mooncake-trace.jsonl")});
  EXPECT_EQ(result.code, kOk);
  EXPECT_EQ(result.out, "arrival_seconds,prompt_tokens,output_tokens\n0,1000,200\n1,2048,50\n4,512,10\n");
  EXPECT_EQ(result.err,
            "note: 3 requests in 4.00 s: 0.500 requests/s, with gaps of a coefficient of variation of 0.500\n"
            "note: prompt tokens: mean 1,187, p50 1000, p90 2048, p99 2048, longest 2048\n"
            "note: output tokens: mean 86.7, p50 50, p90 200, p99 200, longest 200\n"
            "note: 33.3% of the blocks of prompts were in an earlier prompt; a trace has no column for them\n"
            "note: left out 1 requests without a prompt or an output\n");
}

TEST(TraceFormatTest, RequestsOfAzure) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"import", "azure-trace", Sample("azure-trace.csv")});
  EXPECT_EQ(result.code, kOk);
  EXPECT_EQ(result.out, "arrival_seconds,prompt_tokens,output_tokens\n0,374,44\n1,396,109\n2.5,879,55\n");
  const auto zoned = ReadAzureTrace("x.csv",
                                    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                    "2024-05-10 01:00:00.5+01:00,10,2\n2024-05-10 00:00:00.25+00:00,20,3\n");
  ASSERT_TRUE(zoned.ok()) << zoned.status();
  EXPECT_EQ(TraceCsv(*zoned), "arrival_seconds,prompt_tokens,output_tokens\n0,20,3\n0.25,10,2\n");
}

TEST(TraceFormatTest, SimulateTakesWhatImportGives) {
  client::FakeServer server;
  const TemporaryFile csv("trace.csv", "");
  EXPECT_EQ(RunCli(server, {"import", "mooncake-trace", Sample("mooncake-trace.jsonl"), "--out", csv.path()}).code,
            kOk);
  const CliResult simulated = RunCli(server, {"simulate", "small", "gpu-a", "--trace", csv.path()});
  EXPECT_EQ(simulated.code, kOk) << simulated.err;
  const auto& requests = server.estimator.last_simulate.simulation().trace().requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_EQ(requests[2].arrival_seconds(), 4);
  EXPECT_EQ(requests[2].prompt_tokens(), 512);
}

TEST(TraceFormatTest, OneRequestHasNoRate) {
  const auto trace = ReadMooncakeTrace("x", R"({"timestamp": 7, "input_length": 3, "output_length": 2})");
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_THAT(TraceSummary(*trace), testing::StartsWith("note: 1 requests in 0 s\nnote: prompt tokens: mean 3"));
}

TEST(TraceFormatTest, FaultsSayFileLineAndField) {
  struct Case {
    const char* format;
    std::string text;
    std::vector<std::string> flags;
    const char* want;
  };
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string good = R"({"timestamp": 0, "input_length": 3, "output_length": 2})";
  const Case cases[] = {
      {"mooncake-trace", "", {}, "-: is empty"},
      {"mooncake-trace", "{}", {}, "-:1: timestamp is missing"},
      {"mooncake-trace",
       good + "\n" + R"({"timestamp": -1, "input_length": 3, "output_length": 2})",
       {},
       "-:2: timestamp -1"},
      {"mooncake-trace", R"({"timestamp": 0, "input_length": "x", "output_length": 2})", {}, "-:1: input_length \"x\""},
      {"mooncake-trace", R"({"timestamp": 0, "input_length": 0, "output_length": 2})", {}, "-: has no request"},
      {"mooncake-trace", good, {"--tp", "2"}, "mooncake-trace has requests without times; allowed: one FILE, --out"},
      {"azure-trace", "", {}, "-: is empty"},
      {"azure-trace", "a,b\n", {}, "-:1: unknown column \"a\""},
      {"azure-trace", header, {}, "-: has no request"},
      {"azure-trace", header + "yesterday,3,4\n", {}, "-:2: TIMESTAMP \"yesterday\"; allowed, for example: 2023"},
      {"azure-trace", header + "2023-11-16 18:15:46,3.5,4\n", {}, "-:2: ContextTokens \"3.5\""},
      {"azure-trace", header + "2023-11-16 18:15:46,3\n", {}, "-:2: 2 cells; allowed 3"},
  };
  for (const Case& c : cases) {
    client::FakeServer server;
    std::vector<std::string> arguments = {"import", c.format, "-"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    const CliResult result = RunCli(server, arguments, c.text);
    EXPECT_EQ(result.code, kUsage) << c.text;
    EXPECT_THAT(result.err, HasSubstr(c.want)) << c.text;
    EXPECT_THAT(result.out, IsEmpty()) << c.text;
  }
}

TEST(TraceFormatTest, TracesAreBounded) {
  std::string many = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (size_t i = 0; i <= kMostRecords; ++i) many += "2023-11-16 18:15:46,3,4\n";
  EXPECT_EQ(ReadAzureTrace("x.csv", many).status().message(), "x.csv:100002: allowed: at most 100000 requests");
}

}  // namespace
}  // namespace foretoken::cli

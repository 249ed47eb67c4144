#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kHeader[] =
    "hardware,model,engine,batching,batch_size,prompt_tokens,output_tokens,ttft_s,tpot_s,e2e_s,source\n";

// The fake answers TTFT 10 ms and TPOT 1 ms a sequence: 10% too slow for the first row, 20% too fast for the second.
constexpr char kRows[] =
    "gpu-a,small,vllm,static,11,8,2,0.1,,,\"a, b\"\n"
    "gpu-a,small,vllm,static,8,8,2,0.1,,,s\n"
    "gpu-a,large,vllm,continuous,1,8,2,0.1,,,s\n";

TEST(ValidateCommandTest, ErrorsByGroup) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"validate", "-"}, std::string(kHeader) + kRows);
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("3 rows: 2 predicted, 1 refused (OUT_OF_MEMORY 1), 0 unreadable"),
                                HasSubstr("TTFT       2         15.0%       15.0%  -5.00%    50.0%"),
                                HasSubstr("TPOT       0             -           -       -        -")));
}

TEST(ValidateCommandTest, RowsKeepTheirCellsAndGetAStatus) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"validate", "-", "--rows"}, std::string(kHeader) + kRows);
  EXPECT_EQ(result.code, kOk);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("e2e_s,source,predicted_ttft_s,predicted_tpot_s,predicted_e2e_s,ttft_low_s,ttft_high_s,"
                              "tpot_low_s,tpot_high_s,e2e_low_s,e2e_high_s,provenance,status\n"),
                    HasSubstr("gpu-a,small,vllm,static,11,8,2,0.1,,,\"a, b\",0.11,0.011,"),
                    HasSubstr("gpu-a,large,vllm,continuous,1,8,2,0.1,,,s,,,,,,,,,,,\"needs 90 GB, there are 80 GB "
                              "(FAILED_PRECONDITION, OUT_OF_MEMORY)\"\n")));
  EXPECT_THAT(result.err, HasSubstr("3 rows"));
}

TEST(ValidateCommandTest, FaultsAreToldByLineAndTheRestGoesOn) {
  client::FakeServer server;
  const std::string rows = std::string(kHeader) + kRows + "gpu-a,small,vllm,static,-3,8,2,0.1,,,s\n" +
                           "gpu-a,small,vllm,static,1,8,2,nan,,,s\n" + "gpu-x,small,vllm,static,1,8,2,0.1,,,s\n";
  const CliResult result = RunCli(server, {"validate", "-"}, rows);
  EXPECT_EQ(result.code, kNo);
  EXPECT_THAT(result.err, AllOf(HasSubstr("-:5: batch_size \"-3\""), HasSubstr("-:6: ttft_s \"nan\""),
                                HasSubstr("-:7: hardware \"gpu-x\" is not in the catalog")));
  EXPECT_THAT(result.out, HasSubstr("6 rows: 2 predicted, 2 refused (OUT_OF_MEMORY 1, UNKNOWN_ID 1), 2 unreadable"));
}

TEST(ValidateCommandTest, AFileThatCannotBeReadDoesNotStopTheOthers) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"validate", "/no/such.csv", "-"}, std::string(kHeader) + kRows);
  EXPECT_EQ(result.code, kNo);
  EXPECT_THAT(result.err, HasSubstr("/no/such.csv: cannot be read"));
  EXPECT_THAT(result.out, HasSubstr("3 rows"));
}

TEST(ValidateCommandTest, AServerThatDoesNotAnswerIsNoRefusalOfRows) {
  client::FakeServer server;
  const CliResult result =
      RunCli(server, {"--server", "unix:/nonexistent/foretoken.sock", "validate", "-"}, std::string(kHeader) + kRows);
  EXPECT_EQ(result.code, kUnavailable);
  EXPECT_EQ(result.out, "");
}

TEST(ValidateCommandTest, ForPrograms) {
  client::FakeServer server;
  const std::string input = std::string(kHeader) + kRows;
  EXPECT_THAT(RunCli(server, {"validate", "-", "--output", "csv"}, input).out,
              HasSubstr("-,gpu-a,vllm,small,TTFT,2,0,0.15"));
  EXPECT_THAT(RunCli(server, {"validate", "-", "--output", "json"}, input).out, HasSubstr("\"unreadable\": 0"));
}

}  // namespace
}  // namespace foretoken::cli

#include "client/cli/terminal/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using Code = absl::StatusCode;

struct Case {
  Code code;
  int want;
};

constexpr Case kCases[] = {
    {Code::kOk, 0},
    {Code::kInvalidArgument, 2},
    {Code::kNotFound, 3},
    {Code::kFailedPrecondition, 4},
    {Code::kUnavailable, 5},
    {Code::kDeadlineExceeded, 5},
    {Code::kAlreadyExists, 6},
    {Code::kAborted, 6},
    {Code::kUnimplemented, 7},
    {Code::kPermissionDenied, 8},
    {Code::kUnauthenticated, 8},
    {Code::kResourceExhausted, 9},
    {Code::kOutOfRange, 9},
    {Code::kUnknown, 10},
    {Code::kInternal, 10},
    {Code::kDataLoss, 10},
    {static_cast<Code>(99), 10},
    {Code::kCancelled, 130},
};

TEST(ExitCodeTest, OfEveryStatus) {
  for (const Case& c : kCases) EXPECT_EQ(ExitCodeOf(absl::Status(c.code, "m")), c.want) << c.code;
}

TEST(ExitCodeTest, OfEveryRefusalOfTheServer) {
  client::FakeServer server;
  for (const Case& c : kCases) {
    if (c.code == Code::kOk || c.code == static_cast<Code>(99)) continue;  // gRPC makes another code UNKNOWN
    server.estimator.refusal = grpc::Status(static_cast<grpc::StatusCode>(c.code), "said so");
    const CliResult result = RunCli(server, {"estimate", "small", "gpu-a"});
    // Nobody pressed Ctrl-C: a server drops calls as it ends.
    const bool dropped = c.code == Code::kCancelled;
    EXPECT_EQ(result.code, dropped ? kUnavailable : c.want) << c.code;
    EXPECT_EQ(result.err.starts_with("foretoken: said so ("), !dropped) << c.code << result.err;
  }
}

TEST(ExitCodeTest, HelpListsEveryCodeWithItsStatuses) {
  client::FakeServer server;
  const std::string help = RunCli(server, {"--help"}).out;
  for (const Case& c : kCases) {
    const bool by_meaning = c.want == kOk || c.want == kInternal || c.want == kInterrupted;
    const std::string row = "\n  " + std::to_string(c.want) + " .*" +
                            (by_meaning ? "" : std::string(absl::StatusCodeToString(c.code))) + ".*\n";
    EXPECT_THAT(help, testing::ContainsRegex(row)) << c.code;
  }
  for (const char* row : {"\n  1    the answer is no: the SLO is missed", "\n  11   standard output cannot be written",
                          "\n  9    RESOURCE_EXHAUSTED or OUT_OF_RANGE: ", "\n  130  interrupted by Ctrl-C\n"}) {
    EXPECT_THAT(help, testing::HasSubstr(row));
  }
}

}  // namespace
}  // namespace foretoken::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "client/cli/scenario/simulation_flags.h"
#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(SimulateCommandTest, AsksWithContinuousBatchingAndShowsPercentiles) {
  client::FakeServer server;
  const CliResult result = RunCli(
      server, {"simulate", "small", "gpu-a", "-p", "100", "-b", "8", "--output-lengths", "200:0.8:4000", "--requests",
               "500", "--scheduler", "prefill_first", "--mixed-chunk", "--seed", "18446744073709551615"});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("TTFT  10.0 ms ±2.00%"), HasSubstr("p99"),
                                HasSubstr("running      3.50 on average, 8 at most"),
                                HasSubstr("warning: a warning (simulation.max_steps)"), HasSubstr("DATASHEET")));
  const v1::SimulateRequest& asked = server.estimator.last_simulate;
  EXPECT_EQ(asked.scenario().workload().batching_policy(), v1::BATCHING_POLICY_CONTINUOUS);
  EXPECT_EQ(asked.scenario().workload().batch_size(), 8);
  EXPECT_EQ(asked.scenario().workload().prompt_tokens(), 100);
  EXPECT_EQ(asked.scenario().workload().output_tokens(), 200);
  const v1::Simulation& simulation = asked.simulation();
  EXPECT_EQ(simulation.output_lengths().log_normal().mean_tokens(), 200);
  EXPECT_EQ(simulation.output_lengths().log_normal().coefficient_of_variation(), 0.8);
  EXPECT_EQ(simulation.output_lengths().log_normal().max_tokens(), 4000);
  EXPECT_EQ(simulation.requests(), 500);
  EXPECT_EQ(simulation.seed(), 18446744073709551615u);
  EXPECT_EQ(asked.scenario().deployment().scheduler(), v1::SCHEDULER_POLICY_PREFILL_FIRST);
  EXPECT_TRUE(simulation.scheduler().mixed_chunk());
  EXPECT_FALSE(simulation.include_requests());
}

TEST(SimulateCommandTest, PrintsCsvAndJson) {
  client::FakeServer server;
  const CliResult csv = RunCli(server, {"simulate", "small", "gpu-a", "-p", "9", "-o", "2", "--output", "csv"});
  EXPECT_THAT(csv.out, StartsWith("metric,mean_seconds,mean_standard_error_seconds,p50_seconds,"));
  EXPECT_THAT(csv.out, HasSubstr("\nTTFT,0.01,2e-04,"));
  EXPECT_THAT(csv.out, HasSubstr("\nTPOT,,,"));
  const CliResult json = RunCli(server, {"simulate", "small", "gpu-a", "-p", "9", "-o", "2", "--output", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"most_running_sequences\": 8"));
}

class Files : public testing::Test {
 protected:
  ~Files() override {
    for (const std::string& file : files_) std::remove(file.c_str());
  }
  std::string Name(const std::string& name) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    files_.push_back(testing::TempDir() + "simulate_" + test->name() + "_" + name);
    return files_.back();
  }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string file = Name(name);
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::vector<std::string> files_;
};

using SimulateFilesTest = Files;

TEST_F(SimulateFilesTest, ReadsATraceAndWritesRequests) {
  client::FakeServer server;
  const std::string trace =
      Write("trace.csv", "output_tokens,arrival_seconds,prompt_tokens,id\n5,0,10,a\n6,0.5,20,b\n");
  const std::string out = Name("requests.csv");
  const CliResult result = RunCli(server, {"simulate", "small", "gpu-a", "--trace", trace, "--requests-out", out});
  EXPECT_EQ(result.code, kOk) << result.err;
  const v1::Simulation& asked = server.estimator.last_simulate.simulation();
  ASSERT_EQ(asked.trace().requests_size(), 2);
  EXPECT_EQ(asked.trace().requests(1).arrival_seconds(), 0.5);
  EXPECT_EQ(asked.trace().requests(1).prompt_tokens(), 20);
  EXPECT_EQ(asked.trace().requests(1).output_tokens(), 6);
  EXPECT_TRUE(asked.include_requests());
  EXPECT_EQ(server.estimator.last_simulate.scenario().workload().prompt_tokens(), 15);
  std::ifstream in(out);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(),
            "arrival_seconds,prompt_tokens,output_tokens,ttft_seconds,tpot_seconds,e2e_seconds\n"
            "0.5,10,1,0.01,,0.01\n");
}

TEST_F(SimulateFilesTest, SaysWhichLineOfATraceIsWrong) {
  client::FakeServer server;
  const auto errors = [&](const std::string& text) {
    const CliResult result = RunCli(server, {"simulate", "small", "gpu-a", "--trace", Write("bad.csv", text)});
    EXPECT_EQ(result.code, kUsage);
    return result.err;
  };
  EXPECT_THAT(errors("arrival_seconds,prompt_tokens\n"), HasSubstr("bad.csv:1: column output_tokens is missing"));
  EXPECT_THAT(errors("arrival_seconds,prompt_tokens,output_tokens\n0,1,2\n0,x,2\n"),
              HasSubstr("bad.csv:3: prompt_tokens: "));
  EXPECT_THAT(errors("arrival_seconds,prompt_tokens,output_tokens\n0,1\n"), HasSubstr("bad.csv:2: output_tokens: "));
  EXPECT_THAT(errors(""), HasSubstr("bad.csv: is empty"));
}

TEST(SimulateCommandTest, RefusesFlagsThatContradict) {
  client::FakeServer server;
  EXPECT_THAT(RunCli(server, {"simulate", "small", "gpu-a", "--staggered", "--arrival-cv", "2"}).err,
              HasSubstr("--staggered and --arrival-cv are given"));
  EXPECT_THAT(RunCli(server, {"simulate", "small", "gpu-a", "--output-lengths", "a..b"}).err,
              HasSubstr("--output-lengths: \"a..b\"; allowed: TOKENS, LOW..HIGH, MEAN:CV or MEAN:CV:MAX"));
  EXPECT_THAT(
      RunCli(server, {"simulate", "small", "gpu-a", "-p", "1", "-o", "1", "--requests-out", "/nonexistent/x"}).err,
      HasSubstr("--requests-out: /nonexistent/x cannot be written"));
}

TEST(ParseLengthsTest, ReadsEachForm) {
  EXPECT_EQ(ParseLengths("500")->fixed_tokens(), 500);
  EXPECT_EQ(ParseLengths("100..900")->uniform().low_tokens(), 100);
  EXPECT_EQ(ParseLengths("100..900")->uniform().high_tokens(), 900);
  EXPECT_EQ(ParseLengths("200:0.5")->log_normal().coefficient_of_variation(), 0.5);
  EXPECT_FALSE(ParseLengths("200:0.5")->log_normal().has_max_tokens());
  for (const char* bad : {"", "x", "1..", "1..2..3", "1:2:3:4", "1:x", "1:2:x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseLengths(bad).status())) << bad;
  }
}

}  // namespace
}  // namespace foretoken::cli

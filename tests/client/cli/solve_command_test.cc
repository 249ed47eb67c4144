#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/terminal/exit_code.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/evidence_note.h"
#include "tests/client/cli/distinct_estimate.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(SolveCommandTest, TheValueAndWhatForbidsTheNext) {
  client::FakeServer server;
  const CliResult result = RunCli(
      server, {"solve", "batch", "small", "gpu-a", "-o", "2", "--slo-tpot", "10ms", "--min", "2", "--max", "64"});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("batch_size 37 satisfies\n  max_tpot: at batch_size 38: "),
                                HasSubstr("  TTFT  10.0 ms")));
  const v1::SolveRequest& asked = server.estimator.last_solve;
  EXPECT_EQ(asked.solve_for(), v1::SOLVE_FOR_BATCH_SIZE);
  EXPECT_EQ(asked.min_value(), 2);
  EXPECT_EQ(asked.max_value(), 64);
  EXPECT_EQ(asked.base().slo().max_tpot_seconds(), 0.01);
}

TEST(SolveCommandTest, NothingSatisfies) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"solve", "batch", "small", "gpu-a", "-o", "2", "--slo-tpot", "1us"});
  EXPECT_EQ(result.code, kNo);
  EXPECT_THAT(result.out, StartsWith("no batch_size satisfies; nearest: batch_size 1\n"));
}

TEST(SolveCommandTest, HardwareWithPrices) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"solve", "hardware", "small", "-o", "2", "--candidate", "gpu-a=2.5",
                                           "--candidate", "gpu-b:4=1", "--dp", "2"});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("hardware gpu-b satisfies\n"), HasSubstr("\ngpu-a     ")));
  EXPECT_EQ(server.estimator.last_solve.candidates(0).price_per_device_hour(), 2.5);
  const v1::HardwareCandidate& second = server.estimator.last_solve.candidates(1);
  EXPECT_EQ(second.price_per_device_hour(), 1);
  EXPECT_EQ(second.deployment().tensor_parallel(), 4);
  EXPECT_EQ(second.deployment().data_parallel(), 2);
  EXPECT_FALSE(server.estimator.last_solve.candidates(0).has_deployment());
  const CliResult bad = RunCli(server, {"solve", "hardware", "small", "-o", "2", "--candidate", "gpu-a=cheap"});
  EXPECT_EQ(bad.code, kUsage);
  EXPECT_THAT(bad.err, HasSubstr("allowed: ID=PRICE"));
  EXPECT_EQ(RunCli(server, {"solve", "everything", "small", "gpu-a"}).code, kUsage);
}

TEST(SolveCommandTest, CandidatesOfDifferentProvenanceAreTold) {
  client::FakeServer server;
  std::vector<std::string> arguments = {"solve",       "hardware", "small",       "-o",   "2",
                                        "--candidate", "gpu-a",    "--candidate", "gpu-b"};
  EXPECT_THAT(RunCli(server, arguments).out, AllOf(HasSubstr("  DATASHEET\n"), Not(HasSubstr("note: "))));
  arguments.insert(arguments.end(), {"--engine", "vllm"});
  EXPECT_THAT(
      RunCli(server, arguments).out,
      AllOf(HasSubstr("  CALIBRATED\n"), HasSubstr("\nnote: the rows rest on different evidence (provenance ")));
}

TEST(EvidenceNoteTest, EngineVersionsAreToldApartAndHardwareIsNot) {
  v1::Estimate older, newer;
  older.set_calibration_id("gpu-a.vllm-0.7.3.small");
  newer.set_calibration_id("gpu-b.vllm-0.12.0");
  EXPECT_THAT(EvidenceNote({{"gpu-a", older}, {"gpu-b", newer}}, "small", {}),
              HasSubstr("(calibration vllm-0.12.0, vllm-0.7.3)"));
  newer.set_calibration_id("gpu-b.vllm-0.7.3");
  EXPECT_EQ(EvidenceNote({{"gpu-a", older}, {"gpu-b", newer}}, "small", {}), "");
}

TEST(EvidenceNoteTest, EachWarningOfAnEngineOnce) {
  v1::Estimate a, b;
  for (const char* text : {"sglang was not measured", "heads were padded"}) {
    v1::Warning& warning = *a.add_warnings();
    warning.set_message(text);
    warning.set_field(a.warnings_size() == 1 ? "deployment.engine" : "deployment.tensor_parallel");
  }
  *b.add_warnings() = a.warnings(0);
  *b.add_warnings() = a.warnings(0);
  b.mutable_warnings(1)->set_field("disaggregated_prefill.deployment.engine");
  EXPECT_EQ(EngineWarnings({{"gpu-a", a}, {"gpu-b", b}}, {}),
            "warning: sglang was not measured (deployment.engine)\n"
            "warning: sglang was not measured (disaggregated_prefill.deployment.engine)\n");
  EXPECT_EQ(EngineWarnings({}, {}), "");
}

TEST(SolveCommandTest, AndSoAreEnginesThatWereNotMeasured) {
  client::FakeServer server;
  v1::Warning& warning = *server.estimator.reply.emplace().add_warnings();
  warning.set_message("answered by another");
  warning.set_field("deployment.engine");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"solve", "hardware", "small", "-o", "2", "--candidate", "gpu-a", "--candidate",
                                 "gpu-b"},
        {"compare", "small", "gpu-a", "gpu-b"}}) {
    EXPECT_THAT(RunCli(server, arguments).out, HasSubstr("\nwarning: answered by another (deployment.engine)\n"));
  }
}

TEST(SolveCommandTest, EveryQuestionByItsName) {
  client::FakeServer server;
  for (const auto& [what, want] : {std::pair<const char*, v1::SolveFor>{"batch", v1::SOLVE_FOR_BATCH_SIZE},
                                   {"rate", v1::SOLVE_FOR_REQUEST_RATE},
                                   {"prompt", v1::SOLVE_FOR_PROMPT_TOKENS},
                                   {"tp", v1::SOLVE_FOR_TENSOR_PARALLEL}}) {
    EXPECT_EQ(RunCli(server, {"solve", what, "small", "gpu-a", "-o", "2"}).code, kOk) << what;
    EXPECT_EQ(server.estimator.last_solve.solve_for(), want);
  }
  // The fake answers candidate 1, of one: no name, and no crash.
  EXPECT_THAT(RunCli(server, {"solve", "hardware", "small", "-o", "2", "--candidate", "gpu-a"}).out,
              StartsWith("hardware 1 satisfies\n"));
  EXPECT_EQ(server.estimator.last_solve.solve_for(), v1::SOLVE_FOR_HARDWARE);
}

TEST(SolveCommandTest, EveryColumnOfTheCandidates) {
  client::FakeServer server;
  server.estimator.reply = DistinctEstimate();
  EXPECT_THAT(
      RunCli(server, {"solve", "hardware", "small", "-o", "2", "--candidate", "gpu-a", "--candidate", "gpu-b"}).out,
      HasSubstr("\nhardware   TTFT   TPOT    E2E  cost/request  SLO       provenance\n"
                "gpu-a     102 s  106 s  110 s           204  MARGINAL  CALIBRATED/TRANSFERRED\n"));
}

TEST(SolveCommandTest, TheEstimateFollowsTheAnswerInCsv) {
  client::FakeServer server;
  server.estimator.reply = DistinctEstimate();
  std::istringstream solved(RunCli(server, {"solve", "tp", "small", "gpu-a", "-o", "2", "--output", "csv"}).out);
  std::istringstream estimated(RunCli(server, {"estimate", "small", "gpu-a", "-o", "2", "--output", "csv"}).out);
  CsvReader solve(solved), estimate(estimated);
  for (const auto& first :
       {std::vector<std::string>{"solve_for", "satisfied", "value", "nearest_value", "binding_constraint"},
        {"tensor_parallel", "true", "37", "", "max_tpot"}}) {
    std::vector<std::string> want = first;
    const std::vector<std::string> cells = estimate.Next().value().cells;
    want.insert(want.end(), cells.begin() + 2, cells.end());  // without model and hardware
    EXPECT_EQ(solve.Next().value().cells, want);
  }
  EXPECT_THAT(RunCli(server, {"solve", "tp", "small", "gpu-a", "-o", "2", "--slo-tpot", "1us", "--output", "csv"}).out,
              HasSubstr("\ntensor_parallel,false,,1,max_tpot,"));
}

TEST(SolveCommandTest, ForPrograms) {
  client::FakeServer server;
  EXPECT_THAT(RunCli(server, {"solve", "tp", "small", "gpu-a", "-o", "2", "--output", "csv"}).out,
              AllOf(StartsWith("solve_for,satisfied,value,nearest_value,binding_constraint,ttft_seconds,"),
                    HasSubstr("\ntensor_parallel,true,37,,max_tpot,0.01,")));
  EXPECT_THAT(RunCli(server, {"solve", "tp", "small", "gpu-a", "-o", "2", "--output", "json"}).out,
              HasSubstr("\"value\": 37"));
}

}  // namespace
}  // namespace foretoken::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/terminal/exit_code.h"
#include "client/cli/text/evidence_note.h"
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

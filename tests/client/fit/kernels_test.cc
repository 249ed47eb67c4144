// Kernels timed alone: their CSV, the commands that send them, and the report.
#include "client/cli/validation/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "client/cli/terminal/exit_code.h"
#include "client/cli/text/calibration_text.h"
#include "tests/client/cli/run_cli.h"
#include "tests/paths.h"

namespace foretoken::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kKernelHeader[] =
    "hardware,engine,engine_version,implementation,weight_dtype,activation_dtype,matrices,tokens,experts_per_token,"
    "rows,"
    "experts,hidden_size,width,seconds\n";
constexpr char kKernelRow[] = "gpu-a,vllm,0.24.0,fused_moe,fp8_block,fp8,2,3,4,5.5,6.25,7,768.0,0.00025\n";
constexpr char kOtherRow[] = "gpu-b,vllm,0.24.0,fused_moe,bf16,bf16,3,1,1,1,1,64,64,0.0001\n";

std::vector<KernelRow> ReadRows(const std::string& rows) {
  std::istringstream in(kKernelHeader + rows);
  return ReadKernels("k.csv", in).value();
}

std::string RefusedFile(const std::string& text) {
  std::istringstream in(text);
  return std::string(ReadKernels("k.csv", in).status().message());
}

TEST(KernelsTest, EachColumnIsAFieldOfItsOwn) {
  const KernelRow row = ReadRows(kKernelRow)[0];
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.hardware_id, "gpu-a");
  EXPECT_EQ(Place(row), "k.csv:2");
  EXPECT_EQ(row.sample.ShortDebugString(),
            "engine: \"vllm@0.24.0\" weight_dtype: DTYPE_FP8_BLOCK activation_dtype: DTYPE_FP8 measured_seconds: "
            "0.00025 routed_experts { tokens: 3 num_experts_per_tok: 4 rows: 5.5 num_experts: 6.25 hidden_size: 7 "
            "moe_intermediate_size: 768 mlp_matrices: 2 }");
}

TEST(KernelsTest, WhatMayBeBlankOrAbsent) {
  std::istringstream in(
      "seconds,width,hidden_size,experts,rows,experts_per_token,tokens,activation_dtype,weight_dtype,engine,hardware\n"
      "1e-4,64,32,1,0.0,1,1,bf16,bf16,vllm,gpu-a\n");
  const KernelRow row = ReadKernels("k.csv", in).value()[0];
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.sample.engine(), "vllm");
  EXPECT_FALSE(row.sample.routed_experts().has_mlp_matrices());
}

TEST(KernelsTest, BadRowsNameEveryColumn) {
  const auto told = [](const std::string& row) { return std::string(ReadRows(row)[0].status.message()); };
  EXPECT_EQ(told("gpu-a,,,,bf16,bf16,3,1,1,1,1,64,64,0.1\n"), "engine is blank");
  EXPECT_EQ(told("gpu-a,vllm,,,bf61,bf16,1,0.5,x,-1,0,64,3e9,nan\n").substr(0, 34),
            "weight_dtype \"bf61\"; allowed: fp32");
  EXPECT_THAT(told("gpu-a,vllm,,,bf61,bf16,1,0.5,x,-1,0,64,3e9,nan\n"),
              testing::EndsWith("seconds \"nan\"; allowed: finite seconds above 0; "
                                "tokens \"0.5\"; allowed: a whole number of at least 1; "
                                "experts_per_token \"x\"; allowed: a whole number of at least 1; "
                                "rows \"-1\"; allowed: a finite number of at least 0; "
                                "experts \"0\"; allowed: finite experts above 0; "
                                "width \"3e9\"; allowed: a whole number of at least 1; "
                                "matrices \"1\"; allowed: a whole number of at least 2"));
  EXPECT_THAT(told("gpu-a,vllm,,,bf16,bf16,3,1,1,1,1,64,64\n"), HasSubstr("13 cells; allowed 14; seconds is blank"));
}

TEST(KernelsTest, BadFiles) {
  EXPECT_EQ(RefusedFile(""), "k.csv: is empty; a header line is needed");
  EXPECT_EQ(RefusedFile(kKernelHeader), "k.csv: no rows below the header");
  EXPECT_THAT(RefusedFile("hardware,engine,weight,tokens,tokens\n"),
              testing::StartsWith("k.csv:1: column \"tokens\" stands twice, unknown column \"weight\", no column "
                                  "\"weight_dtype\""));
  EXPECT_THAT(RefusedFile("hardware\n"), HasSubstr("; allowed: hardware, engine, engine_version, implementation, "));
}

TEST(KernelsTest, TheMeasurementsOfTheValidationAreRead) {
  const std::string path = SourcePath("tests/validation/kernels/experts.csv");
  std::ifstream in(path);
  const absl::StatusOr<std::vector<KernelRow>> rows = ReadKernels(path, in);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_GT(rows->size(), 8000u);
  for (const KernelRow& row : *rows) ASSERT_TRUE(row.status.ok()) << Place(row) << row.status;
}

TEST(FitKernelsTest, RowsOfOtherHardwareAreLeftOutAndNamed) {
  client::FakeServer server;
  const CliResult trial = RunCli(server, {"fit", "--kernels", "-", "--hardware", "gpu-a"},
                                 std::string(kKernelHeader) + kKernelRow + kOtherRow);
  EXPECT_EQ(trial.code, kOk) << trial.err;
  EXPECT_THAT(trial.err, HasSubstr("note: -: left out 1 rows of other hardware: gpu-b"));
  const v1::RegisterHardwareRequest& request = server.catalog.last_hardware;
  EXPECT_TRUE(request.validate_only());
  EXPECT_EQ(request.etag(), "e1");
  EXPECT_EQ(request.samples_size(), 0);
  ASSERT_EQ(request.kernels_size(), 1);
  EXPECT_EQ(request.kernels(0).routed_experts().rows(), 5.5);

  const CliResult only = RunCli(server, {"fit", "--kernels", "-"}, std::string(kKernelHeader) + kKernelRow);
  EXPECT_EQ(only.code, kOk) << only.err;
  EXPECT_THAT(only.err, Not(HasSubstr("note")));
  const CliResult unclear =
      RunCli(server, {"fit", "--kernels", "-"}, std::string(kKernelHeader) + kKernelRow + kOtherRow);
  EXPECT_EQ(unclear.code, kUsage);
  EXPECT_THAT(unclear.err, HasSubstr("--hardware \"\"; the file has gpu-a, gpu-b"));
}

TEST(FitKernelsTest, RunsAndKernelsTogether) {
  client::FakeServer server;
  const TemporaryFile runs("runs.csv",
                           "hardware,model,engine,batch_size,prompt_tokens,output_tokens,ttft_s\n"
                           "gpu-a,small,vllm,1,512,1,0.1\n");
  const CliResult both =
      RunCli(server, {"fit", runs.path(), "--kernels", "-", "--register"}, std::string(kKernelHeader) + kKernelRow);
  EXPECT_EQ(both.code, kOk) << both.err;
  EXPECT_EQ(server.catalog.last_hardware.samples_size(), 1);
  EXPECT_EQ(server.catalog.last_hardware.kernels_size(), 1);
  EXPECT_FALSE(server.catalog.last_hardware.validate_only());
  const CliResult apart = RunCli(server, {"fit", runs.path(), "--kernels", "-", "--hardware", "gpu-b"},
                                 std::string(kKernelHeader) + kOtherRow);
  EXPECT_EQ(apart.code, kUsage);
  EXPECT_THAT(apart.err, HasSubstr("runs.csv: no row of hardware \"gpu-b\"; it has 1 rows of other hardware: gpu-a"));
  const CliResult neither = RunCli(server, {"fit"});
  EXPECT_EQ(neither.code, kUsage);
  EXPECT_THAT(neither.err, HasSubstr("no measurements; allowed: FILE, --kernels FILE.csv, or both"));
}

TEST(RegisterKernelsTest, TheyAreOfTheRegisteredHardware) {
  client::FakeServer server;
  const TemporaryFile kernels("kernels.csv", std::string(kKernelHeader) + kKernelRow);
  const CliResult good = RunCli(server, {"register-hardware", "-", "--kernels", kernels.path()}, "id: 'gpu-a'");
  EXPECT_EQ(good.code, kOk) << good.err;
  ASSERT_EQ(server.catalog.last_hardware.kernels_size(), 1);
  EXPECT_EQ(server.catalog.last_hardware.kernels(0).engine(), "vllm@0.24.0");
  const CliResult other = RunCli(server, {"register-hardware", "-", "--kernels", kernels.path()}, "id: 'other'");
  EXPECT_EQ(other.code, kUsage);
  EXPECT_THAT(other.err, HasSubstr("kernels.csv:2: hardware \"gpu-a\"; allowed: \"other\""));
  const TemporaryFile bad("bad.csv", std::string(kKernelHeader) + "gpu-a,vllm,,,bf16,bf16,3,1,1,1,1,64,64,fast\n");
  const CliResult refused = RunCli(server, {"register-hardware", "-", "--kernels", bad.path()}, "id: 'gpu-a'");
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_THAT(refused.err, HasSubstr("bad.csv:2: seconds \"fast\"; allowed: finite seconds above 0"));
}

v1::CalibrationReport KernelReport() {
  v1::CalibrationReport report;
  v1::CalibrationSpec& calibration = *report.add_calibrations();
  calibration.set_id("gpu-a.vllm.continuous");
  calibration.set_parent("vllm.continuous");
  calibration.set_kernels_used(7);
  v1::CalibrationParameter& parameter = *calibration.add_parameters();
  parameter.set_name("efficiency");
  parameter.set_prior_value(0.7);
  parameter.set_value(0.8);
  parameter.set_identified(true);
  parameter.set_posterior_log_deviation(0.25);
  v1::CalibrationEvidence& evidence = *report.add_evidence();
  evidence.set_calibration_id(calibration.id());
  evidence.set_description("prefill and decode: kernels");
  v1::KernelError& error = *report.add_kernel_errors();
  error.set_calibration_id(calibration.id());
  error.set_kernel("routed_experts");
  error.set_format("16bit");
  error.set_num_kernels(6);
  error.set_parent_median_ape(0.31);
  error.set_in_sample_median_ape(0.12);
  error.set_start_seconds(4e-5);
  v1::RejectedSample& rejected = *report.add_rejected_kernels();
  rejected.set_index(3);
  rejected.set_reason("too fast");
  v1::RejectedSample& suspicious = *report.add_suspicious_kernels();
  suspicious.set_index(4);
  suspicious.set_reason("far off");
  return report;
}

TEST(KernelsTextTest, EveryValueInItsPlace) {
  EXPECT_EQ(CalibrationText(KernelReport(), {}), R"(
gpu-a.vllm.continuous  7 kernels, prior: vllm.continuous
  prefill and decode: kernels
  kernels         format  measurements  prior's error  median error    start
  routed_experts  16bit              6          31.0%         12.0%  40.0 us

  parameter   prior  fitted  deviation
  efficiency  0.700   0.800  x1.25
rejected kernel 3: too fast
suspicious kernel 4: far off
)");
  v1::CalibrationReport both = KernelReport();
  both.mutable_calibrations(0)->set_samples_used(5);
  EXPECT_THAT(CalibrationText(both, {}), HasSubstr("continuous  5 measurements, 7 kernels, prior"));
  EXPECT_THAT(CalibrationCsv(KernelReport()), HasSubstr("\ngpu-a.vllm.continuous,routed_experts.16bit,6,0.12,,,\n"));
}

}  // namespace
}  // namespace foretoken::cli

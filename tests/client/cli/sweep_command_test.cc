#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CliResult Sweep(client::FakeServer& server, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "sweep", "small", "gpu-a", "--axis", "batch=1,2", "--axis", "weight-dtype=bf16,fp8"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunCli(server, arguments);
}

TEST(SweepCommandTest, ATableAndItsFrontier) {
  client::FakeServer server;
  const CliResult result = Sweep(server, {});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_EQ(
      result.out,
      "batch_size  weight_dtype     TTFT  provenance\n"
      "         1  bf16          10.0 ms  DATASHEET\n"
      "         1  fp8           20.0 ms  DATASHEET\n"
      "         2  bf16          30.0 ms  DATASHEET\n"
      "         2  fp8                 -  OUT_OF_MEMORY\n"
      "\n"
      "Frontier: no other point has both lower latency and higher throughput per device\n"
      "  batch_size  weight_dtype  latency  tok/s/device\n"
      "           1  bf16          1.00 ms         1,000\n"
      "\n"
      "refused: 1 OUT_OF_MEMORY; the first is point 3 (batch_size 2, weight_dtype fp8): needs 90 GB, there are 80 GB "
      "(FAILED_PRECONDITION, OUT_OF_MEMORY)\n"
      "4 points, catalog 0123456789ab revision 7\n");
}

TEST(SweepCommandTest, WhatStoodInForAnEngine) {
  client::FakeServer server;
  v1::SweepWarning& warning = *server.estimator.summary.add_warnings();
  warning.mutable_warning()->set_message("engine vllm\x1b was not measured");
  warning.mutable_warning()->set_field("deployment.engine");
  warning.set_first_point(1);
  warning.set_num_points(1200);
  EXPECT_THAT(Sweep(server, {}).out,
              HasSubstr("warning: engine vllm\\x1b was not measured (deployment.engine), 1,200 points\n4 points, "));
  EXPECT_THAT(Sweep(server, {"--output", "json"}).out,
              HasSubstr("\"warnings\":[{\"warning\":{\"message\":\"engine vllm"));
}

TEST(SweepCommandTest, ManyPointsShowTheFrontierAlone) {
  client::FakeServer server;
  EXPECT_THAT(Sweep(server, {"--max-rows", "3"}).out, AllOf(HasSubstr("Frontier"), Not(HasSubstr("10.0 ms"))));
}

TEST(SweepCommandTest, LinesForPrograms) {
  client::FakeServer server;
  EXPECT_EQ(Sweep(server, {"--output", "csv"}).out,
            "workload.batch_size,deployment.weight_dtype,ttft_seconds,status,reason,provenance\n"
            "1,bf16,0.01,OK,,DATASHEET\n"
            "1,fp8,0.02,OK,,DATASHEET\n"
            "2,bf16,0.03,OK,,DATASHEET\n"
            "2,fp8,,FAILED_PRECONDITION,OUT_OF_MEMORY,\n");
  EXPECT_THAT(
      Sweep(server, {"--output", "json"}).out,
      AllOf(HasSubstr("{\"point\": 0, \"workload.batch_size\": 1, \"deployment.weight_dtype\": \"bf16\", "
                      "\"ttft_seconds\": 0.01, \"status\": \"OK\", \"provenance\": \"DATASHEET\"}\n"),
            HasSubstr("\"ttft_seconds\": null, \"status\": \"FAILED_PRECONDITION\""), HasSubstr("{\"summary\": {")));
}

TEST(SweepCommandTest, EveryMetricInItsColumn) {
  client::FakeServer server;
  const std::vector<std::string> metrics = {"--metric", "mbu,ttft,weight_bytes", "--frontier", "ttft"};
  EXPECT_THAT(Sweep(server, metrics).out,
              testing::StartsWith("batch_size  weight_dtype    mbu    TTFT  weight_bytes  provenance\n"
                                  "         1  bf16          1.00%  1.01 s        2.01 B  DATASHEET\n"));
  EXPECT_EQ(server.estimator.last_sweep.frontier_metric(), v1::FRONTIER_METRIC_TTFT);
  EXPECT_THAT(server.estimator.last_sweep.metrics(),
              testing::ElementsAre(v1::METRIC_MBU, v1::METRIC_TTFT_SECONDS, v1::METRIC_WEIGHT_BYTES));
  std::vector<std::string> arguments = metrics;
  arguments.insert(arguments.end(), {"--output", "csv"});
  EXPECT_THAT(Sweep(server, arguments).out,
              testing::StartsWith(
                  "workload.batch_size,deployment.weight_dtype,mbu,ttft_seconds,weight_bytes,status,reason,provenance\n"
                  "1,bf16,0.01,1.01,2.01,OK,,DATASHEET\n"));
  arguments.back() = "json";
  EXPECT_THAT(Sweep(server, arguments).out,
              testing::StartsWith("{\"point\": 0, \"workload.batch_size\": 1, \"deployment.weight_dtype\": \"bf16\", "
                                  "\"mbu\": 0.01, \"ttft_seconds\": 1.01, \"weight_bytes\": 2.01, "
                                  "\"status\": \"OK\", \"provenance\": \"DATASHEET\"}\n"));
}

TEST(SweepCommandTest, ARefusedPointInJson) {
  client::FakeServer server;
  EXPECT_THAT(
      Sweep(server, {"--output", "json"}).out,
      HasSubstr(
          "\"ttft_seconds\": null, \"status\": \"FAILED_PRECONDITION\", \"reason\": "
          "\"OUT_OF_MEMORY\"}\n"
          "{\"summary\": {\"frontier\":[{\"latency_seconds\":0.001,\"output_tokens_per_second_per_device\":1000}],"
          "\"ok_points\":\"3\",\"refused_points\":\"1\"}}\n"));
}

TEST(SweepCommandTest, UnknownMetric) {
  client::FakeServer server;
  EXPECT_EQ(Sweep(server, {"--metric", "ttft,mbu"}).code, kOk);
  EXPECT_EQ(Sweep(server, {"--metric", "speed"}).code, kUsage);
}

TEST(SweepCommandTest, OnePointIsOnePoint) {
  client::FakeServer server;
  const CliResult result = RunCli(server, {"sweep", "small", "gpu-a", "--axis", "batch=1"});
  EXPECT_THAT(result.out, HasSubstr("\n1 point, catalog"));
}

TEST(SweepCommandTest, ASweepThatCannotBeWrittenIsCancelled) {
  client::FakeServer server;
  server.estimator.endless = true;
  const CliResult result =
      RunCliOnFullDisk(server, {"sweep", "small", "gpu-a", "--axis", "batch=1,2", "--output", "csv"});
  EXPECT_EQ(result.code, kNotWritten);
  EXPECT_EQ(result.err, "foretoken: standard output cannot be written\n");
}

TEST(SweepCommandTest, CtrlCCancels) {
  client::FakeServer server;
  server.estimator.endless = true;
  // The handler stands before the call begins, so a signal after the server has seen the call is handled.
  std::thread interrupter([&server] {
    while (server.estimator.calls == 0) std::this_thread::yield();
    raise(SIGINT);
  });
  const CliResult result = Sweep(server, {"--output", "csv"});
  interrupter.join();
  EXPECT_EQ(result.code, kInterrupted);
  EXPECT_EQ(result.err, "foretoken: interrupted, the sweep was cancelled\n");
}

}  // namespace
}  // namespace foretoken::cli

#include "client/cli/text/calibration_text.h"

#include <gtest/gtest.h>

#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

// Every figure of a metric is another one: `first` and more.
void AddMetric(v1::LatencyMetric metric, double first, v1::CalibrationSpec& calibration) {
  v1::CalibrationError& error = *calibration.add_errors();
  error.set_metric(metric);
  error.set_num_samples(static_cast<int>(first * 100));
  error.set_in_sample_median_ape(first + 0.01);
  error.set_cross_validated_median_ape(first + 0.02);
  error.set_in_sample_mean_ape(first + 0.03);
  error.set_in_sample_bias(first + 0.04);
  v1::CalibrationBand& band = *calibration.add_bands();
  band.set_metric(metric);
  band.set_low_ratio(first + 0.05);
  band.set_high_ratio(first + 1.06);
  band.set_coverage(first);
}

void AddParameters(v1::CalibrationSpec& calibration) {
  v1::CalibrationParameter& time = *calibration.add_parameters();
  time.set_name("layer_gap");
  time.set_unit("s");
  time.set_prior_value(0.001);
  time.set_value(0.002);
  v1::CalibrationParameter& share = *calibration.add_parameters();
  share.set_name("efficiency");
  share.set_prior_value(0.7);
  share.set_value(0.8);
  share.set_identified(true);
  share.set_posterior_log_deviation(0.25);
}

v1::MovedPrediction Moved() {
  v1::MovedPrediction moved;
  moved.set_model_id("m");
  moved.mutable_deployment()->set_engine("vllm");
  moved.mutable_deployment()->set_tensor_parallel(2);
  moved.set_batch_size(5);
  moved.set_prompt_tokens(6);
  moved.set_output_tokens(7);
  moved.set_metric(v1::LATENCY_METRIC_TPOT);
  moved.set_before_seconds(0.01);
  moved.set_after_seconds(0.012);
  return moved;
}

v1::CalibrationReport Report() {
  v1::CalibrationReport report;
  v1::CalibrationSpec& calibration = *report.add_calibrations();
  calibration.set_id("gpu-a.vllm");
  calibration.set_parent("vllm");
  calibration.set_samples_used(12);
  AddMetric(v1::LATENCY_METRIC_TTFT, 0.1, calibration);
  AddMetric(v1::LATENCY_METRIC_TPOT, 0.5, calibration);
  AddMetric(v1::LATENCY_METRIC_E2E, 0.9, calibration);
  calibration.mutable_errors(2)->clear_cross_validated_median_ape();
  AddParameters(calibration);
  v1::RejectedSample& rejected = *report.add_rejected();
  rejected.set_index(3);
  rejected.set_reason("too fast");
  v1::RejectedSample& suspicious = *report.add_suspicious();
  suspicious.set_index(4);
  suspicious.set_reason("4 times slower");
  *report.add_moved() = Moved();
  report.set_num_probes(9);
  return report;
}

TEST(CalibrationTextTest, EveryValueInItsPlace) {
  EXPECT_EQ(CalibrationText(Report(), {}), R"(
gpu-a.vllm  12 measurements, prior: vllm
  metric  measurements  median error  held out  mean error    bias     measured / predicted
  TTFT              10         11.0%     12.0%       13.0%  +14.0%  x0.15 to x1.16 in 10.0%
  TPOT              50         51.0%     52.0%       53.0%  +54.0%  x0.55 to x1.56 in 50.0%
  E2E               90         91.0%         -       93.0%  +94.0%  x0.95 to x1.96 in 90.0%

  parameter     prior   fitted  deviation
  layer_gap   1.00 ms  2.00 ms  not identified by the measurements
  efficiency    0.700    0.800  x1.25
rejected measurement 3: too fast
suspicious measurement 4: 4 times slower

1 of 9 predictions of the probe set change by more than 5%
  metric  model  engine  tp  batch  prompt  output   before    after
  TPOT    m      vllm     2      5       6       7  10.0 ms  12.0 ms  +20.0%
)");
}

TEST(CalibrationTextTest, TheLargestMoveIsFirstWhateverItsSign) {
  v1::CalibrationReport report = Report();
  *report.add_moved() = report.moved(0);
  report.mutable_moved(1)->set_after_seconds(0.005);  // -50%, before +20%
  const std::string text = CalibrationText(report, {});
  EXPECT_LT(text.find("-50.0%"), text.find("+20.0%"));
  EXPECT_NE(text.find("-50.0%"), std::string::npos);
}

TEST(CalibrationTextTest, EveryColumnOfTheCsv) {
  EXPECT_EQ(CalibrationCsv(Report()),
            "calibration,metric,num_samples,in_sample_median_ape,cross_validated_median_ape,in_sample_mean_ape,"
            "in_sample_bias\n"
            "gpu-a.vllm,TTFT,10,0.11,0.12,0.13,0.14\n"
            "gpu-a.vllm,TPOT,50,0.51,0.52,0.53,0.54\n"
            "gpu-a.vllm,E2E,90,0.91,,0.93,0.94\n");
}

constexpr char kSamples[] =
    "hardware,model,engine,batch_size,prompt_tokens,output_tokens,ttft_s\n"
    "gpu-a,small,vllm,1,512,1,0.1\n"
    "gpu-b,small,vllm,1,512,1,0.2\n";

TEST(FitCommandTest, ADryRunUnlessItIsStored) {
  client::FakeServer server;
  server.catalog.report = Report();
  const CliResult trial = RunCli(server, {"fit", "-", "--hardware", "gpu-a", "--max-median-ape", "0.3"}, kSamples);
  EXPECT_EQ(trial.code, kOk) << trial.err;
  EXPECT_EQ(trial.out, "valid, nothing stored: hardware gpu-a, etag new, catalog 0123456789ab revision 7\n" +
                           CalibrationText(Report(), {}) + "\nA dry run; --register stores it.\n");
  const v1::RegisterHardwareRequest& request = server.catalog.last_hardware;
  EXPECT_TRUE(request.validate_only());
  EXPECT_EQ(request.etag(), "e1");
  EXPECT_EQ(request.max_median_ape(), 0.3);
  ASSERT_EQ(request.samples_size(), 1);
  EXPECT_EQ(request.samples(0).ttft_seconds(), 0.1);
  const CliResult stored =
      RunCli(server, {"fit", "-", "--hardware", "gpu-a", "--register", "--output", "csv"}, kSamples);
  EXPECT_EQ(stored.out, CalibrationCsv(Report()));
  EXPECT_FALSE(server.catalog.last_hardware.validate_only());
  const CliResult unclear = RunCli(server, {"fit", "-"}, kSamples);
  EXPECT_EQ(unclear.code, kUsage);
  EXPECT_EQ(unclear.err.substr(0, 56), "foretoken: --hardware \"\"; the file has gpu-a, gpu-b (INV");
}

}  // namespace
}  // namespace foretoken::cli

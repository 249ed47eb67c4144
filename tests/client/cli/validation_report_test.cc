#include "client/cli/validation/validation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace foretoken::cli {
namespace {

Measurement Row(const std::string& model, double ttft) {
  Measurement row{.file = "m.csv", .line = 2, .cells = {}, .hardware_id = "gpu", .sample = {}, .status = {}};
  row.sample.set_model_id(model);
  row.sample.set_ttft_seconds(ttft);
  return row;
}

Prediction Predicted(double ttft) {
  Prediction prediction;
  prediction.estimate.mutable_ttft()->set_seconds(ttft);
  prediction.estimate.mutable_decode()->set_provenance(v1::PROVENANCE_DATASHEET);
  return prediction;
}

TEST(MakeReportTest, GroupsRefusalsAndMeans) {
  std::vector<Measurement> rows = {Row("a", 1), Row("a", 1), Row("b", 1), Row("b", 1), Row("c", 1)};
  rows[4].status = absl::InvalidArgumentError("batch_size is blank");
  // Model a: 10% and 30% too slow; model b: 40% too fast, and one refused.
  const std::vector<Prediction> predictions = {Predicted(1.1),
                                               Predicted(1.3),
                                               Predicted(0.6),
                                               {absl::FailedPreconditionError("too large"), {}},
                                               {rows[4].status, {}}};
  const ValidationReport report = MakeReport(rows, predictions);
  EXPECT_EQ(report.rows, 5);
  EXPECT_EQ(report.predicted, 3);
  EXPECT_EQ(report.unreadable, 1);
  EXPECT_EQ(report.refusals.at("FAILED_PRECONDITION"), 1);
  ASSERT_EQ(report.groups.size(), 2u);
  EXPECT_EQ(report.groups.begin()->first.model, "a");
  EXPECT_NEAR(report.groups.begin()->second.errors[0].median_absolute, 0.2, 1e-12);
  EXPECT_NEAR(report.over_groups[0].median_absolute, 0.3, 1e-12);  // (0.2 + 0.4) / 2
  EXPECT_NEAR(report.pooled[0].median_absolute, 0.3, 1e-12);       // of 0.1, 0.3, 0.4
  EXPECT_NEAR(report.pooled[0].mean_bias, 0.0, 1e-12);             // 0.1 + 0.3 - 0.4
  EXPECT_EQ(report.pooled[1].rows, 0);                             // no TPOT was measured
  EXPECT_THAT(ReportText(report, {}),
              testing::HasSubstr("5 rows: 3 predicted, 1 refused (FAILED_PRECONDITION 1), 1 unreadable"));
}

// Errors whose figures all differ: 1 row, 0.02, 0.03, 0.04, 0.05 for TTFT, 11 rows, 0.12, ... for TPOT.
MetricErrors DistinctErrors(int first) {
  MetricErrors errors;
  for (ErrorSummary& one : errors) {
    one = {.rows = first,
           .median_absolute = (first + 1) / 100.0,
           .mean_absolute = (first + 2) / 100.0,
           .mean_bias = (first + 3) / 100.0,
           .coverage = (first + 4) / 100.0};
    first += 10;
  }
  return errors;
}

ValidationReport DistinctReport() {
  ValidationReport report{.groups = {},
                          .pooled = DistinctErrors(61),
                          .over_groups = DistinctErrors(31),
                          .rows = 9,
                          .predicted = 5,
                          .unreadable = 1,
                          .refusals = {{"OUT_OF_MEMORY", 3}}};
  report.groups[{"a/m.csv", "gpu", "vllm", "llama"}] = {.errors = DistinctErrors(1), .refused = 3};
  return report;
}

TEST(ReportTest, EveryFigureInItsColumn) {
  EXPECT_EQ(ReportCsv(DistinctReport()),
            "file,hardware,engine,model,metric,scored,refused,median_absolute_error,mean_absolute_error,bias,in_band\n"
            "a/m.csv,gpu,vllm,llama,TTFT,1,3,0.02,0.03,0.04,0.05\n"
            "a/m.csv,gpu,vllm,llama,TPOT,11,3,0.12,0.13,0.14,0.15\n"
            "a/m.csv,gpu,vllm,llama,E2E,21,3,0.22,0.23,0.24,0.25\n");
  EXPECT_EQ(
      ReportText(DistinctReport(), {}),
      "Groups: median/mean error\n"
      "  file   hardware  engine  model        TTFT    bias        TPOT    bias         E2E    bias  scored  refused\n"
      "  m.csv  gpu       vllm    llama  2.00/3.00%  +4.00%  12.0/13.0%  +14.0%  22.0/23.0%  +24.0%      21        3\n"
      "\n"
      "Mean over groups\n"
      "  metric  rows  median error  mean error    bias  in band\n"
      "  TTFT      31         32.0%       33.0%  +34.0%    35.0%\n"
      "  TPOT      41         42.0%       43.0%  +44.0%    45.0%\n"
      "  E2E       51         52.0%       53.0%  +54.0%    55.0%\n"
      "\n"
      "All rows together\n"
      "  metric  rows  median error  mean error    bias  in band\n"
      "  TTFT      61         62.0%       63.0%  +64.0%    65.0%\n"
      "  TPOT      71         72.0%       73.0%  +74.0%    75.0%\n"
      "  E2E       81         82.0%       83.0%  +84.0%    85.0%\n"
      "\n"
      "9 rows: 5 predicted, 3 refused (OUT_OF_MEMORY 3), 1 unreadable\n"
      "Errors are relative to the measured value; bias above 0 means predicted too slow.\n");
}

TEST(ReportTest, EveryFigureUnderItsName) {
  const auto errors = [](int rows) {
    const auto one = [](int n) {
      const std::string digits = (n < 10 ? "0" : "") + std::to_string(n);
      return "{\"rows\": " + std::to_string(n) + ", \"median_absolute\": 0." + digits.substr(0, 1) +
             std::to_string(n % 10 + 1) + ", \"mean_absolute\": 0." + digits.substr(0, 1) + std::to_string(n % 10 + 2) +
             ", \"bias\": 0." + digits.substr(0, 1) + std::to_string(n % 10 + 3) + ", \"in_band\": 0." +
             digits.substr(0, 1) + std::to_string(n % 10 + 4) + "}";
    };
    return "{\"ttft\": " + one(rows) + ", \"tpot\": " + one(rows + 10) + ", \"e2e\": " + one(rows + 20) + "}";
  };
  EXPECT_EQ(ReportJson(DistinctReport()),
            "{\"rows\": 9, \"predicted\": 5, \"unreadable\": 1, \"refusals\": {\"OUT_OF_MEMORY\": 3},\n"
            " \"mean_over_groups\": " +
                errors(31) + ",\n \"all_rows\": " + errors(61) +
                ",\n \"groups\": [\n"
                "  {\"file\": \"a/m.csv\", \"hardware\": \"gpu\", \"engine\": \"vllm\", \"model\": \"llama\", "
                "\"refused\": 3, \"errors\": " +
                errors(1) + "}\n]}\n");
}

TEST(MakeReportTest, EachMetricIsScoredAgainstItsOwn) {
  Measurement row = Row("a", 1);
  row.sample.set_tpot_seconds(1);
  row.sample.set_e2e_seconds(1);
  row.sample.mutable_deployment()->set_engine("vllm@0.7.3");
  Prediction prediction = Predicted(1.1);
  const auto set = [](v1::TimeEstimate& time, double seconds, double low, double high) {
    time.set_seconds(seconds);
    time.mutable_band()->set_low(low);
    time.mutable_band()->set_high(high);
  };
  set(*prediction.estimate.mutable_tpot(), 1.2, 1, 2);     // the lower end is inside
  set(*prediction.estimate.mutable_e2e(), 1.3, 0.5, 0.9);  // measured above the band
  const ValidationReport report = MakeReport({row}, {prediction});
  EXPECT_NEAR(report.pooled[0].mean_bias, 0.1, 1e-12);
  EXPECT_TRUE(std::isnan(report.pooled[0].coverage));
  EXPECT_NEAR(report.pooled[1].mean_bias, 0.2, 1e-12);
  EXPECT_EQ(report.pooled[1].coverage, 1);
  EXPECT_NEAR(report.pooled[2].mean_bias, 0.3, 1e-12);
  EXPECT_EQ(report.pooled[2].coverage, 0);
  EXPECT_EQ(report.groups.begin()->first, (GroupKey{"m.csv", "gpu", "vllm", "a"}));
}

TEST(PredictionCellsTest, EveryTimeInItsColumn) {
  Prediction prediction;
  int number = 1;
  for (v1::TimeEstimate* time :
       {prediction.estimate.mutable_ttft(), prediction.estimate.mutable_tpot(), prediction.estimate.mutable_e2e()}) {
    time->set_seconds(number);
    time->mutable_band()->set_low(number + 1);
    time->mutable_band()->set_high(number + 2);
    number += 3;
  }
  EXPECT_THAT(PredictionColumns(), testing::ElementsAre("predicted_ttft_s", "predicted_tpot_s", "predicted_e2e_s",
                                                        "ttft_low_s", "ttft_high_s", "tpot_low_s", "tpot_high_s",
                                                        "e2e_low_s", "e2e_high_s", "provenance", "status"));
  EXPECT_THAT(PredictionCells(prediction), testing::ElementsAre("1", "4", "7", "2", "3", "5", "6", "8", "9", "", "OK"));
}

TEST(CandidateOfTest, EveryFieldOfTheRow) {
  Measurement row = Row("a", 1);
  row.sample.mutable_deployment()->set_tensor_parallel(2);
  row.sample.set_batch_size(3);
  row.sample.set_prompt_tokens(4);
  row.sample.set_output_tokens(5);
  row.sample.set_request_rate_per_second(6);
  row.sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  const auto workload = [&](v1::ExpertRouting routing) {
    return CandidateOf(row, {.method = v1::METHOD_UNSPECIFIED, .routing = routing}).workload();
  };
  const v1::Candidate candidate = CandidateOf(row, {});
  EXPECT_EQ(candidate.deployment().tensor_parallel(), 2);
  EXPECT_EQ(candidate.workload().batch_size(), 3);
  EXPECT_EQ(candidate.workload().prompt_tokens(), 4);
  EXPECT_EQ(candidate.workload().output_tokens(), 5);
  EXPECT_EQ(candidate.workload().request_rate_per_second(), 6);
  EXPECT_EQ(workload(v1::EXPERT_ROUTING_UNSPECIFIED).expert_routing(), v1::EXPERT_ROUTING_UNSPECIFIED);
  row.sample.set_batching_policy(v1::BATCHING_POLICY_STATIC);
  EXPECT_EQ(workload(v1::EXPERT_ROUTING_UNSPECIFIED).expert_routing(), v1::EXPERT_ROUTING_IDENTICAL_PROMPTS);
  EXPECT_EQ(workload(v1::EXPERT_ROUTING_INDEPENDENT).expert_routing(), v1::EXPERT_ROUTING_INDEPENDENT);
}

// The benchmarks of llama.cpp draw each token of each sequence at random.
TEST(CandidateOfTest, SequencesOfLlamaCppChooseTheirOwnExperts) {
  Measurement row = Row("a", 1);
  row.sample.set_batching_policy(v1::BATCHING_POLICY_STATIC);
  const auto routing = [&](const char* engine, v1::ExpertRouting asked) {
    row.sample.mutable_deployment()->set_engine(engine);
    return CandidateOf(row, {.method = v1::METHOD_UNSPECIFIED, .routing = asked}).workload().expert_routing();
  };
  EXPECT_EQ(routing("llama.cpp", v1::EXPERT_ROUTING_UNSPECIFIED), v1::EXPERT_ROUTING_UNSPECIFIED);
  EXPECT_EQ(routing("llama.cpp@b6918", v1::EXPERT_ROUTING_UNSPECIFIED), v1::EXPERT_ROUTING_UNSPECIFIED);
  EXPECT_EQ(routing("llama.cpp", v1::EXPERT_ROUTING_IDENTICAL_PROMPTS), v1::EXPERT_ROUTING_IDENTICAL_PROMPTS);
  EXPECT_EQ(routing("llama.cpp-fork", v1::EXPERT_ROUTING_UNSPECIFIED), v1::EXPERT_ROUTING_IDENTICAL_PROMPTS);
}

TEST(PredictionCellsTest, EmptyWhereUnknown) {
  EXPECT_EQ(PredictionColumns().size(), PredictionCells(Predicted(1)).size());
  EXPECT_THAT(PredictionCells(Predicted(0.25)),
              testing::ElementsAre("0.25", "", "", "", "", "", "", "", "", "DATASHEET", "OK"));
  EXPECT_EQ(PredictionCells({absl::NotFoundError("no such model"), {}}).back(), "no such model (NOT_FOUND)");
}

TEST(CandidateOfTest, StaticRowsMayRunInWaves) {
  Measurement row = Row("a", 1);
  row.sample.set_batching_policy(v1::BATCHING_POLICY_STATIC);
  EXPECT_EQ(CandidateOf(row, {}).workload().capacity_policy(), v1::CAPACITY_POLICY_WAVES);
  row.sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  EXPECT_EQ(CandidateOf(row, {}).workload().capacity_policy(), v1::CAPACITY_POLICY_UNSPECIFIED);
}

}  // namespace
}  // namespace foretoken::cli

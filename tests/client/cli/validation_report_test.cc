#include "client/cli/validation/validation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

#include "tests/validation/reliability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::validation {
namespace {

// Rows of two devices whose measured times are 1/2 to 2 times the predicted, evenly in log.
class ReliabilityTest : public testing::Test {
 protected:
  ReliabilityTest() {
    for (int i = 0; i < 200; ++i) {
      Row& row = rows_.emplace_back();
      row.file = i % 2 == 0 ? "a.csv" : "b.csv";
      row.hardware = row.file;
      row.sample.measured[kTtft] = std::exp2(2 * (i / 2 + 0.5) / 100 - 1);
    }
    for (const Row& row : rows_) {
      Prediction& prediction = predictions_.emplace_back();
      prediction.row = &row;
      prediction.times[kTtft] = 1;
      prediction.left_out = row.hardware;
    }
  }
  std::vector<Row> rows_;
  Predictions predictions_;
};

TEST_F(ReliabilityTest, CountsWhatWasWithinTheBound) {
  const std::vector<ReliabilityBin> bins = ReliabilityOf(predictions_, kTtft, BandRule{});
  ASSERT_EQ(bins.size(), 5u);
  // Bounds of 0.25, 0.35, 0.5 and 0.7: none, none, none and (ln 0.7 + ln 2)/(2 ln 2) = 24% of the rows are below.
  EXPECT_NEAR(bins[0].met, 0.24 / 4, 1e-9);
  // Bounds of 1.4, 2, 2.8 and 4: 74% and thrice all.
  EXPECT_NEAR(bins[4].met, 3.74 / 4, 1e-9);
  EXPECT_NEAR(bins[2].probability, 0.5, 0.05);
  EXPECT_NEAR(bins[2].met, 0.5, 0.05);
  int questions = 0;
  for (const ReliabilityBin& bin : bins) questions += bin.questions;
  EXPECT_EQ(questions, 200 * 11);
}

// Of a row that is far off, no band that was made of the others knows.
TEST_F(ReliabilityTest, TheBandIsOfTheOthers) {
  for (Row& row : rows_) {
    if (row.hardware == "a.csv") row.sample.measured[kTtft] = 100;
  }
  const std::vector<ReliabilityBin> bins = ReliabilityOf(predictions_, kTtft, BandRule{});
  EXPECT_LT(bins.back().met, 0.75);
}

}  // namespace
}  // namespace foretoken::validation

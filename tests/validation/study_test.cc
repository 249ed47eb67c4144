#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/validation/errors.h"
#include "tests/validation/plot.h"

namespace foretoken::validation {
namespace {

using ::testing::HasSubstr;

Row RowOf(const std::string& model, double e2e) {
  return {.file = "file",
          .hardware = "device",
          .engine = "engine",
          .model = model,
          .sample = {.measured = {NAN, NAN, e2e}}};
}

Prediction Of(const Row& row, double predicted) {
  return {.row = &row, .times = {NAN, NAN, predicted}, .left_out = row.model};
}

// Two curves: errors of 10%, 20% and 60% have the median 20%, one of 50% stands alone; the mean is 35%.
TEST(ErrorsTest, MedianWithinACurveMeanAcross) {
  const Row a = RowOf("a", 1), b = RowOf("b", 2);
  const Predictions predictions = {Of(a, 1.1), Of(a, 0.8), Of(a, 1.6), Of(b, 3)};
  const Errors errors(predictions, kE2e);
  EXPECT_EQ(errors.num_groups(), 2u);
  EXPECT_NEAR(errors.MacroMedian(), 0.35, 1e-12);
  EXPECT_TRUE(Errors(predictions, kTtft).empty());
}

// Curves a and b were both 1.2 times slower than predicted, c twice as fast: the band of the others holds a and b, not
// c.
TEST(ErrorsTest, CoverageDoesNotSeeWhatItTests) {
  const Row a = RowOf("a", 1.2), b = RowOf("b", 1.2), c = RowOf("c", 0.5);
  const Predictions predictions = {Of(a, 1), Of(b, 1), Of(c, 1)};
  EXPECT_NEAR(NestedCoverage(predictions, kE2e, {}), 2.0 / 3, 1e-12);
  const auto band = BandOf(predictions, kE2e, {.widening = 2});
  EXPECT_NEAR(band->high, 1.44, 1e-12);
  EXPECT_NEAR(band->low, 0.25, 1e-12);
  const auto of_a = BandOf(predictions, kE2e, {.tells = [](const Row& row) { return row.model == "a"; }});
  EXPECT_DOUBLE_EQ(of_a->low, 1);  // the prediction itself is always inside
}

TEST(PlotTest, PutsAPointWhereItsTimesAre) {
  const Row a = RowOf("a", 1), b = RowOf("b", 100);
  const std::string svg = Scatter("title", {Of(a, 10), Of(b, 100)}, kE2e);
  EXPECT_THAT(svg, HasSubstr("M50 224h0"));  // measured at the left edge, predicted halfway up
  EXPECT_THAT(svg, HasSubstr("M450 24h0"));
  EXPECT_EQ(Scatter("title", {Of(a, 10)}, kTtft), "");
}

}  // namespace
}  // namespace foretoken::validation

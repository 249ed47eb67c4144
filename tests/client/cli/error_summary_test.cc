#include "client/cli/validation/error_summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::cli {
namespace {

TEST(SummarizeTest, ByHand) {
  // Predicted 0.8, 1.1, 1.3 of 1: errors -0.2, +0.1, +0.3.
  // Absolute 0.2, 0.1, 0.3: median 0.2, mean 0.6 / 3 = 0.2. Bias 0.2 / 3. Two of three have a band, one holds.
  const ErrorSummary summary = Summarize({{.measured = 1, .predicted = 0.8, .in_band = true},
                                          {.measured = 1, .predicted = 1.1, .in_band = std::nullopt},
                                          {.measured = 1, .predicted = 1.3, .in_band = false}});
  EXPECT_EQ(summary.rows, 3);
  EXPECT_NEAR(summary.median_absolute, 0.2, 1e-12);
  EXPECT_NEAR(summary.mean_absolute, 0.2, 1e-12);
  EXPECT_NEAR(summary.mean_bias, 0.2 / 3, 1e-12);
  EXPECT_NEAR(summary.coverage, 0.5, 1e-12);
}

TEST(SummarizeTest, ErrorsAreRelativeToTheMeasured) {
  // 3 for 2: +50%; 3 for 4: -25%. Median of an even count: (0.25 + 0.5) / 2; bias (0.5 - 0.25) / 2.
  const ErrorSummary summary =
      Summarize({{.measured = 2, .predicted = 3, .in_band = {}}, {.measured = 4, .predicted = 3, .in_band = {}}});
  EXPECT_NEAR(summary.median_absolute, 0.375, 1e-12);
  EXPECT_NEAR(summary.mean_bias, 0.125, 1e-12);
  EXPECT_TRUE(std::isnan(summary.coverage));
}

TEST(SummarizeTest, NothingIsUnknownNotZero) {
  const ErrorSummary summary = Summarize({});
  EXPECT_EQ(summary.rows, 0);
  EXPECT_TRUE(std::isnan(summary.median_absolute));
  EXPECT_TRUE(std::isnan(summary.mean_bias));
}

TEST(MeanOverTest, EveryGroupAlikeAndEmptyOnesLeftOut) {
  const ErrorSummary one = Summarize({{.measured = 1, .predicted = 1.1, .in_band = {}}});
  const ErrorSummary other =
      Summarize({{.measured = 1, .predicted = 1.3, .in_band = {}}, {.measured = 1, .predicted = 1.3, .in_band = {}}});
  const ErrorSummary mean = MeanOver({one, other, Summarize({})});
  EXPECT_EQ(mean.rows, 3);
  EXPECT_NEAR(mean.median_absolute, 0.2, 1e-12);  // (0.1 + 0.3) / 2, not (0.1 + 0.3 + 0.3) / 3
}

}  // namespace
}  // namespace foretoken::cli

#include "estimator/simulation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "estimator/simulation/random.h"

namespace foretoken {
namespace {

TEST(StatisticsTest, QuantilesLieOnLinesBetweenValues) {
  const std::vector<double> values = {10, 20, 40, 80, 160};
  EXPECT_EQ(QuantileOf(values, 0), 10);
  EXPECT_EQ(QuantileOf(values, 0.5), 40);
  EXPECT_NEAR(QuantileOf(values, 0.9), 80 + 0.6 * 80, 1e-12);  // place 3.6
  EXPECT_EQ(QuantileOf(values, 1), 160);
  EXPECT_EQ(QuantileOf({7}, 0.99), 7);
}

TEST(StatisticsTest, NothingHasNoTimes) {
  EXPECT_FALSE(TimesOf({}).has_value());
  EXPECT_FALSE(GapCounts().Times().has_value());
}

TEST(StatisticsTest, AFewValuesHaveNoError) {
  const SimulatedTimes times = *TimesOf({1, 2, 3});
  EXPECT_EQ(times.mean, (SimulatedValue{.value = 2}));
  EXPECT_EQ(times.p50, (SimulatedValue{.value = 2}));
}

TEST(StatisticsTest, EqualValuesHaveNoSpread) {
  const SimulatedTimes times = *TimesOf(std::vector<double>(100, 0.25));
  EXPECT_EQ(times.mean, (SimulatedValue{.value = 0.25, .error = 0}));
  EXPECT_EQ(times.p99, (SimulatedValue{.value = 0.25, .error = 0}));
}

// 20 batches of 5, alternately all 1 and all 3: mean 2, each batch 1 from it: sqrt(20 / (20 * 19)).
TEST(StatisticsTest, TheErrorOfTheMeanIsThatOfItsBatches) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i / 5 % 2 == 0 ? 1 : 3);
  EXPECT_NEAR(*TimesOf(values)->mean.error, std::sqrt(1.0 / 19), 1e-12);
}

// Each stated error against the spread over 300 samples: independent draws, and draws that keep half of the one before,
// whose spread is sqrt(3) times that of independent ones.
TEST(StatisticsTest, ErrorsAreTheSpreadOfRepeatedSamples) {
  for (const double keep : {0.0, 0.5}) {
    double sum = 0, squares = 0, errors = 0, mean_errors = 0, means = 0, mean_squares = 0;
    constexpr int kSamples = 300;
    for (int sample = 0; sample < kSamples; ++sample) {
      Random random(static_cast<uint64_t>(sample), Random::Stream::kOutputs);
      std::vector<double> values;
      double x = 1;
      for (int i = 0; i < 2000; ++i) values.push_back(x = keep * x + (1 - keep) * random.Exponential());
      const SimulatedTimes times = *TimesOf(values);
      sum += times.p90.value / kSamples;
      squares += times.p90.value * times.p90.value / kSamples;
      errors += *times.p90.error / kSamples;
      means += times.mean.value / kSamples;
      mean_squares += times.mean.value * times.mean.value / kSamples;
      mean_errors += *times.mean.error / kSamples;
    }
    EXPECT_NEAR(errors / std::sqrt(squares - sum * sum), 1, 0.15) << keep;
    EXPECT_NEAR(mean_errors / std::sqrt(mean_squares - means * means), 1, 0.15) << keep;
  }
}

TEST(GapCountsTest, QuantilesAreThoseOfTheValues) {
  GapCounts counts;
  std::vector<double> values;
  Random random(9, Random::Stream::kOutputs);
  for (size_t i = 0; i < 20'000; ++i) {
    values.push_back(0.01 * random.Exponential());
    counts.Add(i / 1000, values.back(), 1);
  }
  const SimulatedTimes counted = *counts.Times();
  const SimulatedTimes exact = *TimesOf(values);
  EXPECT_NEAR(counted.mean.value / exact.mean.value, 1, 1e-9);
  EXPECT_NEAR(*counted.mean.error / *exact.mean.error, 1, 1e-6);
  EXPECT_NEAR(counted.p50.value / exact.p50.value, 1, 4e-3);
  EXPECT_NEAR(counted.p99.value / exact.p99.value, 1, 4e-3);
  EXPECT_NEAR(*counted.p90.error / *exact.p90.error, 1, 0.2);
}

// 1,000 values from 10 ms to 20 ms: the median is 15 ms.
TEST(GapCountsTest, ALineIsItsValues) {
  GapCounts counts;
  counts.AddLine(0, 0.010, 0.020, 1000);
  const SimulatedTimes times = *counts.Times();
  EXPECT_NEAR(times.mean.value, 0.015, 1e-12);
  EXPECT_NEAR(times.p50.value, 0.015, 1e-5);
  EXPECT_NEAR(times.p90.value, 0.019, 1e-5);
  EXPECT_FALSE(times.p90.error.has_value());
}

// Halving keeps what was counted, and frees half of the batches. An error of half of the batches is one of all.
TEST(GapCountsTest, HalvingKeepsTheCounts) {
  GapCounts counts;
  Random random(9, Random::Stream::kOutputs);
  for (size_t i = 0; i < 20'000; ++i) counts.Add(i / 1000, random.Exponential(), 1);
  const SimulatedTimes before = *counts.Times();
  counts.Halve();
  const SimulatedTimes after = *counts.Times();
  EXPECT_NEAR(after.mean.value, before.mean.value, 1e-12);
  EXPECT_NEAR(after.p99.value, before.p99.value, 1e-12);
  EXPECT_NEAR(*after.mean.error / *before.mean.error, 1, 0.5);
  counts.Halve();
  EXPECT_FALSE(counts.Times()->mean.error.has_value());
}

TEST(GapCountsTest, TakesTheShortestAndTheLongest) {
  GapCounts counts;
  counts.Add(0, 0, 1);
  counts.Add(0, 1e30, 1);
  EXPECT_GT(counts.Times()->p99.value, 1e8);
  EXPECT_LT(counts.Times()->p50.value, 1e-9);
}

}  // namespace
}  // namespace foretoken

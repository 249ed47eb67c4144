// Verdicts, headroom and probability by hand.
#include "estimator/methods/slo.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken {
namespace {

TimeEstimate Time(double seconds, double low, double high) {
  return {.time = Seconds(seconds), .band = Band{.low = low, .high = high, .coverage = 0.8}};
}

const TimeEstimate kUnbanded{.time = Seconds(1), .band = std::nullopt};

TEST(ProbabilityWithinTest, TheBandHasItsQuantiles) {
  const Band band{.low = 1, .high = 4, .coverage = 0.8};
  EXPECT_NEAR(ProbabilityWithin(band, Seconds(1)), 0.1, 1e-12);
  EXPECT_NEAR(ProbabilityWithin(band, Seconds(2)), 0.5, 1e-12);
  EXPECT_NEAR(ProbabilityWithin(band, Seconds(4)), 0.9, 1e-12);
  const Band half{.low = 1, .high = 4, .coverage = 0.5};
  EXPECT_NEAR(ProbabilityWithin(half, Seconds(4)), 0.75, 1e-12);
  // Twice as far from the middle in log as the end: t = 2 x 1.8856, share (1 + t / sqrt(2 + t^2)) / 2.
  EXPECT_NEAR(ProbabilityWithin(band, Seconds(8)), 0.968165, 1e-6);
  EXPECT_GT(ProbabilityWithin(band, Seconds(1e300)), 0.999);
  EXPECT_LT(ProbabilityWithin(band, Seconds(1e-300)), 0.001);
}

TEST(ProbabilityWithinTest, ABandWithoutWidthIsCertain) {
  const Band none{.low = 2, .high = 2, .coverage = 0.8};
  EXPECT_EQ(ProbabilityWithin(none, Seconds(2)), 1);
  EXPECT_EQ(ProbabilityWithin(none, Seconds(1.9)), 0);
}

TEST(ProbabilityWithinTest, MoreTimeIsNeverLessLikely) {
  const Band band{.low = 0.3, .high = 5, .coverage = 0.8};
  double before = 0;
  for (double bound = 0.001; bound < 1000; bound *= 1.1) {
    const double probability = ProbabilityWithin(band, Seconds(bound));
    EXPECT_GE(probability, before);
    EXPECT_LE(probability, 1);
    before = probability;
  }
}

TEST(JudgeSloTest, ByPointTheEstimateDecides) {
  const Slo slo{.max_ttft = Seconds(1)};
  const SloVerdict verdict = JudgeSlo(slo, Time(0.294, 0.12, 3.45), kUnbanded, kUnbanded);
  EXPECT_EQ(verdict.verdict, Verdict::kFeasible);
  EXPECT_NEAR(*verdict.headroom, 0.706, 1e-12);
  EXPECT_GT(*verdict.probability, 0.5);
  EXPECT_LT(*verdict.probability, 0.9);
  EXPECT_EQ(JudgeSlo(slo, Time(1.01, 0.5, 2), kUnbanded, kUnbanded).verdict, Verdict::kInfeasible);
}

TEST(JudgeSloTest, ByBandItsEndsDecide) {
  const Slo slo{.max_ttft = Seconds(1), .decide_by = DecideBy::kBand};
  const auto verdict = [&slo](const TimeEstimate& ttft) { return JudgeSlo(slo, ttft, kUnbanded, kUnbanded).verdict; };
  EXPECT_EQ(verdict(Time(0.3, 0.2, 1)), Verdict::kFeasible);
  EXPECT_EQ(verdict(Time(0.3, 0.2, 1.1)), Verdict::kMarginal);
  EXPECT_EQ(verdict(Time(1.2, 1, 2)), Verdict::kMarginal);
  EXPECT_EQ(verdict(Time(1.2, 1.01, 2)), Verdict::kInfeasible);
  EXPECT_EQ(verdict(kUnbanded), Verdict::kUnknown);
}

TEST(JudgeSloTest, OfSeveralBoundsTheWorstCounts) {
  const Slo slo{.max_ttft = Seconds(1), .max_tpot = Seconds(1), .max_e2e = Seconds(1), .decide_by = DecideBy::kBand};
  const TimeEstimate met = Time(0.3, 0.2, 0.4), marginal = Time(0.9, 0.5, 2), missed = Time(3, 2, 4);
  EXPECT_EQ(JudgeSlo(slo, met, met, met).verdict, Verdict::kFeasible);
  EXPECT_EQ(JudgeSlo(slo, met, marginal, met).verdict, Verdict::kMarginal);
  EXPECT_EQ(JudgeSlo(slo, marginal, kUnbanded, met).verdict, Verdict::kUnknown);
  EXPECT_EQ(JudgeSlo(slo, marginal, kUnbanded, missed).verdict, Verdict::kInfeasible);
  EXPECT_EQ(JudgeSlo(slo, met, marginal, missed).probability, ProbabilityWithin(*missed.band, Seconds(1)));
  // A metric without a band: the probability is not known, whatever comes after it.
  EXPECT_FALSE(JudgeSlo(slo, met, kUnbanded, met).probability.has_value());
  EXPECT_FALSE(JudgeSlo(slo, kUnbanded, met, met).probability.has_value());
}

TEST(JudgeSloTest, WithoutABoundNothingIsSaid) {
  const SloVerdict verdict = JudgeSlo({}, Time(1, 1, 1), kUnbanded, kUnbanded);
  EXPECT_EQ(verdict, SloVerdict());
}

}  // namespace
}  // namespace foretoken

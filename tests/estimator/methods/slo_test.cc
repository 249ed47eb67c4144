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

Estimate Of(const TimeEstimate& ttft, const TimeEstimate& tpot, const TimeEstimate& e2e) {
  return {.ttft = ttft, .tpot = tpot, .e2e = e2e};
}

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
  const SloVerdict verdict = JudgeSlo(slo, Of(Time(0.294, 0.12, 3.45), kUnbanded, kUnbanded));
  EXPECT_EQ(verdict.verdict, Verdict::kFeasible);
  EXPECT_NEAR(*verdict.headroom, 0.706, 1e-12);
  EXPECT_GT(*verdict.probability, 0.5);
  EXPECT_LT(*verdict.probability, 0.9);
  EXPECT_EQ(JudgeSlo(slo, Of(Time(1.01, 0.5, 2), kUnbanded, kUnbanded)).verdict, Verdict::kInfeasible);
}

TEST(JudgeSloTest, ByBandItsEndsDecide) {
  const Slo slo{.max_ttft = Seconds(1), .decide_by = DecideBy::kBand};
  const auto verdict = [&slo](const TimeEstimate& ttft) {
    return JudgeSlo(slo, Of(ttft, kUnbanded, kUnbanded)).verdict;
  };
  EXPECT_EQ(verdict(Time(0.3, 0.2, 1)), Verdict::kFeasible);
  EXPECT_EQ(verdict(Time(0.3, 0.2, 1.1)), Verdict::kMarginal);
  EXPECT_EQ(verdict(Time(1.2, 1, 2)), Verdict::kMarginal);
  EXPECT_EQ(verdict(Time(1.2, 1.01, 2)), Verdict::kInfeasible);
  EXPECT_EQ(verdict(kUnbanded), Verdict::kUnknown);
}

TEST(JudgeSloTest, OfSeveralBoundsTheWorstCounts) {
  const Slo slo{.max_ttft = Seconds(1), .max_tpot = Seconds(1), .max_e2e = Seconds(1), .decide_by = DecideBy::kBand};
  const TimeEstimate met = Time(0.3, 0.2, 0.4), marginal = Time(0.9, 0.5, 2), missed = Time(3, 2, 4);
  EXPECT_EQ(JudgeSlo(slo, Of(met, met, met)).verdict, Verdict::kFeasible);
  EXPECT_EQ(JudgeSlo(slo, Of(met, marginal, met)).verdict, Verdict::kMarginal);
  EXPECT_EQ(JudgeSlo(slo, Of(marginal, kUnbanded, met)).verdict, Verdict::kUnknown);
  EXPECT_EQ(JudgeSlo(slo, Of(marginal, kUnbanded, missed)).verdict, Verdict::kInfeasible);
  EXPECT_EQ(JudgeSlo(slo, Of(met, marginal, missed)).probability, ProbabilityWithin(*missed.band, Seconds(1)));
  // A metric without a band: the probability is not known, whatever comes after it.
  EXPECT_FALSE(JudgeSlo(slo, Of(met, kUnbanded, met)).probability.has_value());
  EXPECT_FALSE(JudgeSlo(slo, Of(kUnbanded, met, met)).probability.has_value());
}

// A percentile is bounded beside means. Its band is that of its mean, 0.5 to 2 times it.
TEST(JudgeSloTest, PercentilesAreJudgedByTheirOwnTimes) {
  Estimate estimate = Of(Time(1, 0.5, 2), Time(0.02, 0.01, 0.04), Time(5, 2.5, 10));
  estimate.percentiles = Percentiles{.ttft = SimulatedTimes{.p50 = {0.9}, .p90 = {2}, .p95 = {3}, .p99 = {4}},
                                     .itl = SimulatedTimes{.p99 = {0.2}}};
  const auto judge = [&](ServedTime time, Percentile percentile, double allowed, DecideBy by = DecideBy::kPoint) {
    return JudgeSlo({.decide_by = by, .percentiles = {{time, percentile, Seconds(allowed)}}}, estimate);
  };
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP50, 1).verdict, Verdict::kFeasible);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP90, 1).verdict, Verdict::kInfeasible);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP90, 1).headroom, -1);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP95, 3).headroom, 0);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP99, 8, DecideBy::kBand).verdict, Verdict::kFeasible);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP99, 7.9, DecideBy::kBand).verdict, Verdict::kMarginal);
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP99, 1.9, DecideBy::kBand).verdict, Verdict::kInfeasible);
  EXPECT_NEAR(*judge(ServedTime::kItl, Percentile::kP99, 0.4).probability, 0.9, 1e-12);  // TPOT's band, ten times
  EXPECT_EQ(judge(ServedTime::kE2e, Percentile::kP50, 1).verdict, Verdict::kUnknown);    // none is found
  EXPECT_FALSE(judge(ServedTime::kE2e, Percentile::kP50, 1).headroom.has_value());
  estimate.percentiles.reset();
  EXPECT_EQ(judge(ServedTime::kTtft, Percentile::kP50, 1).verdict, Verdict::kUnknown);
}

TEST(JudgeSloTest, ABoundNamesItsField) {
  EXPECT_EQ((SloBound{.time = ServedTime::kTpot}).Name(), "max_tpot_seconds");
  EXPECT_EQ((SloBound{.time = ServedTime::kItl, .percentile = Percentile::kP95}).Name(), "max_itl_p95_seconds");
}

TEST(JudgeSloTest, WithoutABoundNothingIsSaid) {
  const SloVerdict verdict = JudgeSlo({}, Of(Time(1, 1, 1), kUnbanded, kUnbanded));
  EXPECT_EQ(verdict, SloVerdict());
}

}  // namespace
}  // namespace foretoken

// By hand, and against slots that are counted one by one.
#include "estimator/serving/completions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace foretoken {
namespace {

// Four with 20 tokens left on average: gaps of 2 x 20 / 5 steps.
TEST(CompletionsTest, ByHand) {
  const Completions completions(4, 20);
  EXPECT_DOUBLE_EQ(completions.gap(), 8);
  EXPECT_DOUBLE_EQ(completions.Last(), 32);
  EXPECT_EQ(completions.Left(0), 4);
  EXPECT_EQ(completions.Left(7.9), 4);
  EXPECT_EQ(completions.Left(8), 3);
  EXPECT_EQ(completions.Left(40), 0);
  EXPECT_DOUBLE_EQ(completions.MeanLeft(0, 32), 20 * 4 / 32.0);
  EXPECT_DOUBLE_EQ(completions.MeanLeft(9, 19), (7 * 3 + 3 * 2) / 10.0);
  EXPECT_EQ(completions.MeanLeft(12, 12), 3);
  EXPECT_EQ(Completions(1, 20).Last(), 20);  // one alone
}

// Four with 20 left on average and 10 at least: gaps of 2 x 10 / 5 steps after the first 10.
TEST(CompletionsTest, FromTheFewest) {
  const Completions completions(4, 20, 10);
  EXPECT_DOUBLE_EQ(completions.gap(), 4);
  EXPECT_DOUBLE_EQ(completions.Last(), 26);
  EXPECT_EQ(completions.Left(13.9), 4);
  EXPECT_EQ(completions.Left(14), 3);
  EXPECT_EQ(completions.Left(26), 0);
  EXPECT_DOUBLE_EQ(completions.MeanLeft(0, 26), 20 * 4 / 26.0);
  const Completions together(4, 20, 20);
  EXPECT_EQ(together.Left(19.9), 4);
  EXPECT_EQ(together.Left(20), 0);
  EXPECT_DOUBLE_EQ(together.MeanLeft(0, 40), 2);
}

TEST(CompletionsTest, OneByOne) {
  const std::vector<double> each = {2, 5, 5, 30};
  const Completions completions(4, 10.5, 2, &each);
  EXPECT_EQ(completions.Last(), 30);
  EXPECT_EQ(completions.Left(1), 4);
  EXPECT_EQ(completions.Left(2), 3);
  EXPECT_EQ(completions.Left(5), 1);
  EXPECT_EQ(completions.Left(30), 0);
  EXPECT_DOUBLE_EQ(completions.MeanLeft(0, 30), 42 / 30.0);
  EXPECT_DOUBLE_EQ(completions.MeanLeft(2, 5), 3);
}

// Sequences that are known one by one and end as those of a mean do give the same.
TEST(CompletionsTest, OneByOneAndMeanAgree) {
  const std::vector<double> each = {14, 18, 22, 26};
  const Completions one_by_one(4, 20, 14, &each);
  const Completions mean(4, 20, 10);
  for (double steps = 0; steps < 40; steps += 0.5) {
    EXPECT_EQ(one_by_one.Left(steps), mean.Left(steps)) << steps;
    EXPECT_DOUBLE_EQ(one_by_one.MeanLeft(0, steps), mean.MeanLeft(0, steps)) << steps;
  }
}

TEST(CompletionsTest, NoneOrNever) {
  EXPECT_EQ(Completions(0, 20).Last(), 0);
  EXPECT_EQ(Completions(0, {}).Last(), 0);
  EXPECT_EQ(Completions(3, {}).Last(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Completions(3, {}).MeanLeft(5, 1e9), 3);
  EXPECT_EQ(Completions(3, 0).Left(0), 0);
  EXPECT_EQ(Completions(3, 0).MeanLeft(0, 7), 0);
}

TEST(CompletionsTest, MoreSequencesOrTokensLastLonger) {
  for (const double steps : {0.0, 3.0, 20.0, 55.0, 400.0}) {
    for (int running = 0; running < 40; ++running) {
      EXPECT_LE(Completions(running, 30).MeanLeft(0, steps), Completions(running + 1, 30).MeanLeft(0, steps) + 1e-12);
      EXPECT_LE(Completions(running, running).Left(steps), Completions(running, running + 1).Left(steps));
    }
  }
}

// The slow count: a slot is free when its sequence has ended and then every `hold` steps.
double CountFreed(const SlotRelease& release, double steps) {
  double freed = release.joined * std::floor(steps / release.hold);
  for (int i = 1; i <= release.completions.running(); ++i) {
    const double since = steps - release.completions.first() - i * release.completions.gap();
    if (since >= -1e-9) freed += std::floor(since / release.hold + 1e-9) + 1;
  }
  return freed;
}

// Two running slots, free after 4 and 8 steps and every 10 after, one free now: at 4, 8, 10, 14, 18, 20.
TEST(SlotReleaseTest, ByHand) {
  const SlotRelease release{.completions = Completions(2, 6), .joined = 1, .hold = 10};
  const double at[] = {4, 8, 10, 14, 18, 20};
  EXPECT_EQ(release.StepsUntil(0), 0);
  for (int needed : {1, 2, 3, 6}) EXPECT_NEAR(release.StepsUntil(needed), at[needed - 1], 1e-6) << needed;
  // While only some of a generation have ended, they count as half a slot less: the fourth at 4 x 1.5 after 10.
  EXPECT_NEAR(release.StepsUntil(4), 16, 1e-6);
}

TEST(SlotReleaseTest, NearTheSlowCount) {
  std::mt19937 random(7);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    const int running = pick(100);
    const SlotRelease release{.completions = Completions(running, 1 + pick(500)),
                              .joined = pick(50) + (running == 0 ? 1.0 : 0.0),
                              .hold = 1.0 + pick(300)};
    const double steps = pick(3000);
    const double slow = CountFreed(release, steps);
    const double generations = steps / release.hold + 1;
    EXPECT_NEAR(release.Freed(steps), slow, 0.03 * slow + 0.6 * std::min<double>(generations, running) + 1e-9) << i;
    const double needed = 1 + pick(1000);
    const double until = release.StepsUntil(needed);
    EXPECT_GE(release.Freed(until), needed * (1 - 1e-8)) << i;
    EXPECT_LT(release.Freed(until * (1 - 1e-7) - 1e-7), needed) << i;
  }
}

}  // namespace
}  // namespace foretoken

// By hand, and against seats that are counted one by one.
#include "estimator/endings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace foretoken {
namespace {

// Four with 20 tokens left on average: gaps of 2 x 20 / 5 steps.
TEST(EndingsTest, ByHand) {
  const Endings endings(4, 20);
  EXPECT_DOUBLE_EQ(endings.gap(), 8);
  EXPECT_DOUBLE_EQ(endings.Last(), 32);
  EXPECT_EQ(endings.Left(0), 4);
  EXPECT_EQ(endings.Left(7.9), 4);
  EXPECT_EQ(endings.Left(8), 3);
  EXPECT_EQ(endings.Left(40), 0);
  EXPECT_DOUBLE_EQ(endings.MeanLeft(0, 32), 20 * 4 / 32.0);
  EXPECT_DOUBLE_EQ(endings.MeanLeft(9, 19), (7 * 3 + 3 * 2) / 10.0);
  EXPECT_EQ(endings.MeanLeft(12, 12), 3);
  EXPECT_EQ(Endings(1, 20).Last(), 20);  // one alone
}

TEST(EndingsTest, NoneOrNever) {
  EXPECT_EQ(Endings(0, 20).Last(), 0);
  EXPECT_EQ(Endings(0, {}).Last(), 0);
  EXPECT_EQ(Endings(3, {}).Last(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Endings(3, {}).MeanLeft(5, 1e9), 3);
  EXPECT_EQ(Endings(3, 0).Left(0), 0);
  EXPECT_EQ(Endings(3, 0).MeanLeft(0, 7), 0);
}

TEST(EndingsTest, MoreSequencesOrTokensLastLonger) {
  for (const double steps : {0.0, 3.0, 20.0, 55.0, 400.0}) {
    for (int running = 0; running < 40; ++running) {
      EXPECT_LE(Endings(running, 30).MeanLeft(0, steps), Endings(running + 1, 30).MeanLeft(0, steps) + 1e-12);
      EXPECT_LE(Endings(running, running).Left(steps), Endings(running, running + 1).Left(steps));
    }
  }
}

// The slow count: a seat is free when its sequence has ended and then every `hold` steps.
double CountFreed(const Turnover& turnover, double steps) {
  double freed = turnover.joined * std::floor(steps / turnover.hold);
  for (int i = 1; i <= turnover.endings.running(); ++i) {
    const double since = steps - i * turnover.endings.gap();
    if (since >= -1e-9) freed += std::floor(since / turnover.hold + 1e-9) + 1;
  }
  return freed;
}

// Two running seats, free after 4 and 8 steps and every 10 after, one free now: at 4, 8, 10, 14, 18, 20.
TEST(TurnoverTest, ByHand) {
  const Turnover turnover{.endings = Endings(2, 6), .joined = 1, .hold = 10};
  const double at[] = {4, 8, 10, 14, 18, 20};
  EXPECT_EQ(turnover.StepsUntil(0), 0);
  for (int needed : {1, 2, 3, 6}) EXPECT_NEAR(turnover.StepsUntil(needed), at[needed - 1], 1e-6) << needed;
  // While only some of a generation have ended, they count as half a seat less: the fourth at 4 x 1.5 after 10.
  EXPECT_NEAR(turnover.StepsUntil(4), 16, 1e-6);
}

TEST(TurnoverTest, NearTheSlowCount) {
  std::mt19937 random(7);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    const int running = pick(100);
    const Turnover turnover{.endings = Endings(running, 1 + pick(500)),
                            .joined = pick(50) + (running == 0 ? 1.0 : 0.0),
                            .hold = 1.0 + pick(300)};
    const double steps = pick(3000);
    const double slow = CountFreed(turnover, steps);
    const double generations = steps / turnover.hold + 1;
    EXPECT_NEAR(turnover.Freed(steps), slow, 0.03 * slow + 0.6 * std::min<double>(generations, running) + 1e-9) << i;
    const double needed = 1 + pick(1000);
    const double until = turnover.StepsUntil(needed);
    EXPECT_GE(turnover.Freed(until), needed * (1 - 1e-8)) << i;
    EXPECT_LT(turnover.Freed(until * (1 - 1e-7) - 1e-7), needed) << i;
  }
}

}  // namespace
}  // namespace foretoken

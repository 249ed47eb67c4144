#include "server/guard/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken::guard {
namespace {

using testing::ElementsAre;

TEST(MemoryWatchTest, RefusesAboveAShareAndUntilBelowALesserOne) {
  HeldBytes held(1 << 20);
  std::vector<std::string> told;
  MemoryWatch watch({.limit_bytes = 1000, .held = &held, .tell = [&](std::string_view event, const std::string&) {
                       told.emplace_back(event);
                     }});
  struct Case {
    int64_t resident;
    bool want;
  };
  const Case cases[] = {{100, false}, {649, false}, {650, true}, {999, true}, {560, true}, {549, false}, {600, false}};
  absl::Time now = absl::FromUnixSeconds(1000);
  for (const Case& c : cases) {
    watch.Look(c.resident, now += absl::Milliseconds(20));
    EXPECT_EQ(watch.is_short(), c.want) << c.resident;
    EXPECT_EQ(!held.Check("caller", now).ok(), c.want) << c.resident;
  }
  EXPECT_THAT(told, ElementsAre("memory_short", "memory_relieved"));
}

// What stays without a cause shuts callers out for five seconds, and again when it rises further.
TEST(MemoryWatchTest, MemoryThatStaysIsNoReasonToRefuse) {
  HeldBytes held(1 << 20);
  MemoryWatch watch({.limit_bytes = 1000, .held = &held});
  const absl::Time begin = absl::FromUnixSeconds(1000);
  struct Case {
    double seconds;
    int64_t resident;
    bool want;
  };
  const Case cases[] = {{0, 700, true}, {4.9, 705, true}, {5, 705, false}, {6, 711, true}, {12, 711, false}};
  for (const Case& c : cases) {
    watch.Look(c.resident, begin + absl::Seconds(c.seconds));
    EXPECT_EQ(watch.is_short(), c.want) << c.seconds;
  }
}

TEST(MemoryWatchTest, GivesUpAfterASecondAtTheLimit) {
  HeldBytes held(1 << 20);
  int gave_up = 0;
  MemoryWatch watch({.limit_bytes = 1000, .held = &held, .give_up = [&] { ++gave_up; }});
  const absl::Time begin = absl::FromUnixSeconds(1000);
  struct Case {
    double seconds;
    int64_t resident;
    int want;
  };
  const Case cases[] = {{0, 100, 0},    {0.1, 1000, 0}, {0.9, 999, 0}, {1.0, 1200, 0},
                        {1.8, 1200, 0}, {1.9, 1200, 1}, {9, 1200, 1}};
  for (const Case& c : cases) {
    watch.Look(c.resident, begin + absl::Seconds(c.seconds));
    EXPECT_EQ(gave_up, c.want) << c.seconds;
  }
}

TEST(MemoryWatchTest, EndsCallsThatNobodyReads) {
  HeldBytes held(1 << 20);
  MemoryWatch watch({.limit_bytes = 1000, .held = &held});
  int cancelled = 0;
  const absl::Time begin = absl::FromUnixSeconds(1000);
  const HeldBytes::Item item = {
      .call = &held, .caller = "a", .bytes = 1, .patience = absl::Seconds(10), .cancel = [&] { ++cancelled; }};
  ASSERT_TRUE(held.Hold(item, begin).ok());
  watch.Look(400, begin + absl::Seconds(11));
  EXPECT_EQ(cancelled, 0);
  watch.Look(700, begin + absl::Seconds(11));
  watch.Look(700, begin + absl::Seconds(12));
  EXPECT_EQ(cancelled, 1);
}

TEST(MemoryWatchTest, KnowsItsOwnMemory) {
  EXPECT_GT(ResidentBytes(), 1 << 20);
  EXPECT_LT(ResidentBytes(), int64_t{1} << 40);
}

}  // namespace
}  // namespace foretoken::guard

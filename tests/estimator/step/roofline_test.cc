#include "estimator/step/roofline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace foretoken {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(SmoothMaxTest, WorkedNumbers) {
  struct Case {
    const char* name;
    double a, b, s, want, share;
  };
  const Case cases[] = {
      {"sum at s = 1", 3, 4, 1, 7, 3.0 / 7},
      {"root of squares at s = 2", 3, 4, 2, 5, 9.0 / 25},
      {"the larger at infinity", 3, 4, kInf, 4, 0},
      {"a tie goes to the first", 4, 4, kInf, 4, 1},
      {"fourth power", 1, 1, 4, std::pow(2.0, 0.25), 0.5},
      {"nothing", 0, 0, 2, 0, 1},
      {"nothing at s = 3", 0, 0, 3, 0, 1},
      {"one side only", 0, 5, 3, 5, 0},
      {"no overflow at a large exponent", 1e300, 1e300, 200, 1e300 * std::pow(2.0, 1.0 / 200), 0.5},
  };
  for (const Case& c : cases) {
    const Overlap got = SmoothMax(Seconds(c.a), Seconds(c.b), c.s);
    const double first = got.first * c.a;
    EXPECT_DOUBLE_EQ(first + got.second * c.b, c.want) << c.name;
    EXPECT_NEAR(first, c.share * c.want, 1e-12 * c.want) << c.name;
  }
}

TEST(JoinHostTest, PartsSumToTheSmoothMaximum) {
  const TimeParts device{.compute = Seconds(2), .memory = Seconds(1), .communication = Seconds(1)};
  const TimeParts step = JoinHost(device, Seconds(3), 2);
  // device 4, host 3: 5 in all, 16/25 of it the device's, 9/25 the host's.
  EXPECT_DOUBLE_EQ(step.Total().value(), 5);
  EXPECT_DOUBLE_EQ(step.host.value(), 5 * 9.0 / 25);
  EXPECT_DOUBLE_EQ(step.compute.value(), 5 * 16.0 / 25 / 2);
  EXPECT_DOUBLE_EQ(step.memory.value(), step.communication.value());
}

TEST(JoinHostTest, AnIdleDeviceLeavesTheHost) { EXPECT_DOUBLE_EQ(JoinHost({}, Seconds(3), 2).host.value(), 3); }

}  // namespace
}  // namespace foretoken

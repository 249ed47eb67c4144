#include "estimator/serving/rising_zero.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken {
namespace {

struct Case {
  const char* name;
  double (*f)(double);
  double high;
};

const Case kCases[] = {
    {"a line", [](double x) { return x - 1.234567; }, 10},
    {"a bend at the zero", [](double x) { return x < 3 ? 0.1 * (x - 3) : 5 * (x - 3); }, 1e4},
    {"flat, then steep", [](double x) { return std::expm1(x) - 1e6; }, 1e3},
    {"steep, then flat", [](double x) { return std::log(x + 1e-9); }, 1e6},
    {"a jump", [](double x) { return x < 77 ? -1.0 : 1.0; }, 1e5},
    {"near the low end", [](double x) { return x - 1e-7; }, 1e6},
};

// The halvings end where they end with the function itself, after a fraction of its evaluations where it is smooth.
TEST(RisingZeroTest, ABisectionEndsWhereItWould) {
  constexpr int kHalvings = 40;
  for (const Case& c : kCases) {
    int evaluations = 0;
    const auto f = [&](double x) {
      ++evaluations;
      return c.f(x);
    };
    RisingZero zero(f, 0, c.high);
    zero.Narrow(c.high / 3, f(c.high), 1e-13 * c.high);
    double low = 0, high = c.high, plain_low = 0, plain_high = c.high;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      (zero.IsBelow(middle) ? low : high) = middle;
      const double plain = (plain_low + plain_high) / 2;
      (c.f(plain) < 0 ? plain_low : plain_high) = plain;
    }
    EXPECT_EQ(low, plain_low) << c.name;
    EXPECT_EQ(high, plain_high) << c.name;
    EXPECT_LE(evaluations, c.f == kCases[0].f ? 8 : 70) << c.name;
  }
}

}  // namespace
}  // namespace foretoken

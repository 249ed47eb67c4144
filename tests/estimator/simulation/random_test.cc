#include "estimator/simulation/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace foretoken {
namespace {

// By hand from 1, 2, 3, 4: rotl(1 + 4, 23) + 1 = 5 * 2^23 + 1 = 41943041. The state is then 7, 0, 2^18 + 2, 6 * 2^45:
// c = 3 ^ 1 = 2, d = 4 ^ 2 = 6, b = 2 ^ 2 = 0, a = 1 ^ 6 = 7, c ^= 2 * 2^17, d = rotl(6, 45). The next number is
// rotl(7 + 6 * 2^45, 23) + 7 = 7 * 2^23 + 6 * 2^4 + 7 = 58720359, as 45 + 23 = 64 + 4.
TEST(RandomTest, TheGeneratorIsXoshiro256PlusPlus) {
  Xoshiro256 generator({1, 2, 3, 4});
  EXPECT_EQ(generator.Next(), 41943041u);
  EXPECT_EQ(generator.Next(), 58720359u);
}

TEST(RandomTest, ASeedGivesItsNumbersAndAnotherSeedOrStreamOthers) {
  Random a(1, Random::Stream::kOutputs);
  Random same(1, Random::Stream::kOutputs);
  Random seed(2, Random::Stream::kOutputs);
  Random stream(1, Random::Stream::kPrompts);
  const double first = a.Uniform();
  EXPECT_EQ(first, same.Uniform());
  EXPECT_NE(first, seed.Uniform());
  EXPECT_NE(first, stream.Uniform());
}

struct Moments {
  double mean = 0, variance = 0;
};

Moments Of(const std::function<double(Random&)>& draw) {
  constexpr int kDraws = 200'000;
  Random random(3, Random::Stream::kArrivals);
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw(random);
    sum += x;
    squares += x * x;
  }
  return {sum / kDraws, squares / kDraws - sum / kDraws * sum / kDraws};
}

// Of 200,000 draws the mean is within 5 standard errors, 5 / sqrt(200,000) = 0.011 deviations.
TEST(RandomTest, DrawsHaveTheirMeansAndVariances) {
  struct Case {
    const char* name;
    std::function<double(Random&)> draw;
    double mean, variance;
  };
  const Case cases[] = {
      {"uniform", [](Random& r) { return r.Uniform(); }, 0.5, 1.0 / 12},
      {"exponential", [](Random& r) { return r.Exponential(); }, 1, 1},
      {"normal", [](Random& r) { return r.Normal(); }, 0, 1},
      {"gamma below 1", [](Random& r) { return r.Gamma(0.25); }, 0.25, 0.25},
      {"gamma", [](Random& r) { return r.Gamma(4); }, 4, 4},
      {"gamma of a large shape", [](Random& r) { return r.Gamma(10'000); }, 10'000, 10'000},
  };
  for (const Case& c : cases) {
    const Moments moments = Of(c.draw);
    EXPECT_NEAR(moments.mean, c.mean, 0.011 * std::sqrt(c.variance)) << c.name;
    EXPECT_NEAR(moments.variance, c.variance, 0.04 * c.variance) << c.name;
  }
}

}  // namespace
}  // namespace foretoken

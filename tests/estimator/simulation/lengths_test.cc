#include "estimator/simulation/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace foretoken {
namespace {

std::vector<double> Draws(const Lengths& lengths) {
  LengthSampler sampler(lengths, 5, Random::Stream::kOutputs);
  std::vector<double> draws;
  for (int i = 0; i < 100'000; ++i) draws.push_back(sampler.Next());
  std::sort(draws.begin(), draws.end());
  return draws;
}

double MeanOf(const std::vector<double>& draws) {
  double sum = 0;
  for (const double x : draws) sum += x;
  return sum / static_cast<double>(draws.size());
}

// Means within 5 standard errors of 100,000 draws.
TEST(LengthSamplerTest, DrawsHaveTheStatedMeanAndEnds) {
  struct Case {
    const char* name;
    Lengths lengths;
    double mean, deviation, shortest, longest;
  };
  const double infinity = kMaxSimulatedTokens;
  const Case cases[] = {
      {"fixed", FixedLength{7}, 7, 0, 7, 7},
      {"uniform", UniformLengths{.low = 10, .high = 20}, 15, 3.2, 10, 20},
      {"log-normal", LogNormalLengths{.mean = 200, .cv = 0.8}, 200, 160, 1, infinity},
      {"log-normal without spread", LogNormalLengths{.mean = 200}, 200, 0, 200, 200},
      // One chance of 1/50 after each token: the deviation is sqrt(50 * 49).
      {"a mean alone", OutputLengthDistribution{.mean_tokens = 50}, 50, 49.5, 1, infinity},
      // M u^a with a = 3: the mean is M/4, the deviation M sqrt(1/7 - 1/16).
      {"mean and maximum", OutputLengthDistribution{.mean_tokens = 100, .max_tokens = 400}, 100, 114, 1, 400},
      // Lines (0, 1) - (0.5, 101) - (1, 301): means 51 and 201.
      {"quantiles",
       OutputLengthDistribution{
           .mean_tokens = 126, .max_tokens = 301, .quantiles = {{.probability = 0.5, .tokens = 101}}},
       126, 90, 1, 301},
  };
  for (const Case& c : cases) {
    const std::vector<double> draws = Draws(c.lengths);
    EXPECT_NEAR(MeanOf(draws), c.mean, 5 * c.deviation / std::sqrt(100'000.0)) << c.name;
    EXPECT_GE(draws.front(), c.shortest) << c.name;
    EXPECT_LE(draws.back(), c.longest) << c.name;
  }
}

TEST(LengthSamplerTest, ALogNormalHasItsSpreadAndItsMaximum) {
  const std::vector<double> draws = Draws(LogNormalLengths{.mean = 1000, .cv = 0.5});
  double squares = 0;
  for (const double x : draws) squares += (x - 1000) * (x - 1000) / 100'000;
  EXPECT_NEAR(std::sqrt(squares), 500, 15);
  EXPECT_EQ(Draws(LogNormalLengths{.mean = 1000, .cv = 0.5, .max_tokens = 900}).back(), 900);
}

TEST(LengthSamplerTest, QuantilesComeBack) {
  const std::vector<double> draws = Draws(OutputLengthDistribution{.mean_tokens = 200,
                                                                   .quantiles = {{.probability = 0.5, .tokens = 150},
                                                                                 {.probability = 0.9, .tokens = 400},
                                                                                 {.probability = 1, .tokens = 600}}});
  EXPECT_NEAR(draws[50'000], 150, 3);
  EXPECT_NEAR(draws[90'000], 400, 5);
  EXPECT_NEAR(draws[95'000], 500, 8);
}

}  // namespace
}  // namespace foretoken

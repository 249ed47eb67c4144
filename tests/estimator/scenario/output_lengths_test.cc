#include "estimator/scenario/output_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "estimator/methods/operator_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

TEST(OutputLengthsTest, LongestByHand) {
  const OutputLengthDistribution uniform{.mean_tokens = 100, .max_tokens = 200};
  const OutputLengthDistribution equal{.mean_tokens = 100, .max_tokens = 100};
  const OutputLengthDistribution memoryless{.mean_tokens = 100};
  // Lines from 1 to 100 to 200. Two draws: the integrals of (1 + 198 u) 2u to 1/2 = 16.75 and of (200 u) 2u from
  // there = 116.667.
  const OutputLengthDistribution lines{.mean_tokens = 75, .quantiles = {{0.5, 100}, {1, 200}}};
  const OutputLengthDistribution tail{.mean_tokens = 75, .max_tokens = 200, .quantiles = {{0.5, 100}}};
  struct Case {
    const char* name;
    const OutputLengthDistribution& lengths;
    double draws, want;
  };
  const Case cases[] = {
      {"one of a uniform", uniform, 1, 100},
      {"nine of a uniform: 200 x 9/10", uniform, 9, 180},
      {"equal lengths", equal, 50, 100},
      {"one", memoryless, 1, 100},
      {"four: 100 (1 + 1/2 + 1/3 + 1/4)", memoryless, 4, 208.333333},
      {"forty: 100 x 4.27854304", memoryless, 40, 427.854304},
      {"two by quantiles", lines, 2, 133.416667},
      {"the maximum closes the last line", tail, 2, 133.416667},
  };
  for (const Case& c : cases) EXPECT_NEAR(LongestOutput(c.lengths, c.draws), c.want, 1e-5) << c.name;
}

TEST(OutputLengthsTest, LongestIsTheMeanOfDrawnMaxima) {
  const OutputLengthDistribution lengths{.mean_tokens = 150, .max_tokens = 1000};
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const int draws : {1, 2, 8, 64}) {
    double sum = 0;
    constexpr int kTrials = 20000;
    for (int i = 0; i < kTrials; ++i) {
      double longest = 0;
      for (int j = 0; j < draws; ++j) longest = std::max(longest, 1000 * std::pow(uniform(random), 1000 / 150.0 - 1));
      sum += longest / kTrials;
    }
    EXPECT_NEAR(LongestOutput(lengths, draws) / sum, 1, 0.03) << draws;
  }
}

// Eight sequences of 100 tokens on average, uniform up to 200: the batch runs to 200 x 8/9 = 178 tokens.
TEST(OutputLengthsTest, AStaticBatchEndsWithItsLongest) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const auto by = [&](const Scenario& s) {
    return *EstimateOperatorModel(s, GenericPrior(), Provenance::kDatasheet, {});
  };
  const Estimate longest = by(MakeScenario(model, hardware, 8, 500, 178));
  Scenario scenario = MakeScenario(model, hardware, 8, 500, 999);
  scenario.workload.output_lengths = OutputLengthDistribution{.mean_tokens = 100, .max_tokens = 200};
  const Estimate estimate = by(scenario);
  EXPECT_EQ(estimate.decode_steps, 177);
  EXPECT_EQ(estimate.e2e.time, longest.e2e.time);
  EXPECT_NEAR(estimate.throughput.output_tokens_per_second, 8 * 100 / longest.e2e.time.value(), 1e-9);
  // Continuous: each ends by itself, after the mean.
  scenario.workload.batching = BatchingPolicy::kContinuous;
  EXPECT_EQ(by(scenario).decode_steps, 99);
}

}  // namespace
}  // namespace foretoken

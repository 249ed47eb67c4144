#include "estimator/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// The definition, token by token: query i (0-based, after p cached) sees the positions before it and itself.
double SlowPairs(const AttentionGroup& group, int n, int p) {
  double pairs = 0;
  for (int i = 0; i < n; ++i) {
    const double position = p + i + 1;
    pairs += VisibleContext(group, position);
  }
  return pairs;
}

TEST(CausalPairsTest, EqualsTheCountTokenByToken) {
  const AttentionGroup groups[] = {{.layers = 1},
                                   {.layers = 1, .window = 7},
                                   {.layers = 1, .window = 1},
                                   {.layers = 1, .window = 7, .chunked = true}};
  for (const AttentionGroup& group : groups) {
    for (int n = 0; n < 40; ++n) {
      for (int p = 0; p < 40; p += 3) {
        EXPECT_DOUBLE_EQ(CausalPairs(group, n, p), SlowPairs(group, n, p))
            << "window " << group.window << " n " << n << " p " << p;
      }
    }
  }
}

TEST(CausalPairsTest, SplitsIntoChunksWithoutLoss) {
  const AttentionGroup group{.layers = 1, .window = 100};
  double pairs = 0;
  for (int j = 0; j < 10; ++j) pairs += CausalPairs(group, 64, 64 * j);
  EXPECT_DOUBLE_EQ(pairs, CausalPairs(group, 640, 0));
}

TEST(VisibleContextTest, ByHand) {
  struct Case {
    const char* name;
    AttentionGroup group;
    double context, want;
  };
  const AttentionGroup sliding{.layers = 1, .window = 8};
  const AttentionGroup chunked{.layers = 1, .window = 8, .chunked = true};
  const Case cases[] = {
      {"all", {.layers = 1}, 100, 100},
      {"none of none", {.layers = 1}, 0, 0},
      {"inside the window", sliding, 5, 5},
      {"the window", sliding, 100, 8},
      {"a chunk's first token", chunked, 17, 1},
      {"a chunk's last token", chunked, 16, 8},
      {"nothing yet", chunked, 0, 0},
  };
  for (const Case& c : cases) EXPECT_EQ(VisibleContext(c.group, c.context), c.want) << c.name;
}

TEST(DistinctExpertsTest, WorkedNumbers) {
  struct Case {
    const char* name;
    double experts, chosen, tokens, want;
  };
  const Case cases[] = {
      {"no token touches none", 64, 6, 0, 0},
      {"one token touches those it chooses", 64, 6, 1, 6},
      {"two tokens of 8 choosing 2: 8 (1 - (6/8)^2)", 8, 2, 2, 3.5},
      {"all chosen", 4, 4, 1, 4},
      {"many tokens touch all", 8, 2, 1000, 8},
  };
  for (const Case& c : cases)
    EXPECT_NEAR(DistinctExperts(c.experts, LogMissed(c.experts, c.chosen), c.tokens), c.want, 1e-9) << c.name;
}

TEST(DistinctExpertsTest, KeepsPrecisionForManyExperts) {
  // (1 - 1e-9)^1 would lose nine digits without log1p.
  EXPECT_NEAR(DistinctExperts(1e9, LogMissed(1e9, 1), 1), 1, 1e-12);
}

}  // namespace
}  // namespace foretoken

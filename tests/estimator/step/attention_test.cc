#include "estimator/step/attention.h"

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

}  // namespace
}  // namespace foretoken

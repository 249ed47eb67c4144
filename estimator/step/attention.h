// How many positions the tokens of a layer attend to, and how many keys and values they read.
#ifndef FORETOKEN_ESTIMATOR_STEP_ATTENTION_H_
#define FORETOKEN_ESTIMATOR_STEP_ATTENTION_H_

#include <algorithm>
#include <cmath>

#include "estimator/step/shard.h"

namespace foretoken {

namespace attention_internal {

inline double FullPairs(double n, double p) { return n * p + n * (n + 1) / 2; }

// Queries 1..m still see everything before them; the rest see W positions each.
inline double WindowPairs(double n, double p, double w) {
  const double m = std::clamp(w - p, 0.0, n);
  return m * p + m * (m + 1) / 2 + (n - m) * w;
}

// Pairs of the first c tokens of a stream cut in chunks of w.
inline double ChunkPairsUpTo(double c, double w) {
  const double whole = std::floor(c / w);
  const double rest = c - whole * w;
  return whole * w * (w + 1) / 2 + rest * (rest + 1) / 2;
}

}  // namespace attention_internal

// Pairs (query, key) of n new causal tokens after p cached ones: np + n(n+1)/2, or with a window W of the last W
// positions, each query seeing at most W. A chunked layer sees its own chunk only. Entries of several tokens are as
// many fewer.
inline double CausalPairs(const AttentionGroup& group, double new_tokens, double prior) {
  using namespace attention_internal;
  const double w = group.window * group.compression;
  if (w <= 0) return FullPairs(new_tokens, prior) / group.compression;
  if (group.chunked) return ChunkPairsUpTo(prior + new_tokens, w) - ChunkPairsUpTo(prior, w);
  return WindowPairs(new_tokens, prior, w) / group.compression;
}

// Cached and new positions whose keys and values n new tokens after p read at least once. Tokens that choose what they
// see together read everything.
inline double PositionsRead(const AttentionGroup& group, double new_tokens, double prior) {
  if (group.window <= 0 || group.keeps_all) return (prior + new_tokens) / group.compression;
  if (group.chunked) return new_tokens + prior - std::floor(prior / group.window) * group.window;
  return new_tokens + std::min(prior, group.window);
}

// Positions that a decoding sequence at `context` sees: min(c, W), or its place in its chunk; none at context 0. Of
// entries, a fraction of one too.
inline double VisibleContext(const AttentionGroup& group, double context) {
  if (group.window <= 0) return context / group.compression;
  if (!group.chunked) return std::min(context / group.compression, group.window);
  if (context <= 0) return 0;
  return context - (std::ceil(context / group.window) - 1) * group.window;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_ATTENTION_H_

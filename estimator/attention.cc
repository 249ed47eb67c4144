#include "estimator/attention.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

double FullPairs(double n, double p) { return n * p + n * (n + 1) / 2; }

// Queries 1..m still see everything before them; the rest see W positions each.
double WindowPairs(double n, double p, double w) {
  const double m = std::clamp(w - p, 0.0, n);
  return m * p + m * (m + 1) / 2 + (n - m) * w;
}

// Pairs of the first c tokens of a stream cut in chunks of w.
double ChunkPairsUpTo(double c, double w) {
  const double whole = std::floor(c / w);
  const double rest = c - whole * w;
  return whole * w * (w + 1) / 2 + rest * (rest + 1) / 2;
}

}  // namespace

double CausalPairs(const AttentionGroup& group, double n, double p) {
  if (group.window <= 0) return FullPairs(n, p);
  if (group.chunked) return ChunkPairsUpTo(p + n, group.window) - ChunkPairsUpTo(p, group.window);
  return WindowPairs(n, p, group.window);
}

double PositionsRead(const AttentionGroup& group, double n, double p) {
  if (group.window <= 0) return p + n;
  if (group.chunked) return n + p - std::floor(p / group.window) * group.window;
  return n + std::min(p, group.window);
}

double VisibleContext(const AttentionGroup& group, double c) {
  if (group.window <= 0) return c;
  if (!group.chunked) return std::min(c, group.window);
  if (c <= 0) return 0;
  return c - (std::ceil(c / group.window) - 1) * group.window;
}

double DistinctExperts(double experts, double chosen, double tokens) {
  if (tokens <= 0) return 0;
  if (chosen >= experts) return experts;
  return -experts * std::expm1(tokens * std::log1p(-chosen / experts));
}

}  // namespace foretoken

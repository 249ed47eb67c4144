#include "estimator/simulation/lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace foretoken {
namespace {

double Draw(const std::monostate&, Random&) { return 1; }

double Draw(const FixedLength& fixed, Random&) { return fixed.tokens; }

double Draw(const UniformLengths& uniform, Random& random) {
  return uniform.low + std::floor(random.Uniform() * (static_cast<double>(uniform.high) - uniform.low + 1));
}

// With sigma^2 = ln(1 + cv^2) the mean of exp(mu + sigma z) is exp(mu + sigma^2/2).
double Draw(const LogNormalLengths& lengths, Random& random) {
  const double variance = std::log1p(lengths.cv * lengths.cv);
  const double drawn = lengths.mean * std::exp(std::sqrt(variance) * random.Normal() - variance / 2);
  return std::min(drawn, static_cast<double>(lengths.max_tokens.value_or(kMaxSimulatedTokens)));
}

// The inverse of straight lines between (0, 1 token), the quantiles and (1, maximum).
double ByQuantiles(const OutputLengthDistribution& lengths, double u) {
  OutputLengthDistribution::Quantile below{.probability = 0, .tokens = 1};
  for (const OutputLengthDistribution::Quantile& above : lengths.quantiles) {
    if (u < above.probability) {
      const double part = (u - below.probability) / (above.probability - below.probability);
      return below.tokens + part * (above.tokens - below.tokens);
    }
    below = above;
  }
  const double longest = std::max(below.tokens, lengths.max_tokens.value_or(0));
  if (below.probability >= 1) return longest;
  return below.tokens + (u - below.probability) / (1 - below.probability) * (longest - below.tokens);
}

double Draw(const OutputLengthDistribution& lengths, Random& random) {
  const double u = random.Uniform();
  if (!lengths.quantiles.empty()) return ByQuantiles(lengths, u);
  if (lengths.max_tokens) return *lengths.max_tokens * std::pow(u, *lengths.max_tokens / lengths.mean_tokens - 1);
  if (lengths.mean_tokens <= 1) return 1;
  return std::ceil(std::log1p(-u) / std::log1p(-1 / lengths.mean_tokens));  // one chance after each token
}

}  // namespace

LengthSampler::LengthSampler(Lengths lengths, uint64_t seed, Random::Stream stream)
    : lengths_(std::move(lengths)), random_(seed, stream) {}

int LengthSampler::Next() {
  const double drawn = std::visit([this](const auto& lengths) { return Draw(lengths, random_); }, lengths_);
  return static_cast<int>(std::clamp(std::round(drawn), 1.0, static_cast<double>(kMaxSimulatedTokens)));
}

}  // namespace foretoken

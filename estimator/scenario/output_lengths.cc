#include "estimator/scenario/output_lengths.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

constexpr double kEulerGamma = 0.57721566490153286;

// 1 + 1/2 + ... + 1/n; past 32 terms its expansion, to 1e-8.
double Harmonic(double n) {
  if (n > 32) return std::log(n) + kEulerGamma + 1 / (2 * n) - 1 / (12 * n * n);
  double sum = 0;
  for (double i = 1; i <= n; ++i) sum += 1 / i;
  return sum;
}

using Quantile = OutputLengthDistribution::Quantile;

// One end of a stretch, with its probability to the power of the draws.
struct End {
  Quantile at;
  double power;

  End(const Quantile& quantile, double draws) : at(quantile), power(std::pow(quantile.probability, draws)) {}
};

// The part of this stretch in the mean of the largest of n draws: the integral of the line from `a` to `b` over d(u^n).
double Stretch(const End& a, const End& b, double n) {
  const double width = b.at.probability - a.at.probability;
  if (!(width > 0)) return 0;
  const double slope = (b.at.tokens - a.at.tokens) / width;
  return b.at.tokens * b.power - a.at.tokens * a.power -
         slope * (b.at.probability * b.power - a.at.probability * a.power) / (n + 1);
}

double LongestByQuantiles(const OutputLengthDistribution& lengths, double draws) {
  End before({.probability = 0, .tokens = 1}, draws);
  double sum = 0;
  for (const Quantile& quantile : lengths.quantiles) {
    const End here(quantile, draws);
    sum += Stretch(before, here, draws);
    before = here;
  }
  const double longest = std::max(before.at.tokens, lengths.max_tokens.value_or(0));
  return sum + Stretch(before, End({.probability = 1, .tokens = longest}, draws), draws);
}

}  // namespace

double LongestOutput(const OutputLengthDistribution& lengths, double draws) {
  if (!lengths.quantiles.empty()) return LongestByQuantiles(lengths, draws);
  if (!lengths.max_tokens) return lengths.mean_tokens * Harmonic(draws);
  return *lengths.max_tokens * draws / (draws + *lengths.max_tokens / lengths.mean_tokens - 1);
}

double MeanOutput(const Workload& workload) {
  return workload.output_lengths ? workload.output_lengths->mean_tokens : workload.output_tokens;
}

int BatchLength(const Workload& workload, double sequences) {
  if (!workload.output_lengths) return workload.output_tokens;
  const bool continuous = workload.batching == BatchingPolicy::kContinuous;
  const double tokens = continuous ? MeanOutput(workload) : LongestOutput(*workload.output_lengths, sequences);
  return static_cast<int>(std::max(1.0, std::round(std::min(tokens, 1e8))));
}

Workload WithBatchLength(Workload workload, double sequences) {
  workload.output_tokens = BatchLength(workload, sequences);
  return workload;
}

}  // namespace foretoken

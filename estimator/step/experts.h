// How many of a layer's E experts a step reads, where each token chooses K of them.
#ifndef FORETOKEN_ESTIMATOR_STEP_EXPERTS_H_
#define FORETOKEN_ESTIMATOR_STEP_EXPERTS_H_

#include <algorithm>
#include <cmath>

namespace foretoken {

// Logarithm of the chance that a token does not choose a given expert, 1 - K/E; minus infinity for K = E.
inline double LogMissed(double experts, double chosen) { return std::log1p(-std::min(1.0, chosen / experts)); }

// Distinct experts that T tokens touch when each chooses K of E independently: E (1 - (1 - K/E)^T). 0 for no token,
// E for K = E. Source: expected number of occupied cells.
inline double DistinctExperts(double experts, double log_missed, double tokens) {
  return tokens > 0 ? -experts * std::expm1(tokens * log_missed) : 0;
}

// Expected largest of `count` independent standard normal deviates. Sources: Blom's plotting position, the quantile by
// Tukey's lambda distribution; within 0.03 for up to 100.
inline double LargestDeviate(double count) {
  const double p = (count - 0.375) / (count + 0.25);
  return 4.91 * (std::pow(p, 0.14) - std::pow(1 - p, 0.14));
}

// How far chance raises the busiest of ep devices above an even share; each holds E/ep experts. 0 for ep = 1.
struct ShareChance {
  double spread = 0;    // z^2 / (ep (E - 1)), z the largest of ep deviates
  double skewness = 0;  // (z^2 - 1)/6 (1 - 2/ep)
};

inline ShareChance MakeShareChance(double experts, double expert_parallel) {
  if (expert_parallel <= 1 || experts <= 1) return {};
  const double z = LargestDeviate(expert_parallel);
  return {.spread = z * z / (expert_parallel * (experts - 1)), .skewness = (z * z - 1) / 6 * (1 - 2 / expert_parallel)};
}

// Distinct experts of the busiest of ep devices, where D = `distinct` >= 1 of E are needed, any as likely as another:
// D/ep + sqrt(spread D (E - D)) + skewness max(0, 1 - 2 D/E), at least 1 and at most E/ep. Sources: moments of the
// hypergeometric distribution, Cornish and Fisher's expansion of its quantile. Within 12% of draws for D >= ep.
inline double BusiestShare(double experts, double expert_parallel, const ShareChance& chance, double distinct) {
  const double spread = std::sqrt(chance.spread * distinct * std::max(0.0, experts - distinct));
  const double skew = chance.skewness * std::max(0.0, 1 - 2 * distinct / experts);
  return std::min(experts / expert_parallel, std::max(1.0, distinct / expert_parallel + spread + skew));
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_EXPERTS_H_

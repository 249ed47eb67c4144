#include "estimator/methods/slo.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace foretoken {
namespace {

double Normal(double deviations) { return std::erfc(-deviations / std::numbers::sqrt2) / 2; }

// How many deviations from the mean a share of `coverage` reaches to both sides. [Abramowitz and Stegun 26.2]
double DeviationsOf(double coverage) {
  constexpr double kOfEighty = 1.2815515655446004;
  if (coverage == 0.8) return kOfEighty;
  double low = 0;
  double high = 40;  // beyond what a double tells from 1
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (2 * Normal(middle) - 1 < coverage ? low : high) = middle;
  }
  return high;
}

struct Bound {
  Seconds allowed;
  const TimeEstimate& estimate;
};

// What the band of one metric says of its bound.
Verdict VerdictByBand(const Bound& bound) {
  if (!bound.estimate.band) return Verdict::kUnknown;
  if (bound.allowed.value() >= bound.estimate.band->high) return Verdict::kFeasible;
  return bound.allowed.value() < bound.estimate.band->low ? Verdict::kInfeasible : Verdict::kMarginal;
}

// The verdict on two bounds: missed for certain counts most, then what is not known.
Verdict Worse(Verdict a, Verdict b) {
  for (const Verdict verdict : {Verdict::kInfeasible, Verdict::kUnknown, Verdict::kMarginal}) {
    if (a == verdict || b == verdict) return verdict;
  }
  return Verdict::kFeasible;
}

void Judge(const Bound& bound, DecideBy decide_by, SloVerdict& verdict) {
  const bool first = !verdict.headroom;
  const double left = (bound.allowed - bound.estimate.time) / bound.allowed;
  const Verdict by_point = left >= 0 ? Verdict::kFeasible : Verdict::kInfeasible;
  const Verdict found = decide_by == DecideBy::kBand ? VerdictByBand(bound) : by_point;
  verdict.verdict = first ? found : Worse(verdict.verdict, found);
  const std::optional<Band>& band = bound.estimate.band;
  if (!band) {
    verdict.probability.reset();
  } else if (first || verdict.probability) {
    verdict.probability = std::min(verdict.probability.value_or(1), ProbabilityWithin(*band, bound.allowed));
  }
  verdict.headroom = std::min(verdict.headroom.value_or(left), left);
}

}  // namespace

double ProbabilityWithin(const Band& band, Seconds bound) {
  const double low = std::log(band.low);
  const double high = std::log(band.high);
  const double deviation = (high - low) / (2 * DeviationsOf(band.coverage));
  const double beyond = std::log(bound.value()) - (low + high) / 2;
  if (!(deviation > 0)) return beyond >= 0 ? 1 : 0;
  return Normal(beyond / deviation);
}

SloVerdict JudgeSlo(const Slo& slo, const TimeEstimate& ttft, const TimeEstimate& tpot, const TimeEstimate& e2e) {
  SloVerdict verdict;
  if (slo.max_ttft) Judge({*slo.max_ttft, ttft}, slo.decide_by, verdict);
  if (slo.max_tpot) Judge({*slo.max_tpot, tpot}, slo.decide_by, verdict);
  if (slo.max_e2e) Judge({*slo.max_e2e, e2e}, slo.decide_by, verdict);
  return verdict;
}

}  // namespace foretoken

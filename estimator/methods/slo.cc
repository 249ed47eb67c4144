#include "estimator/methods/slo.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace foretoken {
namespace {

// Student's t distribution with two degrees of freedom, whose tails are those of measured errors: its share below `t`,
// and the `t` below which a share lies.
double ShareBelow(double t) { return (1 + t / std::sqrt(2 + t * t)) / 2; }
double QuantileOf(double share) { return (2 * share - 1) / std::sqrt(2 * share * (1 - share)); }

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
  const double scale = (high - low) / (2 * QuantileOf((1 + band.coverage) / 2));
  const double beyond = std::log(bound.value()) - (low + high) / 2;
  if (!(scale > 0)) return beyond >= 0 ? 1 : 0;
  return ShareBelow(beyond / scale);
}

SloVerdict JudgeSlo(const Slo& slo, const TimeEstimate& ttft, const TimeEstimate& tpot, const TimeEstimate& e2e) {
  SloVerdict verdict;
  if (slo.max_ttft) Judge({*slo.max_ttft, ttft}, slo.decide_by, verdict);
  if (slo.max_tpot) Judge({*slo.max_tpot, tpot}, slo.decide_by, verdict);
  if (slo.max_e2e) Judge({*slo.max_e2e, e2e}, slo.decide_by, verdict);
  return verdict;
}

}  // namespace foretoken

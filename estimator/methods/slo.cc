#include "estimator/methods/slo.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"

namespace foretoken {
namespace {

// Student's t distribution with two degrees of freedom, whose tails are those of measured errors: its share below `t`,
// and the `t` below which a share lies.
double ShareBelow(double t) { return (1 + t / std::sqrt(2 + t * t)) / 2; }
double QuantileOf(double share) { return (2 * share - 1) / std::sqrt(2 * share * (1 - share)); }

const TimeEstimate& MeanOf(ServedTime time, const Estimate& estimate) {
  switch (time) {
    case ServedTime::kTtft:
      return estimate.ttft;
    case ServedTime::kE2e:
      return estimate.e2e;
    default:
      return estimate.tpot;
  }
}

const std::optional<SimulatedTimes>& TimesOf(ServedTime time, const Percentiles& percentiles) {
  switch (time) {
    case ServedTime::kTtft:
      return percentiles.ttft;
    case ServedTime::kTpot:
      return percentiles.tpot;
    case ServedTime::kItl:
      return percentiles.itl;
    case ServedTime::kE2e:
      break;
  }
  return percentiles.e2e;
}

constexpr SimulatedValue SimulatedTimes::*kOfPercentile[] = {&SimulatedTimes::p50, &SimulatedTimes::p90,
                                                             &SimulatedTimes::p95, &SimulatedTimes::p99};
static_assert(std::size(kOfPercentile) == kPercentiles);

// Absent: there is none.
std::optional<TimeEstimate> FindPercentile(const PercentileBound& bound, const Estimate& estimate) {
  if (!estimate.percentiles) return std::nullopt;
  const std::optional<SimulatedTimes>& times = TimesOf(bound.time, *estimate.percentiles);
  if (!times) return std::nullopt;
  TimeEstimate found{.time = Seconds((*times.*kOfPercentile[static_cast<size_t>(bound.percentile)]).value)};
  const TimeEstimate& mean = MeanOf(bound.time, estimate);
  if (!mean.band || !(mean.time.value() > 0)) return found;
  const double scale = found.time / mean.time;
  found.band = Band{mean.band->low * scale, mean.band->high * scale, mean.band->coverage};
  return found;
}

// What the band of one metric says of its bound.
Verdict VerdictByBand(const std::optional<Band>& band, Seconds allowed) {
  if (!band) return Verdict::kUnknown;
  if (allowed.value() >= band->high) return Verdict::kFeasible;
  return allowed.value() < band->low ? Verdict::kInfeasible : Verdict::kMarginal;
}

// The verdict on two bounds: missed for certain counts most, then what is not known.
Verdict Worse(Verdict a, Verdict b) {
  for (const Verdict verdict : {Verdict::kInfeasible, Verdict::kUnknown, Verdict::kMarginal}) {
    if (a == verdict || b == verdict) return verdict;
  }
  return Verdict::kFeasible;
}

// The verdict over the bounds that were added.
class Judgement {
 public:
  explicit Judgement(DecideBy decide_by) : by_band_(decide_by == DecideBy::kBand) {}

  void Add(const SloBound& bound) {
    const bool first = verdict_.verdict == Verdict::kUnspecified;
    const Verdict found = VerdictOf(bound);
    verdict_.verdict = first ? found : Worse(verdict_.verdict, found);
    has_bands_ &= bound.found && bound.found->band;
    if (has_bands_) {
      const double within = ProbabilityWithin(*bound.found->band, bound.allowed);
      verdict_.probability = std::min(verdict_.probability.value_or(1), within);
    } else {
      verdict_.probability.reset();
    }
    if (!bound.found) return;
    const double left = LeftOf(bound);
    verdict_.headroom = std::min(verdict_.headroom.value_or(left), left);
  }

  const SloVerdict& verdict() const { return verdict_; }

 private:
  static double LeftOf(const SloBound& bound) { return (bound.allowed - bound.found->time) / bound.allowed; }

  Verdict VerdictOf(const SloBound& bound) const {
    if (!bound.found) return Verdict::kUnknown;
    if (by_band_) return VerdictByBand(bound.found->band, bound.allowed);
    return LeftOf(bound) >= 0 ? Verdict::kFeasible : Verdict::kInfeasible;
  }

  const bool by_band_;
  bool has_bands_ = true;
  SloVerdict verdict_;
};

}  // namespace

double ProbabilityWithin(const Band& band, Seconds bound) {
  const double low = std::log(band.low);
  const double high = std::log(band.high);
  const double scale = (high - low) / (2 * QuantileOf((1 + band.coverage) / 2));
  const double beyond = std::log(bound.value()) - (low + high) / 2;
  if (!(scale > 0)) return beyond >= 0 ? 1 : 0;
  return ShareBelow(beyond / scale);
}

std::string SloBound::Name() const {
  constexpr const char* kTimes[] = {"ttft", "tpot", "itl", "e2e"};
  constexpr const char* kRanks[] = {"_p50", "_p90", "_p95", "_p99"};
  static_assert(std::size(kTimes) == kServedTimes && std::size(kRanks) == kPercentiles);
  return absl::StrCat("max_", kTimes[static_cast<size_t>(time)],
                      percentile ? kRanks[static_cast<size_t>(*percentile)] : "", "_seconds");
}

void ForEachBound(const Slo& slo, const Estimate& estimate, absl::FunctionRef<void(const SloBound&)> consider) {
  const auto mean = [&](ServedTime time, const std::optional<Seconds>& allowed) {
    if (allowed) consider({.time = time, .allowed = *allowed, .found = MeanOf(time, estimate)});
  };
  mean(ServedTime::kTtft, slo.max_ttft);
  mean(ServedTime::kTpot, slo.max_tpot);
  mean(ServedTime::kE2e, slo.max_e2e);
  for (const PercentileBound& bound : slo.percentiles) {
    consider({bound.time, bound.percentile, bound.allowed, FindPercentile(bound, estimate)});
  }
}

SloVerdict JudgeSlo(const Slo& slo, const Estimate& estimate) {
  Judgement judgement(slo.decide_by);
  ForEachBound(slo, estimate, [&judgement](const SloBound& bound) { judgement.Add(bound); });
  return judgement.verdict();
}

}  // namespace foretoken

#include "estimator/serving/completions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foretoken {
namespace {

// Tolerance of quotients that are whole numbers except for rounding.
constexpr double kRounding = 1e-9;

}  // namespace

Completions::Completions(double running, std::optional<double> remaining, double least, const std::vector<double>* each)
    : running_(running),
      gap_(remaining ? 2 * (*remaining - least) / (running + 1) : std::numeric_limits<double>::infinity()),
      first_(least),
      each_(each) {}

double Completions::Last() const {
  if (running_ <= 0) return 0;
  return each_ != nullptr ? each_->back() : first_ + running_ * gap_;
}

double Completions::Ended(double steps) const {
  if (each_ != nullptr) {
    const auto end = std::upper_bound(each_->begin(), each_->end(), steps + kRounding);
    return static_cast<double>(end - each_->begin());
  }
  if (steps + kRounding < first_) return 0;
  return gap_ > 0 ? std::min(running_, std::floor((steps - first_) / gap_ + kRounding)) : running_;
}

double Completions::Made(double steps) const {
  if (each_ != nullptr) {
    double made = 0;
    for (const double tokens : *each_) made += std::min(tokens, steps);
    return made;
  }
  const double ended = Ended(steps);
  const double of_ended = ended > 0 ? first_ * ended + gap_ * ended * (ended + 1) / 2 : 0;
  return of_ended + (running_ - ended) * steps;
}

double Completions::MeanLeft(double first, double last) const {
  // The bound removes what rounding leaves of a difference of large sums.
  return last > first ? std::max(0.0, (Made(last) - Made(first)) / (last - first)) : Left(first);
}

double SlotRelease::Freed(double steps) const {
  // Generations after the running one complete evenly, also where the running sequences are known one by one.
  const double since = steps - completions.first();
  const double last = completions.running() > 0 ? completions.running() * completions.gap() : 0;
  const double through = since >= last ? std::floor((since - last) / hold) : 0;  // generations after the running one
  const double from = through + 1;                                               // generations with some completions
  const double to = std::floor((since - completions.gap()) / hold);
  const double part = to >= from ? (to - through) * ((since - hold * (from + to) / 2) / completions.gap() - 0.5) : 0;
  const double later = again * (completions.running() * through + part) + joined * std::floor(steps / hold);
  return each * completions.Ended(steps) + later;
}

double SlotRelease::StepsUntil(double needed) const {
  const double enough = needed * (1 - kRounding);
  if (Freed(0) >= enough) return 0;
  double low = 0;  // releases too little
  double high = completions.Last() + hold * std::ceil(needed / (completions.running() * again + joined));
  constexpr int kHalvings = 200;  // down to 1e-60 of where the search begins
  for (int i = 0; i < kHalvings && high - low > kRounding * high; ++i) {
    const double middle = (low + high) / 2;
    (Freed(middle) >= enough ? high : low) = middle;
  }
  return high;
}

}  // namespace foretoken

#include "estimator/endings.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace foretoken {
namespace {

// Of quotients that are whole but for rounding.
constexpr double kRounding = 1e-9;

}  // namespace

Endings::Endings(double running, std::optional<double> remaining)
    : running_(running), gap_(remaining ? 2 * *remaining / (running + 1) : std::numeric_limits<double>::infinity()) {}

double Endings::Last() const { return running_ > 0 ? running_ * gap_ : 0; }

double Endings::Ended(double steps) const {
  return gap_ > 0 ? std::min(running_, std::floor(steps / gap_ + kRounding)) : running_;
}

double Endings::Made(double steps) const {
  const double ended = Ended(steps);
  const double of_ended = ended > 0 ? gap_ * ended * (ended + 1) / 2 : 0;
  return of_ended + (running_ - ended) * steps;
}

double Endings::MeanLeft(double first, double last) const {
  return last > first ? (Made(last) - Made(first)) / (last - first) : Left(first);
}

double Turnover::Freed(double steps) const {
  const double last = endings.Last();
  const double through = steps >= last ? std::floor((steps - last) / hold) : 0;  // generations after the first
  const double from = through + 1;                                               // those of which some have ended
  const double to = std::floor((steps - endings.gap()) / hold);
  const double part = to >= from ? (to - through) * ((steps - hold * (from + to) / 2) / endings.gap() - 0.5) : 0;
  const double later = again * (endings.running() * through + part) + joined * std::floor(steps / hold);
  return each * endings.Ended(steps) + later;
}

double Turnover::StepsUntil(double needed) const {
  const double enough = needed * (1 - kRounding);
  if (Freed(0) >= enough) return 0;
  double low = 0;  // too few
  double high = endings.Last() + hold * std::ceil(needed / (endings.running() * again + joined));
  while (high - low > kRounding * high) {
    const double middle = (low + high) / 2;
    (Freed(middle) >= enough ? high : low) = middle;
  }
  return high;
}

}  // namespace foretoken

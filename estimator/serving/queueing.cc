#include "estimator/serving/queueing.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// The wait for earlier requests in half service times, with `servers` servers; one server is M/D/1. The exponent is
// Sakasegawa's (1977).
double HalfServicesAhead(double busy, double servers) {
  return std::pow(busy, std::sqrt(2 * (servers + 1)) - 1) / (servers * (1 - busy));
}

}  // namespace

double StepQueue::NoArrival() const { return std::pow(1 - std::min(1.0, arriving / most), most); }

double StepQueue::Group() const {
  const double none = NoArrival();
  return none < 1 ? (arriving + idle * none) / (1 - none * (1 - idle)) : 1;
}

double StepQueue::Excess() const { return (1 - arriving / most) / (1 - Growth() * Growth() * (1 - 1 / most)); }

Seconds StepQueue::Residual() const {
  const double some = 1 - NoArrival();
  const double mean = some > 0 ? arriving / some : 1;
  const double variance = std::max(0.0, mean * (arriving + Excess()) - mean * mean);  // of the arrivals, if any
  const Seconds spread = taking > Seconds(0) ? each * (each / taking * variance) : Seconds(0);
  return (Busy() * (taking + spread) + (1 - Busy()) * (1 - idle) * empty) / 2;
}

Seconds StepQueue::Wait() const { return Residual() * (1 + HalfServicesAhead(rate * longest.value() / most, most)); }

double StepQueue::Together() const {
  const double finds_idle = (1 - Busy()) * idle;
  return 1 + (1 - finds_idle) * (arriving + Excess() - 1);
}

double StepQueue::Followers(double steps) const {
  const double with_it = Together();
  const Seconds own = taking + (with_it - Group()) * each;
  const Seconds mean = NoArrival() * empty + (1 - NoArrival()) * taking;
  const double behind = rate * (own - mean + Residual()).value() - (with_it - 1) / 2;
  const double room = steps * std::max(0.0, most - arriving);
  return std::clamp(behind / (1 - Growth()), 0.0, room);
}

Seconds SlotWait(double busy, double slots, Seconds service) { return service / 2 * HalfServicesAhead(busy, slots); }

}  // namespace foretoken

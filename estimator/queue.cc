#include "estimator/queue.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// Half services that the customers before one take where `servers` serve at once: one server, M/D/1. The exponent is
// Sakasegawa's (1977).
double HalfServicesAhead(double busy, double servers) {
  return std::pow(busy, std::sqrt(2 * (servers + 1)) - 1) / (servers * (1 - busy));
}

}  // namespace

double StepQueue::Room() const { return 1 - std::min(1.0, rate * MeanStep().value() / most); }

double StepQueue::Excess() const {
  const double growth = Growth();
  return Room() / (1 - growth * growth * (1 - 1 / most));
}

double StepQueue::FindIdle() const { return (1 - Growth()) * idle * std::pow(Room(), most); }

Seconds StepQueue::Residual() const { return (MeanStep() + each * (Growth() * Excess()) - empty * FindIdle()) / 2; }

Seconds StepQueue::Wait() const { return Residual() * (1 + HalfServicesAhead(rate * longest.value() / most, most)); }

double StepQueue::Together() const { return 1 + (1 - FindIdle()) * (most * (1 - Room()) + Excess() - 1); }

double StepQueue::Followers(double steps) const {
  const double with_it = Together();
  const Seconds longer = empty + with_it * each - MeanStep();
  const double behind = rate * (longer + Residual()).value() - (with_it - 1) / 2;
  return std::clamp(behind / (1 - Growth()), 0.0, steps * most * Room());
}

Seconds SeatWait(double busy, double seats, Seconds service) { return service / 2 * HalfServicesAhead(busy, seats); }

}  // namespace foretoken

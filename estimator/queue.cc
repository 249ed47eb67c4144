#include "estimator/queue.h"

#include <algorithm>
#include <cmath>

namespace foretoken {

double StepQueue::Room() const { return 1 - std::min(1.0, rate * MeanStep().value() / most); }

double StepQueue::Excess() const {
  const double growth = Growth();
  return Room() / (1 - growth * growth * (1 - 1 / most));
}

double StepQueue::FindIdle() const { return (1 - Growth()) * idle * std::pow(Room(), most); }

Seconds StepQueue::Residual() const { return (MeanStep() + each * (Growth() * Excess()) - empty * FindIdle()) / 2; }

// The exponent is that of Sakasegawa (1977), for as many servers.
Seconds StepQueue::Wait() const {
  const double busy = rate * longest.value() / most;
  return Residual() * (1 + std::pow(busy, std::sqrt(2 * (most + 1)) - 1) / (most * (1 - busy)));
}

double StepQueue::Together() const { return 1 + (1 - FindIdle()) * (most * (1 - Room()) + Excess() - 1); }

double StepQueue::Followers(double steps) const {
  const double with_it = Together();
  const Seconds longer = empty + with_it * each - MeanStep();
  const double behind = rate * (longer + Residual()).value() - (with_it - 1) / 2;
  return std::clamp(behind / (1 - Growth()), 0.0, steps * most * Room());
}

}  // namespace foretoken

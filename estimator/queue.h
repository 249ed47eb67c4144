// A queue whose customers arrive independently of each other and all take the same time (M/D/1).
#ifndef FORETOKEN_ESTIMATOR_QUEUE_H_
#define FORETOKEN_ESTIMATOR_QUEUE_H_

#include "estimator/units.h"

namespace foretoken {

// Mean wait before service, at `rate` arrivals per second: rho / (2 (1 - rho)) services, rho = rate * service.
// Half a service at rho = 1/2. REQUIRES: rho < 1. Source: Pollaczek and Khinchine.
constexpr Seconds MeanWait(double rate, Seconds service) {
  const double busy = rate * service.value();
  return service * (busy / (2 * (1 - busy)));
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_QUEUE_H_

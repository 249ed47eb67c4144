// Queues of customers who arrive independently of each other.
#ifndef FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_
#define FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_

#include "estimator/base/units.h"

namespace foretoken {

// A server that takes all who wait, up to `most`, into one step; those who come meanwhile wait for its end. The number
// who come during a step is binomial. Of one customer a step: M/D/1, with vacations of `empty`. [ours;
// docs/model/serving.md] REQUIRES: rate * longest < most, rate * each < 1.
struct StepQueue {
  double rate = 0;      // arrivals per second
  double arriving = 0;  // mean of those who come during a step
  double most = 1;      // that a step takes
  double idle = 0;      // probability that no step runs where nobody has come
  Seconds empty;        // a step that takes nobody
  Seconds taking;       // one that takes Group()
  Seconds each;         // what one more adds to that
  Seconds longest;      // one that takes `most`

  // Customers in a step that takes any, mean.
  double Group() const;
  // Mean time until the step that takes an arrival begins.
  Seconds Wait() const;
  // Customers in that step, itself included.
  double Together() const;
  // How many more than on average come into the `steps` after it, of those who came during the wait and the step.
  double Followers(double steps) const;

 private:
  double NobodyCame() const;
  double Growth() const { return rate * each.value(); }
  // Share of the time in steps that take somebody.
  double Busy() const { return rate * taking.value() / Group(); }
  // How many more than in the mean step are in that of a customer, where steps follow each other always.
  double Excess() const;
  // Mean rest of the step that runs as a customer arrives.
  Seconds Residual() const;
};

// Mean wait for one of `seats` that are each held for `service`, as they are for the share `busy` of the time. [ours;
// docs/model/serving.md] REQUIRES: busy < 1.
Seconds SlotWait(double busy, double slots, Seconds service);

// Mean wait before a service that always takes the same time (M/D/1): rho / (2 (1 - rho)) services, rho = rate *
// service. REQUIRES: rho < 1. Source: Pollaczek and Khinchine.
inline Seconds MeanWait(double rate, Seconds service) {
  return StepQueue{.rate = rate, .idle = 1, .taking = service, .each = service, .longest = service}.Wait();
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_

// Mean waits in queues with independent (Poisson) arrivals.
#ifndef FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_
#define FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_

#include "estimator/base/units.h"

namespace foretoken {

// A server that works in steps: each step takes all waiting requests, up to `most`, and later arrivals wait for its
// end. The number of arrivals during a step is binomial. With one request per step this is M/D/1 with vacations of
// `empty`. [ours; docs/model/serving.md] REQUIRES: rate * longest < most, rate * each < 1.
struct StepQueue {
  double rate = 0;      // arrivals per second
  double arriving = 0;  // mean arrivals during a step
  double most = 1;      // requests that a step takes
  double idle = 0;      // probability that no step runs if no request has arrived
  Seconds empty;        // a step without a request
  Seconds taking;       // a step with Group() requests
  Seconds each;         // time that one more request adds to it
  Seconds longest;      // a step with `most` requests

  // Mean requests of a step that takes any.
  double Group() const;
  // Mean time from an arrival to the step that takes it.
  Seconds Wait() const;
  // Mean requests of that step, the arrival included.
  double Together() const;
  // Arrivals during the wait and the step that are above the mean, and so enlarge the `steps` after it.
  double Followers(double steps) const;

 private:
  double NoArrival() const;
  double Growth() const { return rate * each.value(); }
  // Share of the time in steps that take a request.
  double Busy() const { return rate * taking.value() / Group(); }
  // How many more requests than the mean step has the step of an arrival, if steps follow each other without a gap.
  double Excess() const;
  // Mean rest of the step that runs at an arrival.
  Seconds Residual() const;
};

// Mean wait for one of `slots` that each request holds for `service`, if slots are taken for the share `busy` of the
// time. [ours; docs/model/serving.md] REQUIRES: busy < 1.
Seconds SlotWait(double busy, double slots, Seconds service);

// Mean wait before a service that always takes the same time (M/D/1): rho / (2 (1 - rho)) services, rho = rate *
// service. REQUIRES: rho < 1. Source: Pollaczek and Khinchine.
inline Seconds MeanWait(double rate, Seconds service) {
  return StepQueue{.rate = rate, .idle = 1, .taking = service, .each = service, .longest = service}.Wait();
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_QUEUEING_H_

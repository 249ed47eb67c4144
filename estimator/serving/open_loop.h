// Continuous batching in an open loop: requests arrive at a rate, whatever is still running.
#ifndef FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_
#define FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Steady state at request_rate_per_second over all replicas, arrivals independent of each other (Poisson). As the
// rate goes to zero, a request meets a static batch of one.
//
// Errors: kOutOfMemory where not even one fits; kUnstableLoad, naming the highest stable rate, where requests arrive
// faster than the deployment serves them.
absl::StatusOr<Served> ServeOpenLoop(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_

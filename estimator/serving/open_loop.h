// Continuous batching in an open loop: requests arrive at a rate that does not depend on what still runs.
#ifndef FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_
#define FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// The steady state at request_rate_per_second over all replicas, with independent (Poisson) arrivals. As the rate goes
// to zero, a request meets a static batch of one.
//
// Errors: kOutOfMemory if not even one request fits; kUnstableLoad, naming the highest stable rate, if requests arrive
// faster than the deployment serves them.
absl::StatusOr<Served> ServeOpenLoop(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_OPEN_LOOP_H_

// Continuous batching in a closed loop, as a benchmark at constant concurrency drives it: when a request ends, the next
// one takes its place. Sequences join and leave at every step, and prompts are prefilled in decode steps.
#ifndef FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_
#define FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Serves batch_size concurrent requests, spread over all replicas. One request alone meets a static batch of one. If
// memory holds fewer requests than are concurrent, the others wait in the queue, with a warning.
// Errors: kOutOfMemory if not even one request fits.
absl::StatusOr<Served> ServeClosedLoop(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_

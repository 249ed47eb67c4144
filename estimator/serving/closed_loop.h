// Continuous batching in a closed loop: a constant number of requests is in the deployment, each replaced by the next
// as it ends. Sequences join and leave at every step, and prompts are prefilled in the steps of those that decode.
#ifndef FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_
#define FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// At concurrency batch_size over all replicas. Alone, a request meets a static batch of one. Where memory holds fewer
// than run at once, the others wait in the queue, with a warning. Errors: kOutOfMemory where not even one fits.
absl::StatusOr<Served> ServeClosedLoop(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_CLOSED_LOOP_H_

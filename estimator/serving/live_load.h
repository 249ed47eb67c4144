// The next request at a busy replica whose load is reported: it queues behind the waiting requests and shares its steps
// with the running sequences. A router asks this to choose a replica.
#ifndef FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_
#define FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Serves the last of batch_size requests that arrive together, spread over replicas that all have this load.
//
//   until its first token   the engine prefills the partially prefilled and the queued prompts, in steps that also
//   decode
//                           the running sequences; the request waits for a batch slot if none is free
//   after that              the request decodes in a batch that shrinks as running sequences complete
//
// Leaves out: requests that arrive later. REQUIRES: a live load. Errors: kOutOfMemory; those of TakeBatchSlots
// (replica_queue.h).
absl::StatusOr<Served> ServeLiveLoad(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_

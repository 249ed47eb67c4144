// The next request at a replica that is busy: it comes after everyone who waits already, and shares its steps with
// everyone who runs.
#ifndef FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_
#define FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// The last of batch_size requests (over all replicas, each under this load) that arrive together: until its first
// token the engine drains what is in flight and queued, in steps that also decode those running, and the request waits
// for a seat where there is none; then it decodes in the batch that it has joined, which shrinks as those running end.
// Nobody comes after.
// REQUIRES: a live load. Errors: kOutOfMemory; those of TakeBatchSlots (backlog.h).
absl::StatusOr<Served> ServeLiveLoad(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_LIVE_LOAD_H_

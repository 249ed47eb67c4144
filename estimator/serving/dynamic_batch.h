// Dynamic batching: arrivals form a batch until it is full, or until a window has passed since the first of them. The
// batch then runs as a static batch.
#ifndef FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_
#define FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_

#include <optional>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// The batch that independent arrivals form while nothing runs.
struct BatchFormation {
  double sequences = 1;  // mean
  Seconds wait;          // mean, of a request
};

// A batch of at most `most` sequences: the first arrival and the N arrivals that follow it within the window, so that
// sequences = 1 + E[min(N, most - 1)]. The wait is the mean over the requests of a batch; without a window it is
// (most - 1) / (2 rate). REQUIRES: rate > 0, most >= 1. [ours]
BatchFormation FormBatch(double rate, double most, std::optional<Seconds> window);

// A full batch is batch_size over all replicas. Errors: kInvalidField without a request rate; kOutOfMemory if a full
// batch does not fit; kUnstableLoad, naming the highest stable rate.
absl::StatusOr<Served> ServeDynamic(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_

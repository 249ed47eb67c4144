// Dynamic batching: requests that arrive at a rate are gathered until the batch is full or a window has passed since
// the first of them; the batch then runs as a static one.
#ifndef FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_
#define FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_

#include <optional>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// How a batch of at most `most` forms from independent arrivals while nothing runs.
struct BatchFormation {
  double sequences = 1;  // mean
  Seconds wait;          // mean, of a request
};

// N(t) arrivals follow the first. sequences = 1 + E[min(N(window), most - 1)], wait = the time to the start of the
// batch over its requests; without a window (most - 1)/(2 rate). REQUIRES: rate > 0, most >= 1. [ours]
BatchFormation FormBatch(double rate, double most, std::optional<Seconds> window);

// batch_size over all replicas is the full batch. Errors: kInvalidField without a request rate; kOutOfMemory where a
// full batch does not fit; kUnstableLoad, naming the highest stable rate.
absl::StatusOr<Served> ServeDynamic(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_DYNAMIC_BATCH_H_

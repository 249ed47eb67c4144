// The dispatcher of the serving room: each batching policy turns a scenario into the times that one request meets.
//
//   static            batch.h           all prompts together, the batch ends with its longest sequence
//   dynamic           dynamic_batch.h   static batches that form from arrivals
//   closed loop       closed_loop.h     continuous batching at constant concurrency
//   live load         live_load.h       continuous batching, at a replica whose present load is reported
//   open loop         open_loop.h       continuous batching of requests that arrive at a rate
//   disaggregated     disaggregated.h   prompts are prefilled by a pool of other replicas
//
// coverage.h decides which policy serves a scenario, and what it refuses. Formulas, sources and worked numbers:
// docs/model/serving.md.
#ifndef FORETOKEN_ESTIMATOR_SERVING_SERVE_H_
#define FORETOKEN_ESTIMATOR_SERVING_SERVE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Serves the scenario by its batching policy. Errors: kOutOfMemory; kUnstableLoad; kNotModelled (coverage.h);
// kInvalidField if the policy needs a field that is absent.
absl::StatusOr<Served> Serve(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_SERVE_H_

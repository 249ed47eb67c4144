// Disaggregated serving: one pool of replicas prefills, another decodes, and each prompt's KV cache is transferred from
// the prefill pool to the decode pool.
//
//   TTFT = prefill of prefill_batch prompts + exposed transfer
//   TPOT = decode step of decode_batch sequences, which no prefill delays
//   rate = min(prefill_replicas prefill_batch / prefill,
//              min(prefill_replicas, decode_replicas) prefill_batch / transfer,
//              decode_replicas decode_batch / decode of a request)
//
// Without an arrival rate the decode pool is assumed full. If another part limits, its real batch is smaller and TPOT
// is an upper bound. Under continuous batching at an arrival rate that every part sustains, the rate decides the batch:
// decode_batch = rate / decode_replicas decode(decode_batch + 1). A prompt then waits for earlier prefills and
// transfers, each a queue with constant service time (M/D/1).
//
// Leaves out: pipeline stages that prefill different prompts, waits for a batch slot of the decode pool.
// Source: the rate matching of ai-dynamo/aiconfigurator's disaggregated mode; transfer and queues are ours.
#ifndef FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_
#define FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// REQUIRES: replica.prefill_pool; a scenario that coverage.h covers. Errors: kOutOfMemory; kUnstableLoad, naming the
// part that limits.
absl::StatusOr<Served> ServeDisaggregated(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_

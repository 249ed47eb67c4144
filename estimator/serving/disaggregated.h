// Disaggregated serving: x replicas prefill, y decode, and each prompt's KV cache is sent from one to the other.
//
//   TTFT    = prefill of b prompts on the prefill side + exposed transfer
//   TPOT    = decode step of B sequences on the decode side, which no prefill disturbs
//   rate    = min(x b / prefill, min(x, y) b / transfer, y B / decode of a request)
//
// The decode side is taken to be full: where another side limits, its batch is smaller in truth and TPOT an upper
// bound. Under continuous batching at an arrival rate lambda below that of every side it is as full as the rate keeps
// it, B = lambda / y decode(B + 1), and a prompt waits for the prefills and transfers before it, each a queue with
// constant service (M/D/1).
//
// Leaves out: stages of a prefill pipeline that work on different prompts, waiting for a seat on the decode side.
// Source: the rate matching of ai-dynamo/aiconfigurator's disaggregated mode; transfer and queues are ours.
#ifndef FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_
#define FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// REQUIRES: replica.prefill_side. Errors: kOutOfMemory; kUnstableLoad, naming the side that limits; kNotModelled for a
// live load, dynamic batching, arrival rates of static batches or of prompts that are prefilled together, output
// lengths that differ, speculative decoding, other KV cache modes, KV dtypes that differ, no prompt.
absl::StatusOr<Served> ServeDisaggregated(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_DISAGGREGATED_H_

// Disaggregated serving: x replicas prefill, y decode, and each prompt's KV cache is sent from one to the other.
//
//   TTFT    = prefill of b prompts on the prefill side + exposed transfer
//   TPOT    = decode step of B sequences on the decode side, which no prefill disturbs
//   rate    = min(x b / prefill, min(x, y) b / transfer, y B / decode of a request)
//
// The decode side is taken to be full: where another side limits, its batch is smaller in truth and TPOT an upper
// bound. Leaves out: waiting between the sides, and stages of a prefill pipeline that work on different prompts.
// Source: the rate matching of ai-dynamo/aiconfigurator's disaggregated mode; the transfer is ours.
#ifndef FORETOKEN_ESTIMATOR_DISAGGREGATED_H_
#define FORETOKEN_ESTIMATOR_DISAGGREGATED_H_

#include "absl/status/statusor.h"
#include "estimator/serving.h"

namespace foretoken {

// REQUIRES: replica.prefill_side. Errors: kOutOfMemory; kNotModelled for a live load, arrival rates, dynamic batching,
// output lengths that differ, speculative decoding, other KV cache modes, KV dtypes that differ, no prompt.
absl::StatusOr<Served> ServeDisaggregated(const Replica& replica);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_DISAGGREGATED_H_

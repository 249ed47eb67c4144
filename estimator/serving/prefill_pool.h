// The prefill side of a disaggregated deployment, and the transfer of what it computes to the decode side.
//
//   transfer = alpha + S KV / Bx                        KV of a prompt of S tokens over the rate between two replicas
//   exposed  = alpha + S KV / Bx                        sent when the prompt is done
//            = alpha + max(T/L, T - (L-1)/L prefill)    layer by layer, T = S KV / Bx: the last layer, or what is left
//
// where the link keeps up with the prefill that is 1/L of T. [ours]
#ifndef FORETOKEN_ESTIMATOR_SERVING_PREFILL_POOL_H_
#define FORETOKEN_ESTIMATOR_SERVING_PREFILL_POOL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/phases/capacity.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"

namespace foretoken {

// Replicas that only prefill.
struct PrefillPool {
  Scenario scenario;  // its hardware and deployment, its batch, one output token
  StepModel model;
  Capacity capacity;
  BytesPerSecond transfer;  // from one replica to one of the decode side, as reached; 0: sending takes no time
  Seconds latency;          // alpha
};

// REQUIRES: scenario.disaggregation. Errors, with paths below disaggregated_prefill: kMissingFigure, kOutOfMemory;
// kMissingFigure for transfer_bytes_per_second where the network of a side is not stated either.
absl::StatusOr<PrefillPool> MakePrefillPool(const Scenario& scenario, const Efficiencies& efficiencies,
                                            std::vector<Warning>& warnings);

// KV cache of one sequence of `tokens` over the whole model: a windowed layer sends its window only.
Bytes TransferredKv(const Model& model, Dtype kv_cache_dtype, double tokens);

// What is left of a transfer of `whole` without latency when a prefill that takes `prefill` is done.
Seconds ExposedTransfer(Seconds whole, Seconds prefill, double layers, bool layerwise);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_PREFILL_POOL_H_

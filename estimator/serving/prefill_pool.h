// The prefill pool of a disaggregated deployment, and the transfer of its KV cache to the decode pool.
//
//   moving   = KV cache of the prompt / rate between two replicas
//   transfer = latency + moving
//   exposed  = latency + moving                                                         sent after the prefill
//   exposed  = latency + max(moving / layers, moving - (layers - 1) / layers prefill)   sent layer by layer
//
// Layer by layer, the transfer of the last layer is always exposed, and more if the link is slower than the prefill.
// [ours]
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
  BytesPerSecond transfer;  // reached, from one replica to one of the decode pool; 0: sending takes no time
  Seconds latency;          // of one transfer
};

// REQUIRES: scenario.disaggregation. Errors, with paths below disaggregated_prefill: kMissingFigure, kOutOfMemory;
// kMissingFigure for transfer_bytes_per_second if the network of a pool is not stated either.
absl::StatusOr<PrefillPool> MakePrefillPool(const Scenario& scenario, const Efficiencies& efficiencies,
                                            std::vector<Warning>& warnings);

// KV cache of one sequence of `tokens` over the whole model. A layer with a sliding window sends only its window.
Bytes TransferredKv(const Model& model, Dtype kv_cache_dtype, double tokens);

// The part of a transfer of `whole`, without latency, that remains when the prefill is done.
Seconds ExposedTransfer(Seconds whole, Seconds prefill, double layers, bool layerwise);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_PREFILL_POOL_H_

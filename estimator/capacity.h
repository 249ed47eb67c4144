// What fits in the memory of one device: weights, activations of the largest step, and KV cache in blocks.
//
//   free = capacity * memory_utilization - weights - activations - KV cache
#ifndef FORETOKEN_ESTIMATOR_CAPACITY_H_
#define FORETOKEN_ESTIMATOR_CAPACITY_H_

#include "absl/status/status.h"
#include "estimator/estimate.h"
#include "estimator/machine.h"
#include "estimator/scenario.h"
#include "estimator/shard.h"

namespace foretoken {

// How the batch meets the memory. A draft model counts as part of the model.
struct Capacity {
  Bytes usable;
  Bytes weights;
  Bytes activations;         // of this batch
  Bytes kv_per_sequence;     // at the longest context, whole blocks
  Bytes kv_per_token;        // of a full-context layer stack, this device
  double batch = 0;          // per replica
  double largest_batch = 0;  // per replica; may be 0

  bool Fits() const { return batch <= largest_batch; }
};

// Activations of the largest step while `batch` sequences of the workload are on a replica.
Bytes StepActivations(const Scenario& scenario, const Shard& shard, double batch);

// REQUIRES: shard and machine of the scenario's model, hardware and deployment.
Capacity MeasureCapacity(const Scenario& scenario, const Shard& shard, const Machine& machine);

// The refusal of a batch that does not fit: memory needed and there, the smallest tensor parallelism and the largest
// batch that would. The message is in gigabytes, its detail to the byte. Code FAILED_PRECONDITION, reason kOutOfMemory.
absl::Status OutOfMemory(const Scenario& scenario, const Capacity& capacity, const Machine& machine);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_CAPACITY_H_

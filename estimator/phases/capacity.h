// What fits in the memory of one device: weights, activations of the largest step, and KV cache in blocks.
//
//   free = capacity * memory_utilization - weights - activations - KV cache
#ifndef FORETOKEN_ESTIMATOR_PHASES_CAPACITY_H_
#define FORETOKEN_ESTIMATOR_PHASES_CAPACITY_H_

#include <algorithm>

#include "absl/status/status.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/machine.h"
#include "estimator/step/shard.h"

namespace foretoken {

// Tokens of the largest step that a batch meets: the engine's own floor, to which prompts are packed (a chunk or a
// longer prompt replaces it), and the tokens that decoding sequences are fed.
struct StepBudget {
  double at_least = 0;
  double per_prompt = 0;  // of each sequence, up to kStepTokens together
  double per_sequence = 1;

  double Tokens(double batch) const {
    return std::max({at_least, std::min(batch * per_prompt, double{kStepTokens}), batch * per_sequence});
  }
};

// Bytes that a batch takes beside the weights: of a token of the largest step, and of a sequence.
struct BatchBytes {
  StepBudget step;
  Bytes per_step_token;
  Bytes per_sequence;

  Bytes operator()(double batch) const { return step.Tokens(batch) * per_step_token + batch * per_sequence; }
};

// Tokens that a layer group keeps of a sequence of `context` tokens, in whole blocks. REQUIRES: a whole number below
// 2^31.
inline double KeptTokens(const AttentionGroup& group, double context) {
  const auto kept = static_cast<int>(group.window > 0 ? std::min(context, group.window) : context);
  return (kept + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
}

// KV cache of so many tokens, each counted once per layer, on a device of the stage with most layers.
inline Bytes KvOfTokens(const Shard& shard, double token_layers) {
  return token_layers * shard.fullest_stage * shard.kv_elements * shard.kv;
}

// KV cache that a device keeps of a sequence of `context` tokens. REQUIRES: a whole number below 2^31.
inline Bytes KvPerSequence(const Shard& shard, double context) {
  double token_layers = 0;
  for (const AttentionGroup& group : shard.attention) token_layers += group.layers * KeptTokens(group, context);
  return KvOfTokens(shard, token_layers);
}

// The largest whole batch that `bytes` has room for. The tokens of the largest step are the largest of three lines over
// the batch, one of them with a ceiling, so that each gives its own largest batch; the exact rule settles what rounding
// left open.
double LargestBatch(const BatchBytes& bytes, Bytes room);

// How the batch meets the memory. A draft model counts as part of the model.
struct Capacity {
  Bytes usable;
  Bytes weights;
  BatchBytes activations;    // of the largest step while so many sequences are on a replica
  Bytes kv_per_sequence;     // at the longest context, whole blocks
  Bytes kv_per_token;        // of a full-context layer stack, this device
  double batch = 0;          // per replica
  double largest_batch = 0;  // per replica; may be 0

  bool Fits() const { return batch <= largest_batch; }
};

// REQUIRES: shard and machine of the scenario's model, hardware and deployment.
Capacity MeasureCapacity(const Scenario& scenario, const Shard& shard, const Machine& machine);

// The refusal of a batch that does not fit: memory needed and there, the smallest tensor parallelism and the largest
// batch that would. The message is in gigabytes, its detail to the byte. Code FAILED_PRECONDITION, reason kOutOfMemory.
absl::Status OutOfMemory(const Scenario& scenario, const Capacity& capacity, const Machine& machine);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_CAPACITY_H_

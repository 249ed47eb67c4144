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

// Tokens of the largest step that a batch runs: a chunk or prompt, prompts packed together, or the tokens that decoding
// sequences are fed, whichever is most.
struct StepBudget {
  double at_least = 0;      // one chunk, or one prompt
  double per_prompt = 0;    // of each prompt that is packed, up to kStepTokens together
  double per_sequence = 1;  // fed to each decoding sequence

  double Tokens(double batch) const {
    return std::max({at_least, std::min(batch * per_prompt, double{kStepTokens}), batch * per_sequence});
  }
};

// Bytes that a batch takes beside the weights: per token of the largest step, and per sequence.
struct BatchBytes {
  StepBudget step;
  Bytes per_step_token;
  Bytes per_sequence;

  Bytes operator()(double batch) const { return step.Tokens(batch) * per_step_token + batch * per_sequence; }
};

// Tokens whose KV cache a layer group keeps for a sequence of `context` tokens, in whole blocks. REQUIRES: a whole
// number below 2^31.
inline double KeptTokens(const AttentionGroup& group, double context) {
  const bool windowed = group.window > 0 && !group.keeps_all;
  const auto kept = static_cast<int>(windowed ? std::min(context, group.window) : context);
  return (kept + kBlockTokens - 1) / kBlockTokens * kBlockTokens;
}

// KV cache of `token_layers` tokens, each counted once per layer, on a device of the stage with most layers.
inline Bytes KvOfTokens(const Shard& shard, double token_layers) {
  return token_layers * shard.fullest_stage * shard.kv_elements * shard.kv;
}

// KV cache and states that a device keeps for a sequence of `context` tokens; without any, it keeps no state either.
// REQUIRES: a whole number below 2^31.
inline Bytes KvPerSequence(const Shard& shard, double context) {
  double token_layers = 0;
  for (const AttentionGroup& group : shard.attention) {
    token_layers += group.layers * group.kv_share * KeptTokens(group, context);
  }
  return KvOfTokens(shard, token_layers) + (context > 0 ? shard.state_per_sequence : Bytes(0));
}

// The largest whole batch whose `bytes` fit in `room`. Each of the three terms of StepBudget is a line over the batch
// and limits it; the sum itself is then tried one by one, because the lines are rounded.
double LargestBatch(const BatchBytes& bytes, Bytes room);

// Memory that one device has, and what the batch needs of it. A draft model counts as part of the model.
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

// The refusal of a batch that does not fit. The message states in gigabytes what is needed and usable, the largest
// batch and the smallest tensor parallelism that would fit; the field violation, in short, the bytes needed, usable and
// the batches allowed. Code FAILED_PRECONDITION, reason kOutOfMemory.
absl::Status OutOfMemory(const Scenario& scenario, const Capacity& capacity, const Machine& machine);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_CAPACITY_H_

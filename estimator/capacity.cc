#include "estimator/capacity.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/errors.h"
#include "estimator/speculation.h"

namespace foretoken {
namespace {

// vLLM's default budget of tokens in one step (max_num_batched_tokens), which bounds the activations of a batch whose
// prompts are prefilled together.
constexpr double kStepTokens = 8192;
// vLLM's default KV block.
constexpr double kBlockTokens = 16;
constexpr int kLargestTensorParallel = 1024;

// Tokens that a layer group keeps of a sequence of `context` tokens.
double KeptTokens(const AttentionGroup& group, double context) {
  const double kept = group.window > 0 ? std::min(context, group.window) : context;
  return std::ceil(kept / kBlockTokens) * kBlockTokens;
}

Bytes KvPerSequence(const Shard& shard, double context) {
  double token_layers = 0;
  for (const AttentionGroup& group : shard.attention) token_layers += group.layers * KeptTokens(group, context);
  return token_layers / shard.stages * shard.kv_elements * shard.kv;
}

// Two copies of the residual stream, and the widest of attention and MLP, live at once.
Bytes ActivationPerToken(const Shard& shard, const Scenario& scenario, double tokens) {
  const double attention = shard.heads * (shard.prefill_qk_dim + shard.prefill_v_dim) + shard.kv_elements;
  const double mlp = shard.mlp_matrices * shard.mlp_width;
  Bytes bytes = (2 * shard.hidden + std::max(attention, mlp)) * shard.activation;
  if (scenario.deployment.attention_kernel == AttentionKernel::kNaive) {
    bytes += tokens * shard.heads * shard.activation;  // a row of scores against everything before
  }
  return bytes;
}

// Tokens that each sequence is fed beyond its next one when it is verified.
double DraftTokens(const Scenario& scenario) { return scenario.speculation ? scenario.speculation->draft_tokens : 0; }

// The engine's own floor for a step: prompts are packed up to kStepTokens; a chunk or a longer prompt replaces it.
double StepTokens(const Scenario& scenario, double batch) {
  const Workload& w = scenario.workload;
  const double prompt = std::max(1, w.prompt_tokens - w.cached_prefix_tokens);
  if (scenario.disaggregation) return batch;  // prompts are prefilled elsewhere
  const double chunk = scenario.deployment.prefill_chunk_tokens.value_or(static_cast<int>(prompt));
  return std::max(
      {std::min(prompt, chunk), std::min(batch * prompt, kStepTokens), batch * (1 + DraftTokens(scenario))});
}

}  // namespace

Bytes StepActivations(const Scenario& scenario, const Shard& shard, double batch) {
  const double context = scenario.workload.prompt_tokens + scenario.workload.output_tokens;
  const double rows = batch * (1 + DraftTokens(scenario));
  const Bytes logits = rows * shard.vocab * BytesPerElement(Dtype::kFp32);
  return StepTokens(scenario, batch) * ActivationPerToken(shard, scenario, context) + logits;
}

namespace {

// The largest whole batch whose weights, activations and KV fit: activations grow with the batch, so by bisection.
double LargestBatch(const Scenario& scenario, const Shard& shard, const Capacity& c) {
  const auto fits = [&](double batch) {
    return c.weights + StepActivations(scenario, shard, batch) + batch * c.kv_per_sequence <= c.usable;
  };
  if (!fits(1)) return 0;
  double low = 1;
  double high = 2;
  while (high < 1e9 && fits(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// The smallest power of two over which the batch fits; 0: none.
int SmallestTensorParallel(Scenario scenario, const Machine& machine) {
  for (int tp = scenario.deployment.tensor_parallel * 2; tp <= kLargestTensorParallel; tp *= 2) {
    scenario.deployment.tensor_parallel = tp;
    const Shard shard = MakeShard(*scenario.model, scenario.deployment);
    if (MeasureCapacity(scenario, shard, machine).Fits()) return tp;
  }
  return 0;
}

// Adds the weights of one model and what it keeps of a sequence. With `tokens` 0 nothing is kept.
void AddModel(const Shard& shard, double tokens, Capacity& c) {
  c.weights += shard.weights_total;
  c.kv_per_sequence += KvPerSequence(shard, tokens);
  c.kv_per_token += shard.layers / shard.stages * shard.kv_elements * shard.kv;
}

}  // namespace

Capacity MeasureCapacity(const Scenario& scenario, const Shard& shard, const Machine& machine) {
  const Workload& w = scenario.workload;
  const bool keeps = w.kv_cache_mode != KvCacheMode::kNone;
  Capacity c;
  c.usable = machine.memory_capacity * scenario.deployment.memory_utilization;
  c.batch = std::ceil(static_cast<double>(w.batch_size) / scenario.deployment.data_parallel);
  c.activations = StepActivations(scenario, shard, c.batch);
  const double context = keeps ? static_cast<double>(w.prompt_tokens) + w.output_tokens + DraftTokens(scenario) : 0;
  AddModel(shard, context, c);
  if (scenario.speculation) {
    AddModel(MakeShard(*scenario.speculation->draft, DraftDeployment(scenario)), context, c);
  }
  c.largest_batch = LargestBatch(scenario, shard, c);
  return c;
}

namespace {

std::string InGigabytes(Bytes amount) { return absl::StrFormat("%.2f GB", amount / Gigabytes(1)); }
std::string InBytes(Bytes amount) { return absl::StrFormat("%.0f bytes", amount.value()); }

}  // namespace

absl::Status OutOfMemory(const Scenario& scenario, const Capacity& capacity, const Machine& machine) {
  const int tp = SmallestTensorParallel(scenario, machine);
  const auto told = [&](std::string (*amount)(Bytes)) {
    const Bytes kv = capacity.batch * capacity.kv_per_sequence;
    return absl::StrFormat(
        "%s on %s: batch_size %d needs %s per device (weights %s, activations %s, KV cache %s); there are %s of %s "
        "usable; largest batch_size that fits at tensor_parallel %d: %.0f; smallest tensor_parallel that fits this "
        "batch: %s",
        scenario.model->id, scenario.hardware->id, scenario.workload.batch_size,
        amount(capacity.weights + capacity.activations + kv), amount(capacity.weights), amount(capacity.activations),
        amount(kv), amount(capacity.usable), amount(machine.memory_capacity), scenario.deployment.tensor_parallel,
        capacity.largest_batch * scenario.deployment.data_parallel, tp > 0 ? absl::StrCat(tp) : "none up to 1024");
  };
  return RefusalWithDetail(told(InGigabytes),
                           {.reason = Reason::kOutOfMemory, .violations = {{"workload.batch_size", told(InBytes)}}});
}

}  // namespace foretoken

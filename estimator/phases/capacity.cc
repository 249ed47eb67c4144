#include "estimator/phases/capacity.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/phases/speculation.h"

namespace foretoken {
namespace {

constexpr int kLargestTensorParallel = 1024;

// Two copies of the residual stream, and the widest of attention, MLP and recurrence, are in memory at the same time.
Bytes ActivationPerToken(const Shard& shard, const Scenario& scenario, double tokens) {
  const double attention = shard.heads * (shard.prefill_qk_dim + shard.prefill_v_dim) + shard.kv_elements;
  const double mlp = shard.mlp_matrices * shard.mlp_width;
  const double streams = 2 * shard.residual_streams * shard.hidden;
  Bytes bytes = (streams + std::max({attention, mlp, shard.recurrent_width})) * shard.residual;
  if (scenario.deployment.attention_kernel == AttentionKernel::kNaive) {
    bytes += tokens * shard.heads * shard.residual;  // one row of attention scores
  }
  return bytes;
}

// Proposed tokens that verification feeds to each sequence, beside its next one.
double DraftTokens(const Scenario& scenario) { return scenario.speculation ? scenario.speculation->draft_tokens : 0; }

StepBudget BudgetOf(const Scenario& scenario) {
  if (scenario.disaggregation) return {};  // prompts are prefilled elsewhere
  const Workload& w = scenario.workload;
  const double prompt = std::max(1, w.prompt_tokens - w.cached_prefix_tokens);
  const double chunk = ChunkTokens(w, scenario.deployment).value_or(static_cast<int>(prompt));
  return {.at_least = std::min(prompt, chunk), .per_prompt = prompt, .per_sequence = 1 + DraftTokens(scenario)};
}

Bytes LogitsPerSequence(const Scenario& scenario, const Shard& shard) {
  return (1 + DraftTokens(scenario)) * shard.vocab * BytesPerElement(Dtype::kFp32);
}

// The smallest power of two above the requested degree at which the batch fits; 0: none.
int SmallestTensorParallel(Scenario scenario, const Machine& machine) {
  int tp = 1;
  while (tp <= scenario.deployment.tensor_parallel) tp *= 2;
  for (; tp <= kLargestTensorParallel; tp *= 2) {
    scenario.deployment.tensor_parallel = tp;
    const Shard shard = MakeShard(*scenario.model, scenario.deployment);
    if (MeasureCapacity(scenario, shard, machine).Fits()) return tp;
  }
  return 0;
}

// Adds the weights of one model, and its KV cache of a sequence of `tokens` (0: it keeps none).
void AddModel(const Shard& shard, double tokens, Capacity& c) {
  c.weights += shard.weights_of_fullest_device;
  c.kv_per_sequence += KvPerSequence(shard, tokens);
  c.kv_per_token += KvOfTokens(shard, shard.kv_layers);
}

BatchBytes ActivationBytes(const Scenario& scenario, const Shard& shard) {
  const double context = static_cast<double>(scenario.workload.prompt_tokens) + scenario.workload.output_tokens;
  return {.step = BudgetOf(scenario),
          .per_step_token = ActivationPerToken(shard, scenario, context),
          .per_sequence = LogitsPerSequence(scenario, shard)};
}

std::string InGigabytes(Bytes amount) { return absl::StrFormat("%.2f GB", amount / Gigabytes(1)); }

}  // namespace

double LargestBatch(const BatchBytes& bytes, Bytes room) {
  constexpr double kMost = (1 << 30) - 1;
  constexpr int kRoundedOff = 1000;  // sequences of a few bytes in the largest memory that a spec may state
  const auto fits = [&](double batch) { return bytes(batch) <= room; };
  const auto solve = [&](double tokens, double tokens_per_sequence) {
    return (room - tokens * bytes.per_step_token) / (tokens_per_sequence * bytes.per_step_token + bytes.per_sequence);
  };
  const StepBudget& step = bytes.step;
  const double packed = std::max(solve(0, step.per_prompt), solve(double{kStepTokens}, 0));
  double batch = std::min({solve(step.at_least, 0), packed, solve(0, step.per_sequence), kMost});
  batch = std::max(0.0, std::floor(batch));
  for (int i = 0; i < kRoundedOff && batch > 0 && !fits(batch); ++i) --batch;
  for (int i = 0; i < kRoundedOff && batch < kMost && fits(batch + 1); ++i) ++batch;
  return batch;
}

Capacity MeasureCapacity(const Scenario& scenario, const Shard& shard, const Machine& machine) {
  const Workload& w = scenario.workload;
  Capacity c;
  c.usable = machine.memory_capacity * scenario.deployment.memory_utilization;
  c.batch = scenario.deployment.PerReplica(w.batch_size);
  c.activations = ActivationBytes(scenario, shard);
  const double context =
      w.keeps_kv_cache() ? static_cast<double>(w.prompt_tokens) + w.output_tokens + DraftTokens(scenario) : 0;
  AddModel(shard, context, c);
  if (scenario.speculation) {
    AddModel(MakeShard(*scenario.speculation->draft, DraftDeployment(scenario)), context, c);
  }
  BatchBytes bytes = c.activations;
  bytes.per_sequence += c.kv_per_sequence;
  c.largest_batch = LargestBatch(bytes, c.usable - c.weights);
  return c;
}

absl::Status OutOfMemory(const Scenario& scenario, const Capacity& capacity, const Machine& machine) {
  const Deployment& deployment = scenario.deployment;
  const int batch = scenario.workload.batch_size;
  const Bytes activations = capacity.activations(capacity.batch);
  const Bytes kv = capacity.batch * capacity.kv_per_sequence;
  const Bytes needed = capacity.weights + activations + kv;
  const double largest = capacity.largest_batch * deployment.data_parallel;
  const int tp = SmallestTensorParallel(scenario, machine);
  const std::string message = absl::StrFormat(
      "%s on %s: batch_size %d needs %s per device (weights %s, activations %s, KV cache %s); there are %s of %s "
      "usable; "
      "largest batch_size that fits at tensor_parallel %d: %.0f; smallest tensor_parallel that fits this batch: %s",
      scenario.model->id, scenario.hardware->id, batch, InGigabytes(needed), InGigabytes(capacity.weights),
      InGigabytes(activations), InGigabytes(kv), InGigabytes(capacity.usable), InGigabytes(machine.memory_capacity),
      deployment.tensor_parallel, largest,
      tp > 0 ? absl::StrCat(tp) : absl::StrCat("none up to ", kLargestTensorParallel));
  const std::string description =
      absl::StrFormat("batch_size %d needs %.0f bytes per device; usable %.0f; allowed %s", batch, needed.value(),
                      capacity.usable.value(), largest > 0 ? absl::StrCat("1 to ", largest) : "none");
  return RefusalWithDetail(message,
                           {.reason = Reason::kOutOfMemory, .violations = {{"workload.batch_size", description}}});
}

}  // namespace foretoken

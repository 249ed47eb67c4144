#include "estimator/usage.h"

#include <algorithm>
#include <cmath>

#include "estimator/attention.h"
#include "estimator/memory.h"

namespace foretoken {
namespace {

// What one step of decoding sequences reads on one device.
struct Reads {
  Bytes weights;
  Bytes kv;
};

// Weights of one decode step: of the experts only the distinct ones, of the embedding none.
Bytes WeightsRead(const StepModel& model, const StepShape& shape) {
  Bytes weights;
  for (const OperatorCost& cost : StepOperators(model, shape)) {
    if (cost.n <= 0) continue;
    weights += cost.bytes - cost.count * cost.rows * (cost.n + cost.k) * model.shard.activation;
  }
  return weights / model.shard.stages;
}

// Steps whose mean is taken: those that see prompt + 1 to prompt + count tokens.
struct Steps {
  double prompt = 0;
  double count = 1;
};

// Tokens of a layer that each sequence sees on average.
double MeanSeen(const AttentionGroup& group, const Steps& steps) {
  return CausalPairs(group, steps.count, steps.prompt) / steps.count;
}

// Each of the crew is fed `tokens`.
Reads StepReads(const StepModel& model, const Crew& crew, const Steps& steps, double tokens = 1) {
  Reads reads{
      .weights = WeightsRead(
          model, {.decode_sequences = crew.running, .decode_tokens = tokens, .logits_rows = crew.running * tokens})};
  const Steps of_others{.prompt = crew.others_context, .count = std::max(1.0, crew.share * steps.count)};
  for (const AttentionGroup& group : model.shard.attention) {
    const double seen = crew.read * MeanSeen(group, steps) + crew.others * MeanSeen(group, of_others);
    reads.kv += seen * DecodeAttention(model, group, 1, 1).bytes / model.shard.stages;
  }
  return reads;
}

// The same of a round, per token that it yields.
Reads RoundReads(const Replica& replica, const Crew& crew, const Steps& steps) {
  const Speculator& s = *replica.speculator;
  const Reads verify = StepReads(replica.model, crew, steps, s.draft_tokens + 1);
  const Reads draft = StepReads(s.draft, crew, steps);
  return {.weights = (verify.weights + s.draft_tokens * draft.weights) / s.accepted,
          .kv = (verify.kv + s.draft_tokens * draft.kv) / s.accepted};
}

std::vector<Crew> CrewsOf(const Served& served) {
  if (!served.crews.empty()) return served.crews;
  return {{.running = served.running, .read = served.read}};
}

Flops PrefillFlops(const StepModel& model, const StepShape& shape) {
  Flops flops;
  for (const OperatorCost& cost : StepOperators(model, shape)) flops += cost.flops;
  return flops / model.shard.stages;
}

// Batch at which decode turns compute-bound at the mean context. Of experts a larger batch reads more, so that a
// mixture of them has no one such batch, nor has a round of two models.
std::optional<double> BalancedBatch(const Scenario& scenario, const StepModel& model, Bytes kv_per_token) {
  if (scenario.model->mixture_of_experts || scenario.speculation) return std::nullopt;
  const Workload& w = scenario.workload;
  return ComputeBoundBatch(DecodeBalance{.parameters = CountParameters(*scenario.model).Total(),
                                         .per_weight = model.shard.weight,
                                         .context = w.prompt_tokens + w.output_tokens / 2.0,
                                         .kv_per_token = kv_per_token,
                                         .peak = model.machine.matrix_peak,
                                         .bandwidth = model.machine.memory_peak});
}

}  // namespace

MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double sequences) {
  const Deployment& d = scenario.deployment;
  const Bytes kv = sequences * capacity.kv_per_sequence;
  const Bytes activations = StepActivations(scenario, model.shard, sequences);
  const Bytes beside = capacity.usable - capacity.weights - activations;
  Bytes kv_per_token = KvBytesPerToken(*scenario.model, d.kv_cache_dtype);
  if (scenario.speculation) {
    kv_per_token += KvBytesPerToken(*scenario.speculation->draft, scenario.speculation->deployment.kv_cache_dtype);
  }
  return {.weights = capacity.weights,
          .kv_cache = kv,
          .activations = activations,
          .free = std::max(Bytes(0), beside - kv),
          .largest_batch = capacity.largest_batch * d.data_parallel,
          .kv_tokens_capacity = std::max(0.0, std::floor(beside / capacity.kv_per_token)),
          .kv_per_token = kv_per_token,
          .compute_bound_batch = BalancedBatch(scenario, model, kv_per_token)};
}

double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot) {
  const Workload& w = replica.scenario.workload;
  const Steps steps{.prompt = std::max(1.0 * w.prompt_tokens, 1.0), .count = std::max(1.0, w.output_tokens - 1.0)};
  Reads mean;
  for (const Crew& crew : CrewsOf(served)) {
    if (!(crew.share > 0)) continue;
    const Reads reads =
        replica.speculator != nullptr ? RoundReads(replica, crew, steps) : StepReads(replica.model, crew, steps);
    mean.weights += crew.share * reads.weights;
    mean.kv += crew.share * reads.kv;
  }
  if (w.kv_cache_mode == KvCacheMode::kNone) mean.kv = Bytes(0);
  return ModelBandwidthUtilization(mean.weights, mean.kv, tpot, replica.model.machine.memory_peak);
}

std::optional<double> PrefillUtilization(const Replica& replica, const Served& served) {
  const Workload& w = replica.scenario.workload;
  if (w.prompt_tokens == 0 || !(served.prefill_work.value() > 0)) return std::nullopt;
  const StepShape shape{.prefill_sequences = served.prefilled,
                        .prefill_tokens = static_cast<double>(w.prompt_tokens - w.cached_prefix_tokens),
                        .prefill_prior = static_cast<double>(w.cached_prefix_tokens),
                        .logits_rows = served.prefilled};
  const StepModel& model = replica.prefill_side != nullptr ? replica.prefill_side->model : replica.model;
  Flops flops = PrefillFlops(model, shape);
  if (replica.speculator != nullptr) flops += PrefillFlops(replica.speculator->draft, shape);
  return flops / served.prefill_work / model.machine.matrix_peak;
}

}  // namespace foretoken

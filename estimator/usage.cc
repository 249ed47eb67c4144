#include "estimator/usage.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// What one step of decoding sequences reads on one device.
struct Reads {
  Bytes weights;
  Bytes kv;
};

// Each of the crew is fed `tokens`.
Reads StepReads(const StepModel& model, const Crew& crew, const Steps& steps, double tokens = 1) {
  Reads reads{.weights = WeightsRead(model, crew.running, tokens)};
  const Steps of_others{.prompt = crew.others_context, .count = std::max(1.0, crew.share * steps.count)};
  for (const AttentionGroup& group : model.shard.attention) {
    double seen = crew.read * MeanSeen(group, steps);
    if (crew.others > 0) seen += crew.others * MeanSeen(group, of_others);
    reads.kv += KvReadOf(model, group, seen);
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

Reads ReadsOf(const Replica& replica, const Crew& crew, const Steps& steps) {
  return replica.speculator != nullptr ? RoundReads(replica, crew, steps) : StepReads(replica.model, crew, steps);
}

// The mean over those that decode together while the request does.
Reads MeanReads(const Replica& replica, const Served& served, const Steps& steps) {
  if (served.crews.empty()) return ReadsOf(replica, {.running = served.running, .read = served.read}, steps);
  Reads mean;
  for (const Crew& crew : served.crews) {
    if (!(crew.share > 0)) continue;
    const Reads reads = ReadsOf(replica, crew, steps);
    mean.weights += crew.share * reads.weights;
    mean.kv += crew.share * reads.kv;
  }
  return mean;
}

}  // namespace

std::optional<double> BalancedBatch(const Scenario& scenario, DecodeBalance step) {
  if (scenario.model->mixture_of_experts || scenario.speculation) return std::nullopt;
  if (scenario.workload.kv_cache_mode == KvCacheMode::kNone) return std::nullopt;  // a step is a prefill
  step.context = scenario.workload.mean_context();
  return ComputeBoundBatch(step);
}

// Of the experts only the distinct ones, of the embedding none.
Bytes WeightsRead(const StepModel& model, double running, double tokens) {
  return StepWeights(model, {.decode_sequences = running, .decode_tokens = tokens, .logits_rows = running * tokens}) /
         model.shard.stages;
}

MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, double held,
                   double running) {
  const Deployment& d = scenario.deployment;
  const Bytes kv = held * capacity.kv_per_sequence;
  const Bytes activations = capacity.activations(running);
  const Bytes beside = RoomForKv(capacity, activations);
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
          .compute_bound_batch = BalancedBatch(scenario, {.parameters = model.shard.parameters,
                                                          .per_weight = model.shard.weight,
                                                          .kv_per_token = kv_per_token,
                                                          .peak = model.machine.matrix_peak,
                                                          .bandwidth = model.machine.memory_peak})};
}

double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot) {
  const Workload& w = replica.scenario.workload;
  Reads mean = MeanReads(replica, served, DecodeSteps(w.prompt_tokens, w.output_tokens));
  if (w.kv_cache_mode == KvCacheMode::kNone) mean.kv = Bytes(0);
  return ModelBandwidthUtilization(mean.weights, mean.kv, tpot, replica.model.machine.memory_peak);
}

std::optional<double> PrefillUtilization(const Replica& replica, const Served& served) {
  const Workload& w = replica.scenario.workload;
  if (w.prompt_tokens == 0 || !(served.prefill_work.Total().value() > 0)) return std::nullopt;
  const StepShape shape{.prefill_sequences = served.prefilled,
                        .prefill_tokens = static_cast<double>(w.fresh_tokens()),
                        .prefill_prior = static_cast<double>(w.cached_prefix_tokens),
                        .logits_rows = served.prefilled};
  const StepModel& model = replica.prefill_side != nullptr ? replica.prefill_side->model : replica.model;
  Flops flops = StepFlops(model, shape) / model.shard.stages;
  if (replica.speculator != nullptr) {
    const StepModel& draft = replica.speculator->draft;
    flops += StepFlops(draft, shape) / draft.shard.stages;
  }
  return flops / served.prefill_work.Total() / model.machine.matrix_peak;
}

}  // namespace foretoken

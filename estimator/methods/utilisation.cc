#include "estimator/methods/utilisation.h"

#include <algorithm>

#include "estimator/phases/memory_use.h"
#include "estimator/step/machine.h"

namespace foretoken {
namespace {

// Bytes that one decode step reads on one device.
struct Reads {
  Bytes weights;
  Bytes kv;
};

// Each sequence of the batch is fed `tokens`.
Reads StepReads(const StepModel& model, const RunningBatch& batch, const Steps& steps, double tokens = 1) {
  Reads reads{.weights = WeightsRead(model, batch.running, tokens)};
  const Steps of_others{.prompt = batch.others_context, .count = std::max(1.0, batch.share * steps.count)};
  const auto add = [&](const AttentionGroup& group) {
    double seen = batch.read * MeanSeen(group, steps);
    if (batch.others > 0) seen += batch.others * MeanSeen(group, of_others);
    reads.kv += KvReadOf(model, group, seen);
  };
  for (const AttentionGroup& group : model.shard.attention) add(group);
  if (model.shard.indexer) add(IndexKeys(model.shard));
  reads.kv += StateRead(model, batch.read + batch.others);
  return reads;
}

// The same for a speculative step, per token that it yields. The draft model runs the microbatches of the model: over
// another number of stages, a device of it reads for as many more or fewer sequences.
Reads RoundReads(const Replica& replica, const RunningBatch& batch, const Steps& steps) {
  const Speculator& s = *replica.speculator;
  const Reads verify = StepReads(replica.model, batch, steps, s.draft_tokens + 1);
  RunningBatch drafted = batch;
  drafted.running *= s.draft.shard.stages / replica.model.shard.stages;
  drafted.read *= s.draft.shard.stages / replica.model.shard.stages;
  const Reads draft = StepReads(s.draft, drafted, steps);
  return {.weights = (verify.weights + s.draft_tokens * draft.weights) / s.accepted,
          .kv = (verify.kv + s.draft_tokens * draft.kv) / s.accepted};
}

Reads ReadsOf(const Replica& replica, const RunningBatch& batch, const Steps& steps) {
  return replica.speculator != nullptr ? RoundReads(replica, batch, steps) : StepReads(replica.model, batch, steps);
}

// The mean over the running batches while the request decodes.
Reads MeanReads(const Replica& replica, const Served& served, const Steps& steps) {
  if (served.running_batches.empty()) return ReadsOf(replica, {.running = served.running, .read = served.read}, steps);
  Reads mean;
  for (const RunningBatch& batch : served.running_batches) {
    if (!(batch.share > 0)) continue;
    const Reads reads = ReadsOf(replica, batch, steps);
    mean.weights += batch.share * reads.weights;
    mean.kv += batch.share * reads.kv;
  }
  return mean;
}

// The highest peak that a prefill computes at: attention and the LM head may run in a wider dtype than the other
// matrix products, and on some devices that is the faster one. An indexer runs in 8 bits.
FlopsPerSecond HighestPeak(const Hardware& hardware, const Placement& placement, const StepModel& model) {
  const Dtype activation = placement.activation_dtype;
  const Dtype dtype = ComputeDtype(Dtype::kBf16, activation);
  FlopsPerSecond peak = std::max(model.machine.matrix_peak, model.machine.expert_peak);
  if (model.shard.indexer) {
    const absl::StatusOr<Peak> narrow = PeakFor(hardware, Dtype::kFp8, nullptr);
    if (narrow.ok()) peak = std::max(peak, narrow->rate);
  }
  if (dtype == ComputeDtype(placement.weight_dtype, activation)) return peak;
  const absl::StatusOr<Peak> wide = PeakFor(hardware, dtype, nullptr);
  return wide.ok() ? std::max(peak, wide->rate) : peak;
}

}  // namespace

double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot) {
  const Workload& w = replica.scenario.workload;
  // The steps of the batch that runs: where lengths differ, a smaller batch than the full one has a shorter longest.
  Reads mean = MeanReads(replica, served, DecodeSteps(w.prompt_tokens, served.decode_steps + 1));
  if (!w.keeps_kv_cache()) mean.kv = Bytes(0);
  return ModelBandwidthUtilization(mean.weights, mean.kv, tpot, replica.model.machine.memory_peak);
}

std::optional<double> PrefillUtilization(const Replica& replica, const Served& served) {
  const Workload& w = replica.scenario.workload;
  if (w.prompt_tokens == 0 || !(served.prefill_work.Total().value() > 0)) return std::nullopt;
  const StepShape shape{.prefill_sequences = served.prefilled,
                        .prefill_tokens = static_cast<double>(w.fresh_tokens()),
                        .prefill_prior = static_cast<double>(w.cached_prefix_tokens),
                        .logits_rows = served.prefilled};
  const StepModel& model = replica.prefill_pool != nullptr ? replica.prefill_pool->model : replica.model;
  const Scenario& on = replica.prefill_pool != nullptr ? replica.prefill_pool->scenario : replica.scenario;
  FlopsPerSecond peak = HighestPeak(*on.hardware, on.deployment, model);
  Flops flops = StepFlops(model, shape) / model.shard.stages;
  if (replica.speculator != nullptr) {
    const StepModel& draft = replica.speculator->draft;
    flops += StepFlops(draft, shape) / draft.shard.stages;
    peak = std::max(peak, HighestPeak(*on.hardware, on.speculation->deployment, draft));
  }
  return flops / served.prefill_work.Total() / peak;
}

}  // namespace foretoken

#include "estimator/operator_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/capacity.h"
#include "estimator/errors.h"
#include "estimator/explain.h"
#include "estimator/memory.h"
#include "estimator/phases.h"
#include "estimator/prefill.h"
#include "estimator/slo.h"

namespace foretoken {
namespace {

// A batch as it runs: `waves` equal ones of `sequences` per replica, one after the other.
struct Waves {
  double count = 1;
  double sequences = 1;
};

absl::Status CheckCovered(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  if (!scenario.model->unsupported_reason.empty()) {
    return Refusal(Reason::kUnsupportedModel, "model",
                   absl::StrCat("model ", scenario.model->id,
                                " is listed but not supported: ", scenario.model->unsupported_reason));
  }
  const auto refuse = [](const char* field, const char* what) {
    return Refusal(Reason::kNotModelled, field,
                   absl::StrCat("the operator model does not cover ", what, " yet; allowed: a static batch"));
  };
  if (scenario.live_load && !IsIdle(*scenario.live_load)) return refuse("live_load", "a live load");
  if (w.batching != BatchingPolicy::kStatic)
    return refuse("workload.batching_policy", "dynamic or continuous batching");
  if (w.request_rate_per_second) return refuse("workload.request_rate_per_second", "an arrival rate");
  if (w.output_lengths) return refuse("workload.output_length_distribution", "output lengths that differ");
  return absl::OkStatus();
}

absl::StatusOr<Waves> PlanWaves(const Scenario& scenario, const Capacity& capacity, const Machine& machine,
                                std::vector<Warning>& warnings) {
  if (capacity.Fits()) return Waves{.sequences = capacity.batch};
  const bool may_wave = scenario.workload.capacity_policy == CapacityPolicy::kWaves && capacity.largest_batch >= 1;
  if (!may_wave) return OutOfMemory(scenario, capacity, machine);
  const double count = std::ceil(capacity.batch / capacity.largest_batch);
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat("batch_size ", scenario.workload.batch_size, " does not fit at once; ",
                                   capacity.largest_batch, " per replica do, so it runs in ", count, " waves"),
                      "workload.batch_size"});
  return Waves{.count = count, .sequences = std::ceil(capacity.batch / count)};
}

void WarnOfScenario(const Scenario& scenario, const Shard& shard, std::vector<Warning>& warnings) {
  const Workload& w = scenario.workload;
  const double context = static_cast<double>(w.prompt_tokens) + w.output_tokens;
  const auto longest = scenario.model->max_position_embeddings;
  if (longest && context > *longest) {
    warnings.push_back(
        {WarningCode::kContextTooLong,
         absl::StrCat("context of ", context, " tokens; ", scenario.model->id, " was made for ", *longest),
         "workload.prompt_tokens"});
  }
  if (shard.heads_padded) {
    warnings.push_back({WarningCode::kHeadsPadded,
                        absl::StrCat(scenario.model->num_attention_heads, " heads do not divide by tensor_parallel ",
                                     shard.tensor_parallel, "; padded to ", shard.heads, " per device"),
                        "deployment.tensor_parallel"});
  }
}

// Weights that one decode step reads on one device: of the experts only the distinct ones, of the embedding none.
Bytes WeightsRead(const StepModel& model, double sequences) {
  Bytes weights;
  for (const OperatorCost& cost : StepOperators(model, {.decode_sequences = sequences, .logits_rows = sequences})) {
    if (cost.n <= 0) continue;
    weights += cost.bytes - cost.count * cost.rows * (cost.n + cost.k) * model.shard.activation;
  }
  return weights / model.shard.stages;
}

// Bytes of KV that the decode reads per step and device, at the mean context.
Bytes KvRead(const StepModel& model, double sequences, double context) {
  Bytes bytes;
  for (const AttentionGroup& group : model.shard.attention) {
    bytes += DecodeAttention(model, group, sequences, context).bytes;
  }
  return bytes / model.shard.stages;
}

// Batch at which decode turns compute-bound at the mean context. Of experts a larger batch reads more, so that a
// mixture of them has no one such batch.
std::optional<double> BalancedBatch(const Scenario& scenario, const StepModel& model, Bytes kv_per_token) {
  if (scenario.model->mixture_of_experts) return std::nullopt;
  const Workload& w = scenario.workload;
  return ComputeBoundBatch(DecodeBalance{.parameters = CountParameters(*scenario.model).Total(),
                                         .per_weight = model.shard.weight,
                                         .context = w.prompt_tokens + w.output_tokens / 2.0,
                                         .kv_per_token = kv_per_token,
                                         .peak = model.machine.matrix_peak,
                                         .bandwidth = model.machine.memory_peak});
}

MemoryUse MemoryOf(const Scenario& scenario, const StepModel& model, const Capacity& capacity, const Waves& waves) {
  const Deployment& d = scenario.deployment;
  const Bytes kv = waves.sequences * capacity.kv_per_sequence;
  const Bytes beside = capacity.usable - capacity.weights - capacity.activations;
  const Bytes kv_per_token = KvBytesPerToken(*scenario.model, d.kv_cache_dtype);
  return {.weights = capacity.weights,
          .kv_cache = kv,
          .activations = capacity.activations,
          .free = std::max(Bytes(0), beside - kv),
          .largest_batch = capacity.largest_batch * d.data_parallel,
          .kv_tokens_capacity = std::max(0.0, std::floor(beside / capacity.kv_per_token)),
          .kv_per_token = kv_per_token,
          .compute_bound_batch = BalancedBatch(scenario, model, kv_per_token)};
}

Phase MakePhase(const TimeParts& parts, Provenance provenance) {
  return {.time = parts.Total(), .parts = parts, .bound = parts.LargestPart(), .provenance = provenance};
}

// FLOPs of the whole prefill on one device over what its matrix units could do in that time.
std::optional<double> PrefillUtilization(const StepModel& model, const Workload& w, double sequences, Seconds time) {
  if (w.prompt_tokens == 0 || !(time.value() > 0)) return std::nullopt;
  const StepShape shape{.prefill_sequences = sequences,
                        .prefill_tokens = static_cast<double>(w.prompt_tokens - w.cached_prefix_tokens),
                        .prefill_prior = static_cast<double>(w.cached_prefix_tokens),
                        .logits_rows = sequences};
  Flops flops;
  for (const OperatorCost& cost : StepOperators(model, shape)) flops += cost.flops;
  return flops / model.shard.stages / time / model.machine.matrix_peak;
}

// Times, throughput and utilisations of a static batch.
void FillTimes(const Scenario& scenario, const StepModel& model, const Waves& waves, Provenance provenance,
               Estimate& estimate) {
  const Workload& w = scenario.workload;
  TimeParts prefill = PrefillPhase(model, w, scenario.deployment, waves.sequences);
  estimate.mfu = PrefillUtilization(model, w, waves.sequences, prefill.Total());
  const DecodePhase decode(model, w, waves.sequences);
  const double steps = w.output_tokens - 1;
  const TimeParts all_steps = decode.Sum(steps);
  // A request of the last wave waits for the waves before.
  prefill.queueing += (waves.count - 1) * (prefill.Total() + all_steps.Total());
  estimate.prefill = MakePhase(prefill, provenance);
  estimate.decode = MakePhase(all_steps, provenance);
  estimate.decode_steps = steps;
  estimate.tpot_is_next_step = steps < 1;
  estimate.ttft.time = prefill.Total();
  const TimeParts next = decode.Step(1);
  if (estimate.tpot_is_next_step) estimate.decode.bound = next.LargestPart();
  estimate.tpot.time = estimate.tpot_is_next_step ? next.Total() : all_steps.Total() / steps;
  estimate.e2e.time = prefill.Total() + all_steps.Total();
  const double requests = w.batch_size / estimate.e2e.time.value();
  estimate.throughput = {.output_tokens_per_second = requests * w.output_tokens,
                         .output_tokens_per_second_per_device = requests * w.output_tokens / estimate.devices,
                         .output_tokens_per_second_per_user = 1 / estimate.tpot.time.value(),
                         .requests_per_second = requests};
  const double context = std::max(1, w.prompt_tokens) + std::max(1.0, (steps + 1) / 2);
  const Bytes kv = w.kv_cache_mode == KvCacheMode::kNone ? Bytes(0) : KvRead(model, waves.sequences, context);
  estimate.mbu =
      ModelBandwidthUtilization(WeightsRead(model, waves.sequences), kv, estimate.tpot.time, model.machine.memory_peak);
}

void FillDetail(const Scenario& scenario, const StepModel& model, const Waves& waves, const Detail& detail,
                Estimate& estimate) {
  const Workload& w = scenario.workload;
  const double steps = estimate.decode_steps;
  if (detail.operators) {
    const double fresh = w.prompt_tokens - w.cached_prefix_tokens;
    const double chunk =
        std::min<double>(fresh, scenario.deployment.prefill_chunk_tokens.value_or(std::numeric_limits<int>::max()));
    if (fresh > 0) {
      estimate.prefill_operators = ExplainStep(model, {.prefill_sequences = waves.sequences,
                                                       .prefill_tokens = chunk,
                                                       .prefill_prior = w.prompt_tokens - chunk,
                                                       .logits_rows = waves.sequences});
    }
    estimate.decode_operators = ExplainStep(model, {.decode_sequences = std::ceil(waves.sequences / model.shard.stages),
                                                    .decode_context = w.prompt_tokens + std::max(1.0, (steps + 1) / 2),
                                                    .logits_rows = std::ceil(waves.sequences / model.shard.stages)});
  }
  if (detail.token_latencies) {
    const DecodePhase decode(model, w, waves.sequences);
    estimate.token_latencies.push_back(estimate.ttft.time);
    for (double j = 1; j <= steps; ++j) estimate.token_latencies.push_back(decode.Step(j).Total());
  }
}

}  // namespace

absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings) {
  absl::StatusOr<Machine> machine = MakeMachine(*scenario.hardware, scenario.deployment, efficiencies, warnings);
  if (!machine.ok()) return machine.status();
  const Deployment& d = scenario.deployment;
  const bool floor = efficiencies.speed_of_light;
  return StepModel{.shard = MakeShard(*scenario.model, d),
                   .machine = *machine,
                   .efficiencies = efficiencies,
                   .roofline_exponent = floor ? std::numeric_limits<double>::infinity() : d.roofline_exponent,
                   .attention_kernel = floor ? AttentionKernel::kFlash : d.attention_kernel,
                   .unfused_elementwise = !floor && d.unfused_elementwise,
                   .expert_routing = scenario.workload.expert_routing};
}

absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail) {
  if (absl::Status covered = CheckCovered(scenario); !covered.ok()) return covered;
  Estimate estimate;
  const absl::StatusOr<StepModel> model = MakeStepModel(scenario, efficiencies, &estimate.warnings);
  if (!model.ok()) return model.status();
  const Capacity capacity = MeasureCapacity(scenario, model->shard, model->machine);
  const absl::StatusOr<Waves> waves = PlanWaves(scenario, capacity, model->machine, estimate.warnings);
  if (!waves.ok()) return waves.status();
  WarnOfScenario(scenario, model->shard, estimate.warnings);
  estimate.method = efficiencies.speed_of_light ? Method::kSpeedOfLight : Method::kOperatorModel;
  estimate.devices = scenario.deployment.devices();
  estimate.waves = static_cast<int>(waves->count);
  estimate.memory = MemoryOf(scenario, *model, capacity, *waves);
  FillTimes(scenario, *model, *waves, provenance, estimate);
  FillDetail(scenario, *model, *waves, detail, estimate);
  return estimate;
}

}  // namespace foretoken

// From a scenario to the quantities of the KPI method, and back to an estimate.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/methods/kpi.h"
#include "estimator/methods/reference_scope.h"
#include "estimator/scenario/memory.h"
#include "estimator/step/machine.h"

namespace foretoken {
namespace {

constexpr Scope kScope = Scope::kKpi;

absl::Status CheckScope(const Scenario& scenario) {
  if (absl::Status status = CheckReferenceScope(scenario, kScope); !status.ok()) return status;
  if (scenario.workload.prefills_on_arrival() && !scenario.workload.prompt_arrival_tokens_per_second) {
    return Refusal(Reason::kInvalidField, "workload.prompt_arrival_tokens_per_second",
                   "prompt_arrival_tokens_per_second is absent; the pipelined prompt cache needs it");
  }
  return absl::OkStatus();
}

KpiLoad LoadOf(const Scenario& scenario) {
  const Model& model = *scenario.model;
  const Workload& w = scenario.workload;
  double context = w.keeps_kv_cache() ? static_cast<double>(w.prompt_tokens) + w.output_tokens : 0;
  if (model.max_position_embeddings) context = std::min<double>(context, *model.max_position_embeddings);
  const double parameters = CountParameters(model).Active();
  const Dtype kv_dtype = scenario.deployment.kv_cache_dtype;
  const Bytes state = w.keeps_kv_cache() ? StateBytesPerSequence(model, kv_dtype) : Bytes(0);
  return {.parameters = parameters,
          .weights = parameters * BytesPerElement(scenario.deployment.weight_dtype),
          .kv_bytes = context * KvBytesPerToken(model, kv_dtype) + state,
          .kv_elements = context * KvElementsPerToken(model),
          .write_back = w.kv_cache_written_back ? CacheWriteBack::kWholeCache : CacheWriteBack::kRingBuffer};
}

absl::StatusOr<KpiMachine> MachineOf(const Scenario& scenario, std::vector<Warning>& warnings) {
  const Hardware& hardware = *scenario.hardware;
  const Dtype dtype = ComputeDtype(scenario.deployment.weight_dtype, scenario.deployment.activation_dtype);
  const absl::StatusOr<Peak> peak = PeakFor(hardware, dtype, &warnings);
  if (!peak.ok()) return peak.status();
  if (!hardware.memory_bandwidth) {
    return MissingFigure(hardware, "memory_bandwidth_bytes_per_second", "every estimate");
  }
  KpiMachine machine{.bandwidth = *hardware.memory_bandwidth,
                     .peak = peak->rate,
                     .compute_utilization = scenario.workload.compute_utilization,
                     .parallel_tokens = static_cast<double>(scenario.workload.parallel_prompt_tokens)};
  if (hardware.peak_to_average_bandwidth) machine.peak_to_average_bandwidth = *hardware.peak_to_average_bandwidth;
  return machine;
}

// Tokens to prefill: what is not cached.
double FreshTokens(const Workload& w) { return w.keeps_kv_cache() ? w.fresh_tokens() : w.prompt_tokens; }

// The part of a prefill of the fresh tokens at `rate` that remains when the last of them has arrived.
Seconds PrefillTime(const Scenario& scenario, double rate) {
  const Workload& w = scenario.workload;
  const double tokens = FreshTokens(w);
  if (!w.prefills_on_arrival() || tokens == 0) return Seconds(tokens / rate);
  const double chunk = std::min<double>(scenario.deployment.prefill_chunk_tokens.value_or(w.prompt_tokens), tokens);
  return ExposedPrefill(tokens, chunk, rate, *w.prompt_arrival_tokens_per_second);
}

// The time to load the cached prefix over its link, if it is not resident.
Seconds PrefixLoad(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  if (!w.keeps_kv_cache() || !w.prefix_load) return Seconds(0);
  return w.cached_prefix_tokens * KvBytesPerToken(*scenario.model, scenario.deployment.kv_cache_dtype) / *w.prefix_load;
}

TimeParts PrefillParts(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine) {
  const Workload& w = scenario.workload;
  if (w.prompt_tokens == 0) return {};
  if (!w.keeps_kv_cache()) return RecomputeStep(load, machine, w.prompt_tokens);
  const KpiRates rates = RatesOf(load, machine);
  const Seconds time = PrefillTime(scenario, rates.prompt);
  const Seconds compute = time * (rates.prompt / rates.compute);
  return {.compute = compute, .memory = time - compute, .communication = PrefixLoad(scenario)};
}

TimeParts DecodeParts(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine) {
  const Workload& w = scenario.workload;
  if (!w.keeps_kv_cache()) return RecomputeTotal(load, machine, w.prompt_tokens, w.output_tokens);
  return {.memory = w.output_tokens * BytesPerOutputToken(load) / machine.AverageBandwidth()};
}

void FillTimes(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine, Estimate& estimate) {
  FillPhase(PrefillParts(scenario, load, machine), Provenance::kDatasheet, estimate.prefill);
  FillPhase(DecodeParts(scenario, load, machine), Provenance::kDatasheet, estimate.decode);
  estimate.decode_steps = scenario.workload.output_tokens;
  estimate.ttft.time = estimate.prefill.time;
  estimate.tpot.time = estimate.decode.time / estimate.decode_steps;
  estimate.e2e.time = estimate.prefill.time + estimate.decode.time;
}

// The compute-limited TTFT, and the specs that the SLO requires of the machine.
KpiMetrics FiguresOf(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine) {
  const Workload& w = scenario.workload;
  const Seconds loaded = PrefixLoad(scenario);
  KpiMetrics figures{.compute_limited_ttft = PrefillTime(scenario, RatesOf(load, machine).compute) + loaded};
  if (!scenario.slo || !w.keeps_kv_cache()) return figures;
  const std::optional<Seconds>& max_ttft = scenario.slo->max_ttft;
  const std::optional<Seconds>& max_tpot = scenario.slo->max_tpot;
  if (max_tpot) figures.bandwidth_for_tpot = BandwidthFor(load, machine, 1 / max_tpot->value());
  if (max_ttft && !w.prefills_on_arrival() && *max_ttft > loaded && FreshTokens(w) > 0) {
    figures.peak_for_ttft = PeakRateFor(load, machine, FreshTokens(w) / (*max_ttft - loaded).value());
  }
  return figures;
}

void FillRates(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine, Estimate& estimate) {
  estimate.throughput = StaticThroughput(scenario, estimate.tpot.time, estimate.e2e.time);
  estimate.mbu = ModelBandwidthUtilization(load.weights, load.kv_bytes, estimate.tpot.time, machine.bandwidth);
  const double tokens = FreshTokens(scenario.workload);
  if (tokens > 0 && !scenario.workload.prefills_on_arrival()) {  // pipelined, most of the work is not in TTFT
    estimate.mfu = tokens * OpsPerPromptToken(load) / estimate.ttft.time / machine.peak;
  }
}

std::vector<Seconds> TokenLatencies(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine,
                                    const Estimate& estimate) {
  const Workload& w = scenario.workload;
  std::vector<Seconds> latencies = {estimate.ttft.time};
  latencies.reserve(static_cast<size_t>(w.output_tokens) + 1);
  for (int i = 0; i < w.output_tokens; ++i) {
    const double tokens = static_cast<double>(w.prompt_tokens) + i;
    latencies.push_back(w.keeps_kv_cache() ? estimate.tpot.time : RecomputeStep(load, machine, tokens).Total());
  }
  return latencies;
}

void AddWarnings(const Scenario& scenario, std::vector<Warning>& warnings) {
  WarnOfIgnored(scenario, kScope, FeatureGroup::kInputs, warnings);
  WarnOfContext(*scenario.model, scenario.workload, warnings);
  WarnOfIgnored(scenario, kScope, FeatureGroup::kAssumptions, warnings);
}

}  // namespace

absl::StatusOr<Estimate> EstimateKpi(const Scenario& scenario, const Detail& detail) {
  if (absl::Status status = CheckScope(scenario); !status.ok()) return status;
  Estimate estimate{.method = Method::kKpi};
  const absl::StatusOr<KpiMachine> machine = MachineOf(scenario, estimate.warnings);
  if (!machine.ok()) return machine.status();
  const absl::StatusOr<std::optional<MemoryUse>> memory = ReferenceMemory(scenario, estimate.warnings);
  if (!memory.ok()) return memory.status();

  const KpiLoad load = LoadOf(scenario);
  FillTimes(scenario, load, *machine, estimate);
  FillRates(scenario, load, *machine, estimate);
  estimate.kpi = FiguresOf(scenario, load, *machine);
  estimate.memory = *memory;
  if (detail.token_latencies) estimate.token_latencies = TokenLatencies(scenario, load, *machine, estimate);
  AddWarnings(scenario, estimate.warnings);
  return estimate;
}

}  // namespace foretoken

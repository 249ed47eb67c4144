#include "estimator/kpi.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"
#include "estimator/machine.h"
#include "estimator/memory.h"
#include "estimator/quadrature.h"
#include "estimator/seed_scope.h"

namespace foretoken {
namespace {

constexpr std::string_view kMethod = "the KPI method";
constexpr double kPeakToAverage = 1.25;  // the source's figure [S2]

absl::Status CheckScope(const Scenario& scenario) {
  if (absl::Status status = CheckSeedScope(scenario, kMethod); !status.ok()) return status;
  if (scenario.deployment.devices() != 1) {
    return Refusal(Reason::kNotModelled, "deployment.tensor_parallel",
                   absl::StrCat("the KPI method describes one device; ", scenario.deployment.devices(), " asked"));
  }
  const Workload& w = scenario.workload;
  if (w.batch_size != 1) {
    return Refusal(Reason::kNotModelled, "workload.batch_size",
                   absl::StrCat("the KPI method describes one user; batch_size ", w.batch_size, " asked"));
  }
  if (w.kv_cache_mode == KvCacheMode::kPipelinedPromptCache && !w.prompt_arrival_tokens_per_second) {
    return Refusal(Reason::kInvalidField, "workload.prompt_arrival_tokens_per_second",
                   "prompt_arrival_tokens_per_second is absent; the pipelined prompt cache needs it");
  }
  return absl::OkStatus();
}

KpiLoad LoadOf(const Scenario& scenario) {
  const Model& model = *scenario.model;
  const Workload& w = scenario.workload;
  double context = static_cast<double>(w.prompt_tokens) + w.output_tokens;
  if (model.max_position_embeddings) context = std::min<double>(context, *model.max_position_embeddings);
  const double parameters = CountParameters(model).Active();
  return {.parameters = parameters,
          .weights = parameters * BytesPerElement(scenario.deployment.weight_dtype),
          .kv_bytes = context * KvBytesPerToken(model, scenario.deployment.kv_cache_dtype),
          .kv_elements = context * model.num_hidden_layers * KvElementsPerTokenAndLayer(model)};
}

absl::StatusOr<KpiMachine> MachineOf(const Scenario& scenario, std::vector<Warning>& warnings) {
  const Hardware& hardware = *scenario.hardware;
  const Dtype dtype = ComputeDtype(scenario.deployment.weight_dtype, scenario.deployment.activation_dtype);
  const absl::StatusOr<FlopsPerSecond> peak = PeakFor(hardware, dtype, &warnings);
  if (!peak.ok()) return peak.status();
  if (!hardware.memory_bandwidth) {
    return Refusal(Reason::kMissingFigure, "hardware_spec.memory_bandwidth_bytes_per_second",
                   absl::StrCat("hardware ", hardware.id,
                                " states no memory_bandwidth_bytes_per_second; needed for every estimate"));
  }
  return KpiMachine{.bandwidth = *hardware.memory_bandwidth,
                    .peak_to_average_bandwidth = hardware.peak_to_average_bandwidth.value_or(kPeakToAverage),
                    .peak = *peak,
                    .compute_utilization = scenario.workload.compute_utilization,
                    .parallel_tokens = static_cast<double>(scenario.workload.parallel_prompt_tokens)};
}

// Tokens to prefill: what is not cached.
double FreshTokens(const Workload& w) { return w.prompt_tokens - w.cached_prefix_tokens; }

Bytes PrefixBytes(const Scenario& scenario) {
  const Bytes per_token = KvBytesPerToken(*scenario.model, scenario.deployment.kv_cache_dtype);
  return scenario.workload.cached_prefix_tokens * per_token;
}

TimeParts PrefillParts(const Scenario& scenario, const KpiRates& rates) {
  const Workload& w = scenario.workload;
  const double tokens = FreshTokens(w);
  TimeParts parts{.compute = Seconds(tokens / rates.compute), .memory = Seconds(tokens / rates.memory)};
  if (w.kv_cache_mode == KvCacheMode::kPipelinedPromptCache && tokens > 0) {
    const double chunk = std::min<double>(scenario.deployment.prefill_chunk_tokens.value_or(w.prompt_tokens), tokens);
    const Seconds exposed = ExposedPrefill(tokens, chunk, rates.prompt, *w.prompt_arrival_tokens_per_second);
    parts = parts * (exposed / parts.Total());
  }
  if (w.prefix_load) parts.communication = PrefixBytes(scenario) / *w.prefix_load;
  return parts;
}

TimeParts DecodeParts(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine, double steps) {
  if (scenario.workload.kv_cache_mode != KvCacheMode::kNone) {
    return {.memory = steps / RatesOf(load, machine).out * Seconds(1)};
  }
  const double prompt = scenario.workload.prompt_tokens;
  const auto step = [&](double i) { return RecomputeStep(load, machine, prompt + i); };
  const double bound = std::clamp(RecomputeBoundTokens(load, machine) - prompt, 0.0, steps);
  const double split = static_cast<double>(static_cast<int64_t>(bound));  // memory-bound steps first, then compute
  return GaussSum(step, 0, split - 1) + GaussSum(step, split, steps - 1);
}

void FillRates(const Scenario& scenario, const KpiLoad& load, const KpiMachine& machine, Estimate& estimate) {
  const Seconds tpot = estimate.tpot.time;
  estimate.throughput = StaticThroughput(scenario, tpot, estimate.e2e.time);
  const bool keeps = scenario.workload.kv_cache_mode != KvCacheMode::kNone;
  estimate.mbu = ModelBandwidthUtilization(load.weights, keeps ? load.kv_bytes : Bytes(0), tpot, machine.bandwidth);
  const double tokens = FreshTokens(scenario.workload);
  if (tokens > 0 && scenario.workload.kv_cache_mode != KvCacheMode::kPipelinedPromptCache) {
    estimate.mfu = tokens * OpsPerPromptToken(load) / estimate.ttft.time / machine.peak;
  }
}

}  // namespace

Bytes BytesPerOutputToken(const KpiLoad& load) {
  const double passes = load.write_back == CacheWriteBack::kWholeCache ? 2 : 1;
  return load.weights + passes * load.kv_bytes;
}

Flops OpsPerPromptToken(const KpiLoad& load) { return Flops(2 * load.parameters + 2 * load.kv_elements); }

KpiRates RatesOf(const KpiLoad& load, const KpiMachine& machine) {
  KpiRates rates;
  rates.out = 1 / (BytesPerOutputToken(load) / machine.AverageBandwidth()).value();
  rates.compute = 1 / (OpsPerPromptToken(load) / machine.EffectiveRate()).value();
  rates.memory = machine.parallel_tokens * rates.out;
  rates.prompt = 1 / (1 / rates.compute + 1 / rates.memory);
  return rates;
}

BytesPerSecond BandwidthFor(const KpiLoad& load, const KpiMachine& machine, double tokens_per_second) {
  return BytesPerOutputToken(load) * machine.peak_to_average_bandwidth / Seconds(1 / tokens_per_second);
}

FlopsPerSecond PeakRateFor(const KpiLoad& load, const KpiMachine& machine, double tokens_per_second) {
  return OpsPerPromptToken(load) / machine.compute_utilization / Seconds(1 / tokens_per_second);
}

TimeParts RecomputeStep(const KpiLoad& load, const KpiMachine& machine, double tokens) {
  const Seconds compute = Flops(2 * load.parameters * tokens) / machine.EffectiveRate();
  const Seconds memory = load.weights / machine.AverageBandwidth();
  return compute >= memory ? TimeParts{.compute = compute} : TimeParts{.memory = memory};
}

double RecomputeBoundTokens(const KpiLoad& load, const KpiMachine& machine) {
  return (load.weights / machine.AverageBandwidth()) / (Flops(2 * load.parameters) / machine.EffectiveRate());
}

Seconds ExposedPrefill(double prompt, double chunk, double rate, double arrival) {
  return std::max(Seconds(chunk / rate), Seconds(prompt / rate - (prompt - chunk) / arrival));
}

Seconds ExposedPrefill(const std::vector<Seconds>& chunk_times, const std::vector<double>& last_token,
                       double arrival) {
  Seconds done;
  for (size_t j = 0; j < chunk_times.size(); ++j) {
    done = std::max(done, Seconds(last_token[j] / arrival)) + chunk_times[j];
  }
  return chunk_times.empty() ? done : done - Seconds(last_token.back() / arrival);
}

absl::StatusOr<Estimate> EstimateKpi(const Scenario& scenario, const Detail& detail) {
  if (absl::Status status = CheckScope(scenario); !status.ok()) return status;
  Estimate estimate{.method = Method::kKpi};
  const absl::StatusOr<KpiMachine> machine = MachineOf(scenario, estimate.warnings);
  if (!machine.ok()) return machine.status();
  const absl::StatusOr<std::optional<MemoryUse>> memory = SeedMemory(scenario, estimate.warnings);
  if (!memory.ok()) return memory.status();

  const KpiLoad load = LoadOf(scenario);
  const KpiRates rates = RatesOf(load, *machine);
  const double steps = scenario.workload.output_tokens;
  const TimeParts prefill = PrefillParts(scenario, rates);
  const TimeParts decode = DecodeParts(scenario, load, *machine, steps);
  const Provenance datasheet = Provenance::kDatasheet;
  estimate.ttft.time = prefill.Total();
  estimate.tpot.time = decode.Total() / steps;
  estimate.e2e.time = prefill.Total() + decode.Total();
  estimate.decode_steps = steps;
  estimate.prefill = {prefill.Total(), prefill, prefill.LargestPart(), datasheet};
  estimate.decode = {decode.Total(), decode, decode.LargestPart(), datasheet};
  estimate.compute_limited_ttft = Seconds(FreshTokens(scenario.workload) / rates.compute);
  estimate.memory = *memory;
  FillRates(scenario, load, *machine, estimate);
  if (detail.token_latencies) {
    estimate.token_latencies.push_back(estimate.ttft.time);
    for (double i = 0; i < steps; ++i) {
      const bool recomputes = scenario.workload.kv_cache_mode == KvCacheMode::kNone;
      const double tokens = scenario.workload.prompt_tokens + i;
      estimate.token_latencies.push_back(recomputes ? RecomputeStep(load, *machine, tokens).Total()
                                                    : estimate.tpot.time);
    }
  }
  WarnNotUsed(scenario, kMethod, estimate.warnings);
  return estimate;
}

}  // namespace foretoken

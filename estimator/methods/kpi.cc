#include "estimator/methods/kpi.h"

#include <algorithm>
#include <cmath>

namespace foretoken {

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

TimeParts RecomputeTotal(const KpiLoad& load, const KpiMachine& machine, double prompt, double steps) {
  const double memory_bound = std::clamp(std::ceil(RecomputeBoundTokens(load, machine) - prompt), 0.0, steps);
  const double mean_tokens = prompt + (memory_bound + steps - 1) / 2;  // of the others
  return RecomputeStep(load, machine, prompt) * memory_bound +
         RecomputeStep(load, machine, mean_tokens) * (steps - memory_bound);
}

// What is left after chunk k ends is a maximum over k of the work from k on less the time since k could start. Between
// chunks of one size it is linear in k, so only the first, the last whole and the last one count.
Seconds ExposedPrefill(double prompt, double chunk, double rate, double arrival) {
  const double earlier = std::max(0.0, std::ceil(prompt / chunk) - 1);
  const double last = prompt - earlier * chunk;
  const Seconds from_last(last / rate);
  if (earlier == 0) return from_last;
  const Seconds from_first(prompt / rate - (prompt - chunk) / arrival);
  const Seconds from_whole((chunk + last) / rate - last / arrival);
  return std::max({from_first, from_whole, from_last});
}

Seconds ExposedPrefill(const std::vector<Seconds>& chunk_times, const std::vector<double>& last_token, double arrival) {
  Seconds done;
  for (size_t j = 0; j < chunk_times.size(); ++j) {
    done = std::max(done, Seconds(last_token[j] / arrival)) + chunk_times[j];
  }
  return chunk_times.empty() ? done : done - Seconds(last_token.back() / arrival);
}

}  // namespace foretoken

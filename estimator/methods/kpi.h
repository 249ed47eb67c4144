// The KPI method for neural processors in client machines [S2]: bytes and operations per token against one memory
// bandwidth and one peak rate.
//
//   bytes per output token = N w + n_ctx kv            rate_out     = BW / peak_to_average / bytes
//   ops per prompt token   = 2 N + 2 n_ctx KV elements rate_compute = peak u / ops
//   rate_bw = parallel_tokens rate_out                 rate_prompt  = 1 / (1/rate_compute + 1/rate_bw)
//   TTFT = fresh / rate_prompt                         E2E          = TTFT + OSL / rate_out
//
// Example, a 7B model in W4A8 with 2,048 tokens of context on 40 TOPS at 25% and 50 GB/s at a ratio of 1.25:
//
//   const KpiLoad load = {.parameters = 7e9, .weights = Gigabytes(3.5), .kv_bytes = Bytes(536870912),
//                         .kv_elements = 536870912};
//   KpiRates rates = RatesOf(load, machine);   // 9.9087 out, 663.405 compute, 1268.3 bandwidth, 435.57 prompt, per s
//
// Its source counts O steps after the prefill, so decode_steps = O and TPOT = (E2E - TTFT) / O. Leaves out: batches,
// several devices, the growth of the context while tokens come out. Pure functions, safe from any thread.
#ifndef FORETOKEN_ESTIMATOR_METHODS_KPI_H_
#define FORETOKEN_ESTIMATOR_METHODS_KPI_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/units.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// What happens to the KV cache at each output token.
enum class CacheWriteBack {
  kRingBuffer,  // only the new entry is written; the source neglects it, and so do we
  kWholeCache,  // the cache moves by one: all of it is written back
};

// What a token costs.
struct KpiLoad {
  double parameters = 0;   // N
  Bytes weights;           // N w, read for every output token
  Bytes kv_bytes;          // n_ctx kv, the cache at its cap
  double kv_elements = 0;  // of that cache
  CacheWriteBack write_back = CacheWriteBack::kRingBuffer;
};

struct KpiMachine {
  BytesPerSecond bandwidth;                 // as stated: peak
  double peak_to_average_bandwidth = 1.25;  // the source's value
  FlopsPerSecond peak;                      // in the dtype that is computed in
  double compute_utilization = 0.25;        // u, the source's value
  double parallel_tokens = 128;             // prompt tokens that share one read of the weights, the source's value

  BytesPerSecond AverageBandwidth() const { return bandwidth / peak_to_average_bandwidth; }
  FlopsPerSecond EffectiveRate() const { return peak * compute_utilization; }
};

// Bytes moved for one output token: weights, cache, and what is written back.  [S2]
Bytes BytesPerOutputToken(const KpiLoad& load);

// Operations of one prompt token: 2 N + 2 KV elements.  [S2]
Flops OpsPerPromptToken(const KpiLoad& load);

// Tokens per second.
struct KpiRates {
  double out = 0;      // rate_out
  double compute = 0;  // rate_compute: of the prompt, when only arithmetic limits it
  double memory = 0;   // rate_bw: of the prompt, when only memory does
  double prompt = 0;   // rate_prompt: both, one after the other
};
KpiRates RatesOf(const KpiLoad& load, const KpiMachine& machine);

// The stated bandwidth that `tokens_per_second` of output require.  [S2, inverted]
BytesPerSecond BandwidthFor(const KpiLoad& load, const KpiMachine& machine, double tokens_per_second);

// The peak rate that a compute-limited prompt rate requires.  [S2, inverted]
FlopsPerSecond PeakRateFor(const KpiLoad& load, const KpiMachine& machine, double tokens_per_second);

// Without a KV cache: one step computes all `tokens` again while it reads the weights once. It takes the longer of
// both. 1,024 tokens of a 7B model at 10 effective TOPS: 1.434 s.  [S2]
TimeParts RecomputeStep(const KpiLoad& load, const KpiMachine& machine, double tokens);

// Tokens from which such a step is bound by arithmetic: 62.5 for that model at 40 GB/s.  [S2]
double RecomputeBoundTokens(const KpiLoad& load, const KpiMachine& machine);

// Steps i = 0 .. steps - 1 of that kind, step i over prompt + i tokens: two arithmetic series, memory-bound steps
// first.  [S2, summed by us]
TimeParts RecomputeTotal(const KpiLoad& load, const KpiMachine& machine, double prompt, double steps);

// Pipelined prompt cache: `prompt` tokens arrive at `arrival` tokens/s and are prefilled in chunks at `rate` tokens/s
// as they arrive. What is left when the last token has arrived: max(C/R, S/R - (S - C)/r) where C divides S. A shorter
// last chunk is the first term, and the one before it a third. 1,024 tokens in chunks of 128 at 663.405 token/s: 0.1929
// s typed at 5 token/s, 0.6476 s at 1,000, 1.5436 s all at once. REQUIRES: all > 0; arrival may be infinite.  [ours]
Seconds ExposedPrefill(double prompt, double chunk, double rate, double arrival);

// The same for chunks of any time, in order; chunk j can start when its last token, `last_token[j]`, has arrived.
// Measured from the arrival of the last token of all.  [ours]
Seconds ExposedPrefill(const std::vector<Seconds>& chunk_times, const std::vector<double>& last_token, double arrival);

// Estimates by this method. The context n_ctx is prompt + output, capped by what the model was made for: a full cache
// evicts its oldest entry. Weights count the parameters that a token uses. Prefill adds arithmetic to memory traffic;
// decode is all memory. KV cache modes:
//   CACHED, PROMPT_CACHE: cached prefix tokens cost their load, where a link is stated, and no arithmetic;
//   NONE: the prompt and every step are a RecomputeStep; nothing is cached;
//   PIPELINED_PROMPT_CACHE: the prefill is ExposedPrefill in chunks of prefill_chunk_tokens (absent: whole).
// Warns kNotUsed of what it ignores (estimator/serving/coverage.h).
//
// Errors: kNotModelled (estimator/serving/coverage.h); kMissingFigure; kOutOfMemory; kInvalidField: the pipelined prompt cache without
// prompt_arrival_tokens_per_second.
absl::StatusOr<Estimate> EstimateKpi(const Scenario& scenario, const Detail& detail);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_KPI_H_

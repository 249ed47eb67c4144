// The linear profile: prefill at a profiled token rate, decode as one read of the weights and of the growing KV cache
// per step. The method of LLM-simulator [S1], exactly.
//
//   prefill = B S / PTPS
//   step i  = (S_w + B (S + i) s_kv) / BW_eff,   i = 0 .. O - 1
//
// Its source counts O steps after prefill, so latencies hold O + 1 entries and TPOT = (E2E - TTFT) / O. Its code sums
// i = 0 .. O - 1, which is what is computed here; its README sums i = 1 .. O: B s_kv O / BW_eff more.
//
// Example (OPT-6.7B on an A100 at an effective 1,200 GB/s, by the source's own values):
//
//   LinearPrefill(1024, 13036.08);                                      // 78.55 ms
//   const LinearDecode decode = {.weights = Gigabytes(13.4), ...};
//   LinearDecodeStep(decode, 0);                                        // 11.58 ms
//   LinearDecodeTotal(decode, 128);                                     // 1.486 s
//
// Leaves out: attention's growth with the square of the prompt, launch overheads, communication, the difference
// between a MoE's chosen and stored experts. Pure functions, safe from any thread.
#ifndef FORETOKEN_ESTIMATOR_METHODS_LINEAR_PROFILE_H_
#define FORETOKEN_ESTIMATOR_METHODS_LINEAR_PROFILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/units.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// The input of decode, for all devices of one replica together.
struct LinearDecode {
  Bytes weights;             // S_w
  Bytes kv_per_token;        // s_kv
  double batch = 1;          // B
  double prompt_tokens = 0;  // S
  BytesPerSecond bandwidth;  // BW_eff
};

// B S / PTPS: 1,024 tokens cost the same as one sequence or as sixteen. REQUIRES: tokens_per_second > 0.  [S1]
Seconds LinearPrefill(double tokens, double tokens_per_second);

// Decode step i, counted from 0.  [S1]
Seconds LinearDecodeStep(const LinearDecode& decode, double i);

// The first `steps` steps together, i = 0 .. O - 1: (O S_w + B s_kv (O S + O (O - 1) / 2)) / BW_eff.  [S1, its code]
Seconds LinearDecodeTotal(const LinearDecode& decode, double steps);

// The source's second form, which sums i = 1 .. O: B alpha O^2 + (B beta + C) O.
struct LinearCoefficients {
  Seconds alpha;  // s_kv / (2 BW_eff)
  Seconds beta;   // (S + 1/2) s_kv / BW_eff
  Seconds c;      // S_w / BW_eff
};
LinearCoefficients CoefficientsOf(const LinearDecode& decode);

// That form: B s_kv O / BW_eff above LinearDecodeTotal.  [S1, its README]
Seconds LinearDecodeTotalReadme(const LinearDecode& decode, double steps);

// The prefill, then each of `steps` steps: the source's latencies[], steps + 1 entries.  [S1]
std::vector<Seconds> LinearLatencies(Seconds prefill, const LinearDecode& decode, int steps);

// The decode of the scenario with `batch` sequences on a replica. It reads all parameters at the weight dtype.
LinearDecode LinearDecodeOf(const Scenario& scenario, double batch, BytesPerSecond bandwidth);

// The key of a profile that can answer the scenario.
ProfileKey ProfileKeyOf(const Scenario& scenario);

// The profile of exactly this model, engine, parallelism and dtypes; null if there is none. It lives as long as the
// scenario's hardware.
const LinearProfile* FindProfile(const Scenario& scenario);

// Estimates by `profile`. Weights count all parameters at the deployment's weight dtype. Cached prefix tokens are not
// prefilled [ours]. Without an effective bandwidth, decode reaches 60% of the peak of the tensor-parallel devices, the
// source's value, because pipeline stages read one after the other. Prefill has no parts; decode is all memory.
// Warns kExtrapolated outside the profiled prefill sizes (if none are stated, above the 2,048 tokens up to which the
// source found prefill linear), and kNotUsed of what it ignores (estimator/serving/coverage.h).
//
// Errors: kNotModelled (estimator/serving/coverage.h), kMissingFigure, kOutOfMemory.
absl::StatusOr<Estimate> EstimateLinearProfile(const Scenario& scenario, const LinearProfile& profile,
                                               const Detail& detail);

// The same by the profile that FindProfile finds. Errors: also kNoProfile.
absl::StatusOr<Estimate> EstimateLinearProfile(const Scenario& scenario, const Detail& detail);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_LINEAR_PROFILE_H_

#include "estimator/methods/linear_profile.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "estimator/base/errors.h"
#include "estimator/methods/reference_scope.h"
#include "estimator/scenario/memory.h"

namespace foretoken {
namespace {

constexpr Scope kScope = Scope::kLinearProfile;
constexpr double kBandwidthUtilization = 0.6;  // the source's constant [S1]
constexpr double kLinearPrefillTokens = 2048;  // up to here the source found prefill linear [S1]
constexpr std::string_view kRateField = "hardware_spec.linear_profiles.prefill_tokens_per_second";
constexpr std::string_view kBandwidthField = "hardware_spec.memory_bandwidth_bytes_per_second";

std::string Describe(const ProfileKey& key) {
  return absl::StrCat("(", key.model_id, ", engine \"", key.engine, "\", tp ", key.tensor_parallel, ", pp ",
                      key.pipeline_parallel, ", weights ", std::string(DtypeName(key.weight_dtype)), ", KV ",
                      std::string(DtypeName(key.kv_cache_dtype)), ")");
}

// "linear-profile/llama-2-7b/vllm@0.6.0/tp1-pp1/fp16-fp16"
std::string IdOf(const ProfileKey& key) {
  return absl::StrCat("linear-profile/", key.model_id, "/", key.engine, "/tp", key.tensor_parallel, "-pp",
                      key.pipeline_parallel, "/", std::string(DtypeName(key.weight_dtype)), "-",
                      std::string(DtypeName(key.kv_cache_dtype)));
}

absl::Status NoProfile(const Scenario& scenario) {
  const std::string found = absl::StrJoin(
      scenario.hardware->linear_profiles, ", ",
      [](std::string* out, const LinearProfile& profile) { absl::StrAppend(out, Describe(profile.key)); });
  return Refusal(Reason::kNoProfile, "hardware_spec.linear_profiles",
                 absl::StrCat("hardware ", scenario.hardware->id, " has no linear profile of ",
                              Describe(ProfileKeyOf(scenario)), "; it has ", found.empty() ? "none" : found));
}

absl::StatusOr<Seconds> PrefillTime(const LinearProfile& profile, double tokens) {
  if (tokens == 0) return Seconds(0);
  if (!profile.prefill_tokens_per_second) {
    return Refusal(Reason::kMissingFigure, kRateField,
                   absl::StrCat("linear profile of ", Describe(profile.key), " states no prefill_tokens_per_second"));
  }
  return LinearPrefill(tokens, *profile.prefill_tokens_per_second);
}

absl::StatusOr<BytesPerSecond> EffectiveBandwidth(const Scenario& scenario, const LinearProfile& profile,
                                                  std::vector<Warning>& warnings) {
  if (profile.effective_bandwidth) return *profile.effective_bandwidth;
  if (!scenario.hardware->memory_bandwidth) {
    return Refusal(Reason::kMissingFigure, kBandwidthField,
                   absl::StrCat("hardware ", scenario.hardware->id,
                                " states no memory_bandwidth_bytes_per_second, and the profile of ",
                                Describe(profile.key), " no effective_bandwidth_bytes_per_second"));
  }
  warnings.push_back({WarningCode::kFigureAbsent,
                      "the profile states no effective_bandwidth_bytes_per_second; 60% of the peak taken",
                      "hardware_spec.linear_profiles.effective_bandwidth_bytes_per_second"});
  return *scenario.hardware->memory_bandwidth * (kBandwidthUtilization * scenario.deployment.tensor_parallel);
}

void WarnExtrapolated(const LinearProfile& profile, double tokens, std::vector<Warning>& warnings) {
  const double low = profile.min_prefill_tokens.value_or(0);
  const double high = profile.max_prefill_tokens.value_or(kLinearPrefillTokens);
  if (tokens >= low && tokens <= high) return;
  warnings.push_back({WarningCode::kExtrapolated,
                      absl::StrCat("prefill of ", tokens, " tokens; the profile is linear from ", low, " to ", high),
                      "workload.prompt_tokens"});
}

// Over the peak of all devices of a replica, at the mean step.
std::optional<double> Mbu(const Scenario& scenario, const LinearDecode& decode, Seconds tpot) {
  if (!scenario.hardware->memory_bandwidth) return std::nullopt;
  const double devices = scenario.deployment.tensor_parallel * scenario.deployment.pipeline_parallel;
  const double mean_context = decode.prompt_tokens + (scenario.workload.output_tokens - 1) / 2.0;
  return ModelBandwidthUtilization(decode.weights, decode.batch * mean_context * decode.kv_per_token, tpot,
                                   *scenario.hardware->memory_bandwidth * devices);
}

void FillTimes(const Scenario& scenario, const LinearDecode& decode, Seconds prefill, Estimate& estimate) {
  const double steps = scenario.workload.output_tokens;
  const Seconds total = LinearDecodeTotal(decode, steps);
  estimate.ttft.time = prefill;
  estimate.tpot.time = total / steps;
  estimate.e2e.time = prefill + total;
  estimate.decode_steps = steps;
  estimate.prefill = {.time = prefill, .provenance = Provenance::kCalibrated};
  estimate.decode = {.time = total, .parts = TimeParts{.memory = total}, .bound = Bound::kMemory};
  estimate.throughput = StaticThroughput(scenario, estimate.tpot.time, estimate.e2e.time);
  estimate.mbu = Mbu(scenario, decode, estimate.tpot.time);
}

}  // namespace

Seconds LinearPrefill(double tokens, double tokens_per_second) { return Seconds(tokens / tokens_per_second); }

Seconds LinearDecodeStep(const LinearDecode& decode, double i) {
  return (decode.weights + decode.batch * (decode.prompt_tokens + i) * decode.kv_per_token) / decode.bandwidth;
}

Seconds LinearDecodeTotal(const LinearDecode& decode, double steps) {
  const double context_tokens = steps * decode.prompt_tokens + steps * (steps - 1) / 2;
  return (steps * decode.weights + decode.batch * context_tokens * decode.kv_per_token) / decode.bandwidth;
}

LinearCoefficients CoefficientsOf(const LinearDecode& decode) {
  const Seconds per_token = decode.kv_per_token / decode.bandwidth;
  return {
      .alpha = per_token / 2, .beta = (decode.prompt_tokens + 0.5) * per_token, .c = decode.weights / decode.bandwidth};
}

Seconds LinearDecodeTotalReadme(const LinearDecode& decode, double steps) {
  const LinearCoefficients k = CoefficientsOf(decode);
  return decode.batch * steps * steps * k.alpha + steps * (decode.batch * k.beta + k.c);
}

std::vector<Seconds> LinearLatencies(Seconds prefill, const LinearDecode& decode, int steps) {
  std::vector<Seconds> latencies = {prefill};
  latencies.reserve(static_cast<size_t>(steps) + 1);
  for (int i = 0; i < steps; ++i) latencies.push_back(LinearDecodeStep(decode, i));
  return latencies;
}

LinearDecode LinearDecodeOf(const Scenario& scenario, double batch, BytesPerSecond bandwidth) {
  const Deployment& d = scenario.deployment;
  return {.weights = CountParameters(*scenario.model).Total() * BytesPerElement(d.weight_dtype),
          .kv_per_token = KvBytesPerToken(*scenario.model, d.kv_cache_dtype),
          .batch = batch,
          .prompt_tokens = static_cast<double>(scenario.workload.prompt_tokens),
          .bandwidth = bandwidth};
}

ProfileKey ProfileKeyOf(const Scenario& scenario) {
  const Deployment& d = scenario.deployment;
  return {scenario.model->id, d.engine, d.tensor_parallel, d.pipeline_parallel, d.weight_dtype, d.kv_cache_dtype};
}

const LinearProfile* FindProfile(const Scenario& scenario) {
  if (scenario.hardware->linear_profiles.empty()) return nullptr;  // no key has to be made
  const ProfileKey key = ProfileKeyOf(scenario);
  for (const LinearProfile& profile : scenario.hardware->linear_profiles) {
    if (profile.key == key) return &profile;
  }
  return nullptr;
}

absl::StatusOr<Estimate> EstimateLinearProfile(const Scenario& scenario, const LinearProfile& profile,
                                               const Detail& detail) {
  if (const absl::Status status = CheckReferenceScope(scenario, kScope); !status.ok()) return status;
  Estimate estimate{.method = Method::kLinearProfile, .devices = scenario.deployment.devices()};
  const double batch = scenario.deployment.PerReplica(scenario.workload.batch_size);
  const double tokens = batch * scenario.workload.fresh_tokens();
  const absl::StatusOr<Seconds> prefill = PrefillTime(profile, tokens);
  if (!prefill.ok()) return prefill.status();
  const absl::StatusOr<BytesPerSecond> bandwidth = EffectiveBandwidth(scenario, profile, estimate.warnings);
  if (!bandwidth.ok()) return bandwidth.status();
  const absl::StatusOr<std::optional<MemoryUse>> memory = ReferenceMemory(scenario, estimate.warnings);
  if (!memory.ok()) return memory.status();

  const LinearDecode decode = LinearDecodeOf(scenario, batch, *bandwidth);
  FillTimes(scenario, decode, *prefill, estimate);
  estimate.decode.provenance = profile.effective_bandwidth ? Provenance::kCalibrated : Provenance::kDatasheet;
  estimate.memory = *memory;
  estimate.calibration_id = IdOf(profile.key);
  if (detail.token_latencies) {
    estimate.token_latencies = LinearLatencies(*prefill, decode, scenario.workload.output_tokens);
  }
  WarnExtrapolated(profile, tokens, estimate.warnings);
  WarnOfIgnored(scenario, kScope, FeatureGroup::kAssumptions, estimate.warnings);
  WarnOfContext(*scenario.model, scenario.workload, estimate.warnings);
  WarnOfIgnored(scenario, kScope, FeatureGroup::kInputs, estimate.warnings);
  return estimate;
}

absl::StatusOr<Estimate> EstimateLinearProfile(const Scenario& scenario, const Detail& detail) {
  if (const LinearProfile* profile = FindProfile(scenario)) return EstimateLinearProfile(scenario, *profile, detail);
  return NoProfile(scenario);
}

}  // namespace foretoken

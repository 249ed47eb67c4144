#include <google/protobuf/repeated_field.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/spec/aliases.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/parse.h"

namespace foretoken::catalog {
namespace {

// Far above any device, near enough to keep every product of the core model finite.
constexpr double kMaxRate = 1e24;  // FLOP/s or bytes/s
constexpr double kMaxBytes = 1e18;
constexpr double kMaxWatts = 1e9;
constexpr double kMaxTokens = 1e15;
constexpr int kMaxProfiles = 1000;
constexpr int kMaxCalibrations = 200;

// A figure of at most `max` where it is present.
template <typename Quantity>
std::optional<Quantity> Figure(FieldChecker& checks, std::string_view field, bool present, double value, double max) {
  if (!present) return std::nullopt;
  return Quantity(checks.Between(field, value, kLeastFigure, max));
}

std::optional<BytesPerSecond> Bandwidth(FieldChecker& checks, std::string_view field, bool present, double value) {
  return Figure<BytesPerSecond>(checks, field, present, value, kMaxRate);
}

PeakCompute ParsePeak(FieldChecker& checks, const v1::PeakCompute& peak) {
  const auto rate = [&checks](const char* field, bool present, double value) {
    return Figure<FlopsPerSecond>(checks, field, present, value, kMaxRate);
  };
  PeakCompute out;
  out.fp32 = rate("peak.fp32_flops_per_second", peak.has_fp32_flops_per_second(), peak.fp32_flops_per_second());
  out.tf32 = rate("peak.tf32_flops_per_second", peak.has_tf32_flops_per_second(), peak.tf32_flops_per_second());
  out.bf16 = rate("peak.bf16_flops_per_second", peak.has_bf16_flops_per_second(), peak.bf16_flops_per_second());
  out.fp16 = rate("peak.fp16_flops_per_second", peak.has_fp16_flops_per_second(), peak.fp16_flops_per_second());
  out.fp8 = rate("peak.fp8_flops_per_second", peak.has_fp8_flops_per_second(), peak.fp8_flops_per_second());
  out.int8 = rate("peak.int8_ops_per_second", peak.has_int8_ops_per_second(), peak.int8_ops_per_second());
  out.fp4 = rate("peak.fp4_flops_per_second", peak.has_fp4_flops_per_second(), peak.fp4_flops_per_second());
  out.int4 = rate("peak.int4_ops_per_second", peak.has_int4_ops_per_second(), peak.int4_ops_per_second());
  return out;
}

void CheckRegressions(FieldChecker& checks, const std::string& at, const v1::LinearProfile& profile) {
  if (profile.has_prefill_intercept_tokens()) {
    checks.Between(at + "prefill_intercept_tokens", profile.prefill_intercept_tokens(), -kMaxTokens, kMaxTokens);
  }
  if (profile.has_prefill_r2()) checks.Between(at + "prefill_r2", profile.prefill_r2(), 0, 1);
  if (profile.has_decode_r2()) checks.Between(at + "decode_r2", profile.decode_r2(), 0, 1);
  checks.Int(at + "prefill_samples", profile.prefill_samples(), 0, 1'000'000'000);
  checks.Int(at + "decode_samples", profile.decode_samples(), 0, 1'000'000'000);
}

ProfileKey ParseKey(FieldChecker& checks, const std::string& at, const v1::LinearProfile& profile) {
  checks.Id(at + "model_id", profile.model_id());
  ProfileKey key{.model_id = profile.model_id(), .engine = profile.engine()};
  if (profile.has_tensor_parallel()) {
    key.tensor_parallel = checks.Int(at + "tensor_parallel", profile.tensor_parallel(), 1, 1024);
  }
  if (profile.has_pipeline_parallel()) {
    key.pipeline_parallel = checks.Int(at + "pipeline_parallel", profile.pipeline_parallel(), 1, 1024);
  }
  key.weight_dtype = checks.Dtype(at + "weight_dtype", profile.weight_dtype());
  key.kv_cache_dtype = checks.Dtype(at + "kv_cache_dtype", profile.kv_cache_dtype());
  return key;
}

LinearProfile ParseProfile(FieldChecker& checks, const std::string& at, const v1::LinearProfile& profile) {
  LinearProfile out{.key = ParseKey(checks, at, profile), .superseded = !profile.superseded_by().empty()};
  out.prefill_tokens_per_second =
      Figure<double>(checks, at + "prefill_tokens_per_second", profile.has_prefill_tokens_per_second(),
                     profile.prefill_tokens_per_second(), kMaxTokens);
  out.effective_bandwidth =
      Bandwidth(checks, at + "effective_bandwidth_bytes_per_second", profile.has_effective_bandwidth_bytes_per_second(),
                profile.effective_bandwidth_bytes_per_second());
  out.min_prefill_tokens = Figure<double>(checks, at + "min_prefill_tokens", profile.has_min_prefill_tokens(),
                                          profile.min_prefill_tokens(), kMaxTokens);
  out.max_prefill_tokens = Figure<double>(checks, at + "max_prefill_tokens", profile.has_max_prefill_tokens(),
                                          profile.max_prefill_tokens(), kMaxTokens);
  if (out.min_prefill_tokens && out.max_prefill_tokens && *out.min_prefill_tokens > *out.max_prefill_tokens) {
    checks.Fault(at + "min_prefill_tokens", absl::StrCat(" ", *out.min_prefill_tokens, "; allowed at most ",
                                                         "max_prefill_tokens ", *out.max_prefill_tokens));
  }
  if (!out.prefill_tokens_per_second && !out.effective_bandwidth) {
    checks.Fault(at + "prefill_tokens_per_second", " is required where effective_bandwidth_bytes_per_second is absent");
  }
  CheckRegressions(checks, at, profile);
  return out;
}

void ParseProfiles(FieldChecker& checks, const v1::HardwareSpec& spec, Hardware& hardware) {
  for (int i = 0; i < spec.linear_profiles_size(); ++i) {
    const std::string at = absl::StrCat("linear_profiles[", i, "]");
    LinearProfile profile = ParseProfile(checks, at + ".", spec.linear_profiles(i));
    for (size_t j = 0; j < hardware.linear_profiles.size(); ++j) {
      if (hardware.linear_profiles[j].key != profile.key) continue;
      checks.Fault(at, absl::StrCat(" repeats the model, engine and deployment of linear_profiles[", j, "]"));
      break;
    }
    hardware.linear_profiles.push_back(std::move(profile));
  }
}

// What another version of the core model was fitted with is kept, for its history, and not used.
void ParseCalibrations(FieldChecker& checks, const v1::HardwareSpec& spec, Hardware& hardware) {
  std::vector<Calibration> usable;
  for (int i = 0; i < spec.calibrations_size(); ++i) {
    const v1::CalibrationSpec& calibration = spec.calibrations(i);
    const std::string at = absl::StrCat("calibrations[", i, "]");
    if (calibration.hardware_id() != spec.id()) {
      checks.Fault(at + ".hardware_id",
                   absl::StrCat(" ", Quoted(calibration.hardware_id()), "; allowed ", Quoted(spec.id())));
    }
    for (int j = 0; j < i; ++j) {
      const v1::CalibrationSpec& other = spec.calibrations(j);
      if (!AreOneFamily(other, calibration) || other.model_id() != calibration.model_id()) continue;
      checks.Fault(at, absl::StrCat(" repeats the engine, batching and model of calibrations[", j, "]"));
    }
    if (!HasItsFamily(calibration, spec.calibrations())) {
      checks.Fault(at + ".model_id", " needs a calibration of the same engine and batching without a model beside it");
    }
    if (calibration.model_version() != kModelVersion) continue;
    absl::StatusOr<Calibration> parsed = ParseCalibration(calibration);
    if (parsed.ok()) {
      usable.push_back(*std::move(parsed));
      continue;
    }
    for (const FieldViolation& violation : DetailOf(parsed.status()).violations) {
      checks.Add(absl::StrCat(at, ".", violation.field), absl::StrCat(at, ".", violation.description));
    }
  }
  if (!usable.empty()) hardware.calibrations = std::make_shared<Calibrations>(std::move(usable));
}

void ParsePower(FieldChecker& checks, const v1::HardwareSpec& spec, Hardware& hardware) {
  hardware.tdp_watts = Figure<double>(checks, "tdp_watts", spec.has_tdp_watts(), spec.tdp_watts(), kMaxWatts);
  if (!spec.has_idle_watts()) return;
  hardware.idle_watts = checks.Between("idle_watts", spec.idle_watts(), 0, kMaxWatts);
  if (hardware.tdp_watts && *hardware.idle_watts > *hardware.tdp_watts) {
    checks.Fault("idle_watts", absl::StrCat(" ", spec.idle_watts(), "; allowed at most tdp_watts ", spec.tdp_watts()));
  }
}

void ParseMemory(FieldChecker& checks, const v1::HardwareSpec& spec, Hardware& hardware) {
  if (spec.has_memory_capacity_bytes()) {
    const auto bytes = static_cast<double>(spec.memory_capacity_bytes());
    hardware.memory_capacity = Bytes(checks.Between("memory_capacity_bytes", bytes, kLeastFigure, kMaxBytes));
  }
  hardware.memory_bandwidth =
      Bandwidth(checks, "memory_bandwidth_bytes_per_second", spec.has_memory_bandwidth_bytes_per_second(),
                spec.memory_bandwidth_bytes_per_second());
  if (spec.has_peak_to_average_bandwidth()) {
    hardware.peak_to_average_bandwidth =
        checks.Between("peak_to_average_bandwidth", spec.peak_to_average_bandwidth(), 1, 1000);
  }
}

void ParseLinks(FieldChecker& checks, const v1::HardwareSpec& spec, Hardware& hardware) {
  hardware.interconnect = Bandwidth(checks, "interconnect_bytes_per_second", spec.has_interconnect_bytes_per_second(),
                                    spec.interconnect_bytes_per_second());
  hardware.interconnect_is_pcie = absl::StartsWithIgnoreCase(spec.interconnect_name(), "pcie");
  if (spec.has_devices_per_node()) {
    hardware.devices_per_node = checks.Int("devices_per_node", spec.devices_per_node(), 1, 1'000'000);
  }
  hardware.scale_out = Bandwidth(checks, "scale_out_bytes_per_second", spec.has_scale_out_bytes_per_second(),
                                 spec.scale_out_bytes_per_second());
  hardware.host_link = Bandwidth(checks, "host_link_bytes_per_second", spec.has_host_link_bytes_per_second(),
                                 spec.host_link_bytes_per_second());
}

}  // namespace

absl::Status CheckCounts(const v1::HardwareSpec& spec) {
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  checks.Size("aliases", spec.aliases_size(), kMaxAliases);
  checks.Size("linear_profiles", spec.linear_profiles_size(), kMaxProfiles);
  checks.Size("calibrations", spec.calibrations_size(), kMaxCalibrations);
  return InvalidFields(violations);
}

absl::Status ParseLists(const v1::HardwareSpec& spec, Hardware& hardware) {
  if (absl::Status status = CheckCounts(spec); !status.ok()) return status;
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  hardware.linear_profiles.clear();
  hardware.calibrations.reset();
  ParseProfiles(checks, spec, hardware);
  ParseCalibrations(checks, spec, hardware);
  return InvalidFields(violations);
}

absl::StatusOr<Hardware> ParseHardware(const v1::HardwareSpec& spec) {
  if (absl::Status status = CheckCounts(spec); !status.ok()) return status;
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  if (!spec.id().empty()) checks.Id("id", spec.id());
  CheckAliases(checks, spec.id(), spec.aliases());
  checks.Enum("kind", spec.kind(), v1::HardwareKind_MAX);
  if (spec.has_launch_year()) checks.Int("launch_year", spec.launch_year(), 1970, 2100);
  Hardware hardware{.id = spec.id()};
  ParseMemory(checks, spec, hardware);
  hardware.peak = ParsePeak(checks, spec.peak());
  ParseLinks(checks, spec, hardware);
  ParsePower(checks, spec, hardware);
  ParseProfiles(checks, spec, hardware);
  ParseCalibrations(checks, spec, hardware);
  if (!violations.empty()) return InvalidFields(violations);
  return hardware;
}

}  // namespace foretoken::catalog

#include "server/rpc/register/registration_checks.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/fit/sample_faults.h"
#include "estimator/methods/linear_profile.h"
#include "estimator/scenario/calibration.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::rpc {
namespace {

// The catalog would keep such a calibration without using it, so the caller has to know.
void CheckVersions(const v1::HardwareSpec& spec, catalog::FieldChecker& fields) {
  for (int i = 0; i < spec.calibrations_size(); ++i) {
    const int version = spec.calibrations(i).model_version();
    if (version == kModelVersion) continue;
    fields.Add(absl::StrCat("spec.calibrations[", i, "].model_version"),
               absl::StrCat("fitted with version ", version, " of the core model; allowed ", kModelVersion,
                            ": leave it out and register its samples again"));
  }
}

// The prefill and one decode step of a single sequence, with the times that the profile predicts. Batch 1 is the fair
// test: a profile counts every weight and all of the context, so its step can be faster than light only if its rates
// are. The prefill rate is that of all pipeline stages together.
Sample RunOf(const LinearProfile& profile, const Model& model, const Hardware& hardware) {
  constexpr int kPromptTokens = 2048;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const ProfileKey& key = profile.key;
  Sample sample{.scenario = {.model = &model, .hardware = &hardware}, .measured = {kNone, kNone, kNone}};
  Deployment& deployment = sample.scenario.deployment;
  deployment.engine = key.engine;
  deployment.tensor_parallel = key.tensor_parallel;
  deployment.pipeline_parallel = key.pipeline_parallel;
  deployment.weight_dtype = key.weight_dtype;
  deployment.kv_cache_dtype = key.kv_cache_dtype;
  deployment.memory_utilization = 1e6;  // whether it fits is asked elsewhere
  ResolveDtypes(model, deployment);
  sample.scenario.workload = {.batch_size = 1, .prompt_tokens = kPromptTokens, .output_tokens = 2};
  if (profile.prefill_tokens_per_second) {
    const Seconds prefill = LinearPrefill(kPromptTokens, *profile.prefill_tokens_per_second);
    sample.measured[kTtft] = key.pipeline_parallel * prefill.value();
  }
  if (profile.effective_bandwidth) {
    const LinearDecode decode = LinearDecodeOf(sample.scenario, /*batch=*/1, *profile.effective_bandwidth);
    sample.measured[kTpot] = LinearDecodeStep(decode, 0).value();
  }
  return sample;
}

// Notes a violation at `field`, which states `value`, where the run is faster than light by this metric.
void CheckMetric(Sample run, Metric metric, const std::string& field, double value, catalog::FieldChecker& fields) {
  for (int other = 0; other < kNumMetrics; ++other) {
    if (other != metric) run.measured[other] = std::numeric_limits<double>::quiet_NaN();
  }
  const std::optional<SampleFault> fault = FasterThanLight(run);
  if (!fault) return;
  const char* what = metric == kTtft ? "the prefill" : "a decode step";
  fields.Add(field, absl::StrCat(field.substr(field.rfind('.') + 1), " ", value, ": ", what,
                                 " of one sequence is faster than the hardware's figures allow: ", fault->reason));
}

void CheckProfiles(const absl::StatusOr<Hardware>& hardware, const catalog::Snapshot& snapshot,
                   catalog::FieldChecker& fields) {
  if (!hardware.ok()) return;  // reported with the other faults of the spec
  for (size_t i = 0; i < hardware->linear_profiles.size(); ++i) {
    const LinearProfile& profile = hardware->linear_profiles[i];
    const auto model = snapshot.FindModel(profile.key.model_id, "model_id");
    if (!model.ok()) continue;
    const Sample run = RunOf(profile, (*model)->model, *hardware);
    const std::string path = absl::StrCat("spec.linear_profiles[", i, "].");
    CheckMetric(run, kTtft, path + "prefill_tokens_per_second", profile.prefill_tokens_per_second.value_or(0), fields);
    CheckMetric(run, kTpot, path + "effective_bandwidth_bytes_per_second",
                profile.effective_bandwidth.value_or(BytesPerSecond(0)).value(), fields);
  }
}

// Whether two are for the same questions.
bool AreForTheSame(const v1::CalibrationSpec& a, const v1::CalibrationSpec& b) {
  return catalog::AreOneFamily(a, b) && a.model_id() == b.model_id();
}

std::string Described(const v1::CalibrationSpec& spec) {
  const auto named = [](const char* what, const std::string& name) {
    return name.empty() ? absl::StrCat("any ", what) : absl::StrCat(what, " ", catalog::Quoted(name));
  };
  return absl::StrCat(named("hardware", spec.hardware_id()), ", ", named("engine", spec.engine()),
                      spec.continuous() ? ", continuous batching" : "",
                      spec.model_id().empty() ? "" : absl::StrCat(", model ", catalog::Quoted(spec.model_id())));
}

}  // namespace

absl::Status CheckRegistration(const v1::RegisterHardwareRequest& request, const absl::StatusOr<Hardware>& hardware,
                               const catalog::Snapshot& snapshot) {
  std::vector<FieldViolation> violations;
  catalog::FieldChecker fields("", violations);
  CheckVersions(request.spec(), fields);
  CheckProfiles(hardware, snapshot, fields);
  if (request.has_max_median_ape()) fields.Positive("max_median_ape", request.max_median_ape());
  return InvalidFields(violations);
}

absl::Status CheckCalibrationIds(const v1::HardwareSpec& spec, const catalog::Snapshot& snapshot) {
  std::vector<FieldViolation> violations;
  catalog::FieldChecker fields("", violations);
  absl::flat_hash_map<std::string, int> places;
  const auto refuse = [&](int place, const std::string& holder) {
    fields.Add(absl::StrCat("spec.calibrations[", place, "].id"),
               absl::StrCat("id ", catalog::Quoted(spec.calibrations(place).id()), " is taken by ", holder,
                            "; allowed: one that no other calibration has"));
  };
  for (int i = 0; i < spec.calibrations_size(); ++i) {
    const auto [first, is_new] = places.try_emplace(spec.calibrations(i).id(), i);
    // A second calibration for the same questions is a fault of the spec, which the parser reports.
    const bool is_told = !is_new && AreForTheSame(spec.calibrations(i), spec.calibrations(first->second));
    if (!is_new && !is_told) refuse(i, absl::StrCat("calibrations[", first->second, "]"));
  }
  const auto check = [&](const v1::CalibrationSpec& holder, const char* whose) {
    const auto found = places.find(holder.id());
    if (found == places.end() || AreForTheSame(holder, spec.calibrations(found->second))) return;
    refuse(found->second, absl::StrCat(whose, Described(holder)));
  };
  for (const v1::CalibrationSpec& shipped : snapshot.calibration_specs()) check(shipped, "the one that ships for ");
  for (const auto& hardware : snapshot.hardware()) {
    if (places.empty() || hardware->entry.spec().id() == spec.id()) continue;
    for (const auto& other : hardware->entry.spec().calibrations()) check(other, "the registered one of ");
  }
  return InvalidFields(violations);
}

}  // namespace foretoken::rpc

#include "server/rpc/profile_samples.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"
#include "estimator/profile_fit.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/catalog/catalog.h"
#include "server/catalog/parse.h"
#include "server/rpc/convert.h"

namespace foretoken::rpc {
namespace {

std::optional<Seconds> ReadTime(const char* field, bool has, double value, FieldChecker& fields) {
  if (!has) return std::nullopt;
  return Seconds(fields.Positive(field, value));
}

ProfileSample ReadSample(const v1::ProfileSample& message, FieldChecker& fields) {
  const bool is_static = message.batching_policy() == v1::BATCHING_POLICY_UNSPECIFIED ||
                         message.batching_policy() == v1::BATCHING_POLICY_STATIC;
  if (!is_static) fields.Add("batching_policy", "a linear profile is made of static batches only");
  return {.batch_size = static_cast<double>(fields.Int("batch_size", message.batch_size(), 1)),
          .prompt_tokens = static_cast<double>(fields.Int("prompt_tokens", message.prompt_tokens(), 0)),
          .output_tokens = static_cast<double>(fields.Int("output_tokens", message.output_tokens(), 1)),
          .ttft = ReadTime("ttft_seconds", message.has_ttft_seconds(), message.ttft_seconds(), fields),
          .tpot = ReadTime("tpot_seconds", message.has_tpot_seconds(), message.tpot_seconds(), fields),
          .e2e = ReadTime("e2e_seconds", message.has_e2e_seconds(), message.e2e_seconds(), fields)};
}

// All samples as the core model reads them, each checked, and of the model and deployment of the first.
absl::StatusOr<std::vector<ProfileSample>> ReadSamples(const v1::RegisterHardwareRequest& request) {
  const v1::ProfileSample& first = request.samples(0);
  std::vector<FieldViolation> violations;
  std::vector<ProfileSample> samples;
  for (int i = 0; i < request.samples_size(); ++i) {
    const v1::ProfileSample& message = request.samples(i);
    const std::string prefix = absl::StrCat("samples[", i, "].");
    FieldChecker fields(prefix, violations);
    samples.push_back(ReadSample(message, fields));
    if (message.model_id() != first.model_id()) {
      fields.Add("model_id", absl::StrCat("model_id \"", message.model_id(), "\"; all samples of a call share one, \"",
                                          first.model_id(), "\""));
    }
    if (!google::protobuf::util::MessageDifferencer::Equals(message.deployment(), first.deployment())) {
      fields.Add("deployment", "differs from that of samples[0]; all samples of a call share one deployment");
    }
  }
  if (absl::Status status = InvalidFields(violations); !status.ok()) return status;
  return samples;
}

v1::LinearProfile ToProto(const LinearProfile& profile, const ProfileFit& fit) {
  v1::LinearProfile message;
  message.set_model_id(profile.key.model_id);
  message.set_engine(profile.key.engine);
  message.set_tensor_parallel(profile.key.tensor_parallel);
  message.set_pipeline_parallel(profile.key.pipeline_parallel);
  message.set_weight_dtype(static_cast<v1::Dtype>(profile.key.weight_dtype));
  message.set_kv_cache_dtype(static_cast<v1::Dtype>(profile.key.kv_cache_dtype));
  if (fit.prefill) {
    message.set_prefill_tokens_per_second(fit.prefill->slope);
    message.set_prefill_intercept_tokens(fit.prefill->intercept);
    message.set_prefill_r2(fit.prefill->r2);
    message.set_prefill_samples(static_cast<int>(fit.prefill->samples.size()));
    message.set_min_prefill_tokens(fit.min_prefill_tokens);
    message.set_max_prefill_tokens(fit.max_prefill_tokens);
  }
  if (fit.effective_bandwidth) message.set_effective_bandwidth_bytes_per_second(fit.effective_bandwidth->value());
  if (fit.decode) message.set_decode_r2(fit.decode->r2);
  message.set_decode_samples(fit.decode_samples);
  return message;
}

bool SameKey(const v1::LinearProfile& a, const v1::LinearProfile& b) {
  const auto degree = [](bool has, int value) { return has ? value : 1; };
  return a.model_id() == b.model_id() && a.engine() == b.engine() &&
         degree(a.has_tensor_parallel(), a.tensor_parallel()) == b.tensor_parallel() &&
         degree(a.has_pipeline_parallel(), a.pipeline_parallel()) == b.pipeline_parallel() &&
         a.weight_dtype() == b.weight_dtype() && a.kv_cache_dtype() == b.kv_cache_dtype();
}

void WriteFit(const LinearFit& fit, v1::LinearFit& message) {
  message.set_slope(fit.slope);
  message.set_intercept(fit.intercept);
  message.set_r2(fit.r2);
  message.mutable_residuals()->Add(fit.residuals.begin(), fit.residuals.end());
  message.mutable_sample_indices()->Add(fit.samples.begin(), fit.samples.end());
}

void WriteReport(const ProfileFit& fit, const Scenario& scenario, v1::ProfileReport& report) {
  if (fit.prefill) WriteFit(*fit.prefill, *report.mutable_prefill());
  if (fit.decode) WriteFit(*fit.decode, *report.mutable_decode());
  if (fit.effective_bandwidth) {
    report.set_effective_bandwidth_bytes_per_second(fit.effective_bandwidth->value());
    const int devices = scenario.deployment.tensor_parallel * scenario.deployment.pipeline_parallel;
    if (scenario.hardware->memory_bandwidth) {
      report.set_bandwidth_utilization(*fit.effective_bandwidth / (*scenario.hardware->memory_bandwidth * devices));
    }
  }
  for (const RejectedSample& rejected : fit.rejected) {
    v1::RejectedSample& message = *report.add_rejected();
    message.set_index(rejected.index);
    message.set_reason(rejected.reason);
  }
}

void ReplaceProfile(v1::LinearProfile profile, v1::HardwareSpec& spec) {
  auto& profiles = *spec.mutable_linear_profiles();
  const auto same = [&profile](const v1::LinearProfile& other) { return SameKey(other, profile); };
  profiles.erase(std::remove_if(profiles.begin(), profiles.end(), same), profiles.end());
  *profiles.Add() = std::move(profile);
}

}  // namespace

absl::Status AddProfile(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot,
                        v1::HardwareSpec& spec, v1::ProfileReport& report) {
  if (request.samples_size() > kMaxSamples) {
    return Refusal(Reason::kLimitExceeded, "samples",
                   absl::StrCat(request.samples_size(), " samples; allowed at most ", kMaxSamples));
  }
  const absl::StatusOr<std::vector<ProfileSample>> samples = ReadSamples(request);
  if (!samples.ok()) return samples.status();
  const auto model = snapshot.FindModel(request.samples(0).model_id(), "samples[0].model_id");
  if (!model.ok()) return model.status();
  const absl::StatusOr<Hardware> hardware = catalog::ParseHardware(spec);
  if (!hardware.ok()) return WithFieldPrefix(hardware.status(), "spec.");

  std::vector<FieldViolation> violations;
  FieldChecker fields("samples[0].deployment.", violations);
  Scenario scenario{.model = &(*model)->model,
                    .hardware = &*hardware,
                    .deployment = ReadDeployment(request.samples(0).deployment(), fields)};
  if (absl::Status status = InvalidFields(violations); !status.ok()) return status;
  ResolveDtypes(*scenario.model, scenario.deployment);
  const absl::StatusOr<ProfileFit> fit = FitProfile(scenario, *samples);
  if (!fit.ok()) return fit.status();
  WriteReport(*fit, scenario, report);
  catalog::KeepProfiles(snapshot, spec);
  ReplaceProfile(ToProto(ProfileOf(scenario, *fit), *fit), spec);
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

#include "server/rpc/register/learn_profile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "estimator/fit/profile_fit.h"
#include "estimator/fit/sample_faults.h"
#include "google/protobuf/util/message_differencer.h"

namespace foretoken::rpc {
namespace {

std::optional<Seconds> TimeOf(double seconds) {
  return IsTime(seconds) ? std::optional(Seconds(seconds)) : std::nullopt;
}

ProfileSample ToProfileSample(const Sample& sample) {
  const Workload& run = sample.scenario.workload;
  return {.batch_size = static_cast<double>(run.batch_size),
          .prompt_tokens = static_cast<double>(run.prompt_tokens),
          .output_tokens = static_cast<double>(run.output_tokens),
          .ttft = TimeOf(sample.measured[kTtft]),
          .tpot = TimeOf(sample.measured[kTpot]),
          .e2e = TimeOf(sample.measured[kE2e])};
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

bool ShareOneProfile(const v1::RegisterHardwareRequest& request, const std::vector<Sample>& samples) {
  const Model* const model = samples.front().scenario.model;
  const v1::Deployment& deployment = request.samples(0).deployment();
  return std::all_of(samples.begin(), samples.end(),
                     [model](const Sample& sample) { return sample.scenario.model == model; }) &&
         std::all_of(request.samples().begin(), request.samples().end(), [&](const v1::ProfileSample& sample) {
           return sample.batching_policy() != v1::BATCHING_POLICY_CONTINUOUS &&
                  google::protobuf::util::MessageDifferencer::Equals(sample.deployment(), deployment);
         });
}

absl::StatusOr<LinearProfile> LearnProfile(const std::vector<Sample>& samples, v1::HardwareSpec& spec,
                                           v1::ProfileReport& report) {
  std::vector<ProfileSample> runs;
  runs.reserve(samples.size());
  for (const Sample& sample : samples) runs.push_back(ToProfileSample(sample));
  const Scenario& scenario = samples.front().scenario;
  const absl::StatusOr<ProfileFit> fit = FitProfile(scenario, runs);
  if (!fit.ok()) return fit.status();
  WriteReport(*fit, scenario, report);
  LinearProfile profile = ProfileOf(scenario, *fit);
  ReplaceProfile(ToProto(profile, *fit), spec);
  return profile;
}

void Supersede(const LinearProfile& profile, const std::string& calibration_id, v1::HardwareSpec& spec) {
  for (v1::LinearProfile& message : *spec.mutable_linear_profiles()) {
    if (SameKey(message, ToProto(profile, {}))) message.set_superseded_by(calibration_id);
  }
}

}  // namespace foretoken::rpc

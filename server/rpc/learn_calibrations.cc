#include "server/rpc/learn_calibrations.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/calibration/hardware_fit.h"
#include "estimator/errors.h"
#include "server/catalog/calibration_spec.h"
#include "server/catalog/digest.h"

namespace foretoken::rpc {
namespace {

// What one calibration is fitted to: an engine, and whether it batched continuously.
using Key = std::pair<std::string, bool>;
using Groups = std::map<Key, std::vector<int>>;  // indices of samples

constexpr const char* kMetricNames[kNumMetrics] = {"TTFT", "TPOT", "E2E"};

Groups GroupsOf(const std::vector<Sample>& samples) {
  Groups groups;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Scenario& scenario = samples[i].scenario;
    groups[{scenario.deployment.engine, IsContinuous(scenario)}].push_back(static_cast<int>(i));
  }
  return groups;
}

// A catalog id: "nvidia-h100-sxm-80gb.vllm-0.12.0".
std::string IdOf(const std::string& hardware_id, const Key& key) {
  constexpr size_t kMostBytes = 128;
  std::string id = absl::StrCat(hardware_id, ".", key.first.empty() ? "any" : absl::AsciiStrToLower(key.first),
                                key.second ? ".continuous" : "");
  for (char& c : id) c = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : '-';
  id.resize(std::min(id.size(), kMostBytes));
  while (!absl::ascii_isalnum(static_cast<unsigned char>(id.back()))) id.pop_back();
  return id;
}

void AddRejections(const HardwareFit& fit, v1::CalibrationSpec& spec) {
  std::map<std::string, int> counts;
  for (const RefusedSample& rejected : fit.rejected) ++counts[rejected.kind];
  for (const auto& [reason, count] : counts) {
    v1::CalibrationRejection& message = *spec.add_rejected();
    message.set_reason(reason);
    message.set_num_samples(count);
  }
}

std::string DigestOf(const v1::RegisterHardwareRequest& request, const std::vector<int>& indices,
                     const HardwareFit& fit) {
  std::string bytes;
  for (const int used : fit.used) {
    absl::StrAppend(&bytes, request.samples(indices[static_cast<size_t>(used)]).SerializeAsString(), "\n");
  }
  return catalog::Sha256Hex(bytes);
}

v1::CalibrationSpec SpecOf(const std::string& hardware_id, const Key& key, const Calibration* shipped,
                           const FitParent& parent, const HardwareFit& fit) {
  v1::CalibrationSpec spec;
  spec.set_id(IdOf(hardware_id, key));
  spec.set_level(v1::CALIBRATION_LEVEL_HARDWARE);
  spec.set_hardware_id(hardware_id);
  spec.set_engine(key.first);
  spec.set_continuous(key.second);
  if (shipped != nullptr) spec.set_parent(shipped->id);
  spec.set_model_version(kModelVersion);
  catalog::WriteParameters(parent.efficiencies, kHardwareFitOptions.freedom, fit.fit, spec);
  catalog::WriteErrors(fit.errors, spec);
  catalog::WriteBands(fit.bands, spec);
  spec.set_samples_used(static_cast<int>(fit.used.size()));
  AddRejections(fit, spec);
  spec.add_sources()->set_citation("samples registered with the hardware");
  return spec;
}

// Indices into the group become indices into the request.
void AddSamples(const std::vector<RefusedSample>& samples, const std::vector<int>& indices,
                google::protobuf::RepeatedPtrField<v1::RejectedSample>& messages) {
  for (const RefusedSample& sample : samples) {
    v1::RejectedSample& message = *messages.Add();
    message.set_index(indices[static_cast<size_t>(sample.index)]);
    message.set_reason(sample.reason);
  }
}

void Replace(const v1::CalibrationSpec& calibration, v1::HardwareSpec& spec) {
  auto& all = *spec.mutable_calibrations();
  const auto same = [&](const v1::CalibrationSpec& other) {
    return other.engine() == calibration.engine() && other.continuous() == calibration.continuous();
  };
  all.erase(std::remove_if(all.begin(), all.end(), same), all.end());
  *all.Add() = calibration;
}

absl::Status CheckGate(const v1::RegisterHardwareRequest& request, const Key& key, const HardwareFit& fit) {
  if (!request.has_max_median_ape()) return absl::OkStatus();
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const MetricError& error = fit.errors[metric];
    if (error.num_samples == 0) continue;
    const double ape = error.cross_validated_median_ape.value_or(error.median_ape);
    if (ape <= request.max_median_ape()) continue;
    return Refusal(Reason::kPoorFit, "max_median_ape",
                   absl::StrFormat("%s of engine \"%s\": cross-validated median absolute percentage error %.1f%% over %d "
                                   "samples; allowed at most %.1f%%",
                                   kMetricNames[metric], key.first, 100 * ape, error.num_samples,
                                   100 * request.max_median_ape()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LearnCalibrations(const v1::RegisterHardwareRequest& request, const std::vector<Sample>& samples,
                               const catalog::Snapshot& snapshot, absl::Time now, v1::HardwareSpec& spec,
                               v1::CalibrationReport& report) {
  for (const auto& [key, indices] : GroupsOf(samples)) {
    const Calibration* shipped = snapshot.calibrations().Find(spec.id(), key.first, key.second);
    FitParent parent{.efficiencies = GenericPriorOf(key.second), .bands = {}};
    if (shipped != nullptr) parent = {.efficiencies = shipped->efficiencies, .bands = shipped->bands};
    std::vector<Sample> group;
    for (const int index : indices) group.push_back(samples[static_cast<size_t>(index)]);
    const absl::StatusOr<HardwareFit> fit = FitHardware(parent, group);
    if (!fit.ok()) {
      return Refusal(DetailOf(fit.status()).reason, "samples",
                     absl::StrCat("engine \"", key.first, "\": ", fit.status().message()));
    }
    if (absl::Status status = CheckGate(request, key, *fit); !status.ok()) return status;
    v1::CalibrationSpec& calibration = *report.add_calibrations();
    calibration = SpecOf(spec.id(), key, shipped, parent, *fit);
    calibration.set_sample_digest(DigestOf(request, indices, *fit));
    calibration.mutable_fit_time()->set_seconds(absl::ToUnixSeconds(now));
    AddSamples(fit->rejected, indices, *report.mutable_rejected());
    AddSamples(fit->suspicious, indices, *report.mutable_suspicious());
    Replace(calibration, spec);
  }
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

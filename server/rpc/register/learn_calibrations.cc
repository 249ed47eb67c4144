#include "server/rpc/register/learn_calibrations.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/fit/hardware_fit.h"
#include "estimator/step/machine.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/digest.h"

namespace foretoken::rpc {
namespace {

// What one calibration is fitted to: an engine, and whether it batched continuously.
using Key = std::pair<std::string, bool>;
using Groups = std::map<Key, std::vector<int>>;  // indices of samples

Groups GroupsOf(const std::vector<Sample>& samples) {
  Groups groups;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Scenario& scenario = samples[i].scenario;
    groups[{scenario.deployment.engine, IsContinuous(scenario)}].push_back(static_cast<int>(i));
  }
  return groups;
}

// A catalog id: "nvidia-h100-sxm-80gb.vllm-0.12.0", "nvidia-h100-sxm-80gb.vllm-0.12.0.llama-2-7b". Names that differ in
// what an id does not hold ("vLLM", "vllm") are told apart by digits of their digest.
std::string IdOf(const v1::CalibrationSpec& spec) {
  constexpr size_t kMostBytes = 128;
  constexpr size_t kDigits = 8;
  std::string name =
      absl::StrCat(spec.hardware_id(), ".", spec.engine().empty() ? "any" : spec.engine(),
                   spec.continuous() ? ".continuous" : "", spec.model_id().empty() ? "" : ".", spec.model_id());
  std::replace(name.begin(), name.end(), '@', '-');
  std::string id = absl::AsciiStrToLower(name);
  for (char& c : id) c = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : '-';
  if (id != name || id.size() > kMostBytes) {
    id = absl::StrCat(id.substr(0, kMostBytes - kDigits - 1), "-", catalog::Sha256Hex(name).substr(0, kDigits));
  }
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

// What one fit is made of.
struct Group {
  const v1::RegisterHardwareRequest& request;
  const Key& key;
  const std::vector<int>& indices;  // of its samples in the request
  absl::Time now;
  Cancelled cancelled;
};

// `used`: indices into the group.
std::string DigestOf(const Group& group, const std::vector<int>& used) {
  std::string bytes;
  for (const int index : used) {
    const v1::ProfileSample& sample = group.request.samples(group.indices[static_cast<size_t>(index)]);
    absl::StrAppend(&bytes, sample.SerializeAsString(), "\n");
  }
  return catalog::Sha256Hex(bytes);
}

LargestDegrees DegreesOf(const Group& group, const std::vector<int>& used) {
  LargestDegrees degrees;
  for (const int index : used) {
    const v1::Deployment& d = group.request.samples(group.indices[static_cast<size_t>(index)]).deployment();
    degrees.Add(
        {.tensor_parallel = std::max(1, d.tensor_parallel()), .pipeline_parallel = std::max(1, d.pipeline_parallel())});
  }
  return degrees;
}

// One level, drawn to the calibration `parent`.
v1::CalibrationSpec SpecOf(const Group& group, const std::string& hardware_id, const std::string& parent,
                           const Efficiencies& prior, const LevelFit& level) {
  v1::CalibrationSpec spec;
  spec.set_hardware_id(hardware_id);
  spec.set_engine(group.key.first);
  spec.set_continuous(group.key.second);
  spec.set_model_id(level.model_id);
  spec.set_parent(parent);
  spec.set_id(IdOf(spec));
  spec.set_level(catalog::LevelOf(spec));
  spec.set_model_version(kModelVersion);
  catalog::WriteParameters(prior, kHardwareFitOptions.freedom, level.fit, spec);
  catalog::WriteErrors(level.quality.errors, spec);
  catalog::WriteBands(level.quality.bands, spec);
  catalog::WriteDegrees(DegreesOf(group, level.used), spec);
  spec.set_samples_used(static_cast<int>(level.used.size()));
  spec.set_sample_digest(DigestOf(group, level.used));
  spec.mutable_fit_time()->set_seconds(absl::ToUnixSeconds(group.now));
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

// Forgets what the device had of this engine and way of batching, single models included.
void Forget(const v1::CalibrationSpec& engine, v1::HardwareSpec& spec) {
  auto& all = *spec.mutable_calibrations();
  const auto same = [&](const v1::CalibrationSpec& other) { return catalog::AreOneFamily(other, engine); };
  all.erase(std::remove_if(all.begin(), all.end(), same), all.end());
}

absl::Status CheckGate(const Group& group, const HardwareFit& fit) {
  const v1::RegisterHardwareRequest& request = group.request;
  if (!request.has_max_median_ape()) return absl::OkStatus();
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const MetricError& error = fit.levels.device.quality.errors[metric];
    if (error.num_samples == 0) continue;
    const double ape = error.cross_validated_median_ape.value_or(error.median_ape);
    if (ape <= request.max_median_ape()) continue;
    return Refusal(
        Reason::kPoorFit, "max_median_ape",
        absl::StrFormat("%s of engine \"%s\": cross-validated median absolute percentage error %.1f%% over %d "
                        "samples; allowed at most %.1f%%",
                        kMetricNames[metric], group.key.first, 100 * ape, error.num_samples,
                        100 * request.max_median_ape()));
  }
  return absl::OkStatus();
}

absl::Status LearnGroup(const Group& group, const std::vector<Sample>& samples, const catalog::Snapshot& snapshot,
                        v1::HardwareSpec& spec, v1::CalibrationReport& report) {
  const auto& [engine, continuous] = group.key;
  const Calibration* shipped = snapshot.calibrations().Find(spec.id(), engine, /*model_id=*/"", continuous);
  FitParent parent{.efficiencies = GenericPriorOf(continuous), .bands = {}};
  if (shipped != nullptr) {
    const Hardware& hardware = *samples.front().scenario.hardware;
    parent = {.efficiencies = TransferredTo(hardware, shipped->efficiencies), .bands = shipped->bands};
  }
  const absl::StatusOr<HardwareFit> fit = FitHardware(parent, samples, group.cancelled);
  if (absl::IsCancelled(fit.status())) return fit.status();
  if (!fit.ok()) {
    return Refusal(DetailOf(fit.status()).reason, "samples",
                   absl::StrCat("engine \"", engine, "\": ", fit.status().message()));
  }
  if (absl::Status status = CheckGate(group, *fit); !status.ok()) return status;
  const LevelFit& device = fit->levels.device;
  std::vector<v1::CalibrationSpec> learned = {
      SpecOf(group, spec.id(), shipped != nullptr ? shipped->id : "", parent.efficiencies, device)};
  AddRejections(*fit, learned.front());
  for (const LevelFit& model : fit->levels.models) {
    learned.push_back(SpecOf(group, spec.id(), learned.front().id(), device.fit.efficiencies, model));
  }
  Forget(learned.front(), spec);
  for (const v1::CalibrationSpec& calibration : learned) {
    *spec.add_calibrations() = calibration;
    *report.add_calibrations() = calibration;
  }
  AddSamples(fit->rejected, group.indices, *report.mutable_rejected());
  AddSamples(fit->suspicious, group.indices, *report.mutable_suspicious());
  return absl::OkStatus();
}

}  // namespace

absl::Status LearnCalibrations(const v1::RegisterHardwareRequest& request, const std::vector<Sample>& samples,
                               const catalog::Snapshot& snapshot, absl::Time now, Cancelled cancelled,
                               v1::HardwareSpec& spec, v1::CalibrationReport& report) {
  for (const auto& [key, indices] : GroupsOf(samples)) {
    const absl::Status status =
        LearnGroup({request, key, indices, now, cancelled}, Pick(samples, indices), snapshot, spec, report);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

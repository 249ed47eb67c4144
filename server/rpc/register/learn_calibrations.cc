#include "server/rpc/register/learn_calibrations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "estimator/fit/engine_kernels_fit.h"
#include "estimator/fit/hardware_fit.h"
#include "estimator/step/machine.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/digest.h"
#include "server/rpc/register/kernel_report.h"

namespace foretoken::rpc {
namespace {

// What one calibration is fitted to: an engine, and whether it batched continuously.
using Key = std::pair<std::string, bool>;

// Indices into the request.
struct Indices {
  std::vector<int> runs, kernels;
};
using Groups = std::map<Key, Indices>;

Groups GroupsOf(const v1::RegisterHardwareRequest& request, const std::vector<Sample>& runs) {
  Groups groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Scenario& scenario = runs[i].scenario;
    groups[{scenario.deployment.engine, IsContinuous(scenario)}].runs.push_back(static_cast<int>(i));
  }
  for (int i = 0; i < request.kernels_size(); ++i) {
    groups[{request.kernels(i).engine(), /*continuous=*/true}].kernels.push_back(i);
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

void AddRejections(const std::vector<RefusedSample>& all, v1::CalibrationSpec& spec) {
  std::map<std::string, int> counts;
  for (const RefusedSample& rejected : all) ++counts[rejected.kind];
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
  const Indices& indices;
  const Measured& measured;
  absl::Time now;
  Cancelled cancelled;
};

// What is fitted: kernels first, then one level of runs, whose prior their fit is.
struct Fitted {
  const EngineKernelsFit* kernels = nullptr;  // null: the level does not rest on kernels of its own
  const LevelFit& level;
};

std::string DigestOf(const Group& group, const Fitted& fitted) {
  std::string bytes;
  const auto append = [&bytes](const google::protobuf::Message& sample) {
    absl::StrAppend(&bytes, sample.SerializeAsString(), "\n");
  };
  for (const int used : fitted.level.used) {
    append(group.request.samples(group.indices.runs[static_cast<size_t>(used)]));
  }
  if (fitted.kernels == nullptr) return catalog::Sha256Hex(bytes);
  for (const int used : fitted.kernels->used) {
    append(group.request.kernels(group.indices.kernels[static_cast<size_t>(used)]));
  }
  return catalog::Sha256Hex(bytes);
}

LargestDegrees DegreesOf(const Group& group, const std::vector<int>& used) {
  LargestDegrees degrees;
  for (const int index : used) {
    const v1::Deployment& d = group.request.samples(group.indices.runs[static_cast<size_t>(index)]).deployment();
    degrees.Add(
        {.tensor_parallel = std::max(1, d.tensor_parallel()), .pipeline_parallel = std::max(1, d.pipeline_parallel())});
  }
  return degrees;
}

// The level's parameters, with the deviations that kernels left.
FitResult ParametersOf(const Fitted& fitted) {
  FitResult result = fitted.level.fit;
  if (fitted.kernels == nullptr) return result;
  result.log_deviations.resize(fitted.kernels->log_deviations.size());
  for (size_t i = 0; i < result.log_deviations.size(); ++i) {
    const double by_kernels = fitted.kernels->log_deviations[i];
    if (by_kernels > 0) result.log_deviations[i] = by_kernels;
  }
  return result;
}

// One level, drawn to the calibration `parent`.
v1::CalibrationSpec SpecOf(const Group& group, const std::string& hardware_id, const std::string& parent,
                           const Efficiencies& prior, const Fitted& fitted) {
  const LevelFit& level = fitted.level;
  v1::CalibrationSpec spec;
  spec.set_hardware_id(hardware_id);
  spec.set_engine(group.key.first);
  spec.set_continuous(group.key.second);
  spec.set_model_id(level.model_id);
  spec.set_parent(parent);
  spec.set_id(IdOf(spec));
  spec.set_level(catalog::LevelOf(spec));
  spec.set_model_version(kModelVersion);
  catalog::WriteParameters(prior, kHardwareFitOptions.freedom, ParametersOf(fitted), spec);
  catalog::WriteErrors(level.quality.errors, spec);
  catalog::WriteBands(level.quality.bands, spec);
  catalog::WriteDegrees(DegreesOf(group, level.used), spec);
  spec.set_samples_used(static_cast<int>(level.used.size()));
  if (fitted.kernels != nullptr) spec.set_kernels_used(static_cast<int>(fitted.kernels->used.size()));
  spec.set_sample_digest(DigestOf(group, fitted));
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

// What ships for the group's engine, as it comes to on this hardware; else the generic prior.
struct Prior {
  std::string id;
  FitParent parent;
};

Prior PriorOf(const Group& group, const std::string& hardware_id, const catalog::Snapshot& snapshot) {
  const auto& [engine, continuous] = group.key;
  const Calibration* shipped = snapshot.calibrations().Find(hardware_id, engine, /*model_id=*/"", continuous);
  if (shipped == nullptr) return {.parent = {.efficiencies = GenericPriorOf(continuous), .bands = {}}};
  return {.id = shipped->id,
          .parent = {.efficiencies = TransferredTo(group.measured.hardware, shipped->efficiencies),
                     .bands = shipped->bands}};
}

struct GroupFit {
  std::optional<EngineKernelsFit> kernels;  // absent: there are none
  HardwareFit runs;                         // without runs: the parent's parameters and bands, or those of kernels
};

// A refusal that names the engine.
absl::Status OfEngine(const Group& group, const char* field, const absl::Status& status) {
  if (absl::IsCancelled(status)) return status;
  return Refusal(DetailOf(status).reason, field, absl::StrCat("engine \"", group.key.first, "\": ", status.message()));
}

absl::StatusOr<EngineKernelsFit> FitKernelsOf(const Group& group, const Efficiencies& parent) {
  std::vector<KernelSample> kernels;
  for (const int index : group.indices.kernels) kernels.push_back(group.measured.kernels[static_cast<size_t>(index)]);
  absl::StatusOr<EngineKernelsFit> fit = FitEngineKernels(parent, kernels, group.cancelled);
  if (!fit.ok()) return OfEngine(group, "kernels", fit.status());
  return fit;
}

// Kernels first: a fit to runs leaves what they decided.
absl::StatusOr<GroupFit> FitGroup(const Group& group, FitParent parent) {
  GroupFit fit;
  if (!group.indices.kernels.empty()) {
    absl::StatusOr<EngineKernelsFit> kernels = FitKernelsOf(group, parent.efficiencies);
    if (!kernels.ok()) return kernels.status();
    parent.efficiencies = kernels->efficiencies;
    for (size_t i = 0; i < Parameters().size(); ++i) {
      if (kernels->log_deviations[i] > 0) parent.held.push_back(Parameters()[i].name);
    }
    fit.kernels = *std::move(kernels);
  }
  if (group.indices.runs.empty()) {
    fit.runs.levels.device.fit.efficiencies = parent.efficiencies;
    fit.runs.levels.device.quality.bands = parent.bands;
    return fit;
  }
  absl::StatusOr<HardwareFit> runs =
      FitHardware(parent, Pick(group.measured.runs, group.indices.runs), group.cancelled);
  if (!runs.ok()) return OfEngine(group, "samples", runs.status());
  fit.runs = *std::move(runs);
  return fit;
}

absl::Status CheckGate(const Group& group, const char* what, const char* how, double ape, int count) {
  const double most = group.request.max_median_ape();
  if (!group.request.has_max_median_ape() || ape <= most) return absl::OkStatus();
  return Refusal(Reason::kPoorFit, "max_median_ape",
                 absl::StrFormat("%s of engine \"%s\": %s median absolute percentage error %.1f%% over %d samples; "
                                 "allowed at most %.1f%%",
                                 what, group.key.first, how, 100 * ape, count, 100 * most));
}

absl::Status CheckGate(const Group& group, const GroupFit& fit) {
  absl::Status status;
  for (int metric = 0; metric < kNumMetrics && status.ok(); ++metric) {
    const MetricError& error = fit.runs.levels.device.quality.errors[metric];
    if (error.num_samples == 0) continue;
    const double ape = error.cross_validated_median_ape.value_or(error.median_ape);
    status = CheckGate(group, kMetricNames[metric], "cross-validated", ape, error.num_samples);
  }
  if (!group.indices.runs.empty()) return status;
  for (const FormatFit& format : fit.kernels->formats) {
    const std::string what = absl::StrCat("kernels of format ", MatrixFormatName(format.format));
    if (status.ok()) status = CheckGate(group, what.c_str(), "in-sample", format.error, format.kernels);
  }
  return status;
}

// The calibrations of a group: the device's, then those of models that deviate.
std::vector<v1::CalibrationSpec> SpecsOf(const Group& group, const GroupFit& fit, const Prior& prior,
                                         const std::string& hardware_id) {
  const LevelFit& device = fit.runs.levels.device;
  const EngineKernelsFit* kernels = fit.kernels ? &*fit.kernels : nullptr;
  std::vector<v1::CalibrationSpec> learned = {
      SpecOf(group, hardware_id, prior.id, prior.parent.efficiencies, {kernels, device})};
  AddRejections(fit.runs.rejected, learned.front());
  if (kernels != nullptr) AddRejections(kernels->rejected, learned.front());
  for (const LevelFit& model : fit.runs.levels.models) {
    learned.push_back(SpecOf(group, hardware_id, learned.front().id(), device.fit.efficiencies, {nullptr, model}));
  }
  return learned;
}

// Runs of the calibration that one of the same questions takes the place of; 0: there is none.
int RunsOfReplaced(const v1::CalibrationSpec& calibration, const v1::HardwareSpec& spec) {
  const auto& all = spec.calibrations();
  const auto found = std::find_if(all.begin(), all.end(), [&calibration](const v1::CalibrationSpec& other) {
    return catalog::AreOneFamily(other, calibration) && other.model_id() == calibration.model_id();
  });
  return found == all.end() ? 0 : found->samples_used();
}

void Report(const Group& group, const GroupFit& fit, const std::vector<v1::CalibrationSpec>& learned,
            const v1::HardwareSpec& before, v1::CalibrationReport& report) {
  const EngineKernelsFit* kernels = fit.kernels ? &*fit.kernels : nullptr;
  const std::vector<Sample> runs = Pick(group.measured.runs, group.indices.runs);
  for (size_t i = 0; i < learned.size(); ++i) {
    const LevelFit& level = i == 0 ? fit.runs.levels.device : fit.runs.levels.models[i - 1];
    *report.add_calibrations() = learned[i];
    ReportEvidence(learned[i], kernels, Pick(runs, level.used), RunsOfReplaced(learned[i], before), report);
  }
  AddSamples(fit.runs.rejected, group.indices.runs, *report.mutable_rejected());
  AddSamples(fit.runs.suspicious, group.indices.runs, *report.mutable_suspicious());
  if (kernels != nullptr) ReportKernels(*kernels, group.indices.kernels, learned.front(), report);
}

absl::Status LearnGroup(const Group& group, const catalog::Snapshot& snapshot, v1::HardwareSpec& spec,
                        v1::CalibrationReport& report) {
  const Prior prior = PriorOf(group, spec.id(), snapshot);
  const absl::StatusOr<GroupFit> fit = FitGroup(group, prior.parent);
  if (!fit.ok()) return fit.status();
  if (absl::Status status = CheckGate(group, *fit); !status.ok()) return status;
  const std::vector<v1::CalibrationSpec> learned = SpecsOf(group, *fit, prior, spec.id());
  Report(group, *fit, learned, spec, report);
  Forget(learned.front(), spec);
  for (const v1::CalibrationSpec& calibration : learned) *spec.add_calibrations() = calibration;
  return absl::OkStatus();
}

}  // namespace

absl::Status LearnCalibrations(const v1::RegisterHardwareRequest& request, const Measured& measured, Learn which,
                               const catalog::Snapshot& snapshot, absl::Time now, Cancelled cancelled,
                               v1::HardwareSpec& spec, v1::CalibrationReport& report) {
  for (const auto& [key, indices] : GroupsOf(request, measured.runs)) {
    if (indices.runs.empty() != (which == Learn::kFromKernelsAlone)) continue;
    const absl::Status status = LearnGroup({request, key, indices, measured, now, cancelled}, snapshot, spec, report);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

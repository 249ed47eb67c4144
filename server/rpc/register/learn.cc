#include "server/rpc/register/learn.h"

#include <optional>
#include <vector>

#include "estimator/base/errors.h"
#include "estimator/fit/hardware_fit.h"
#include "estimator/fit/sample_faults.h"
#include "server/catalog/spec/parse.h"
#include "server/rpc/register/learn_calibrations.h"
#include "server/rpc/register/learn_profile.h"
#include "server/rpc/register/probes.h"
#include "server/rpc/register/read_kernels.h"
#include "server/rpc/register/read_samples.h"

namespace foretoken::rpc {
namespace {

// A profile, where the samples allow one; too few of them for it is no fault if a calibration comes of them.
absl::StatusOr<std::optional<LinearProfile>> TryProfile(const v1::RegisterHardwareRequest& request,
                                                        const std::vector<Sample>& samples, v1::HardwareSpec& spec,
                                                        v1::ProfileReport& report) {
  if (samples.empty() || !ShareOneProfile(request, samples)) return std::nullopt;
  absl::StatusOr<LinearProfile> profile = LearnProfile(samples, spec, report);
  if (profile.ok()) return *std::move(profile);
  if (DetailOf(profile.status()).reason == Reason::kInsufficientSamples) return std::nullopt;
  return profile.status();
}

// Why so few samples were left that a profile came of them and no calibration.
void TellFaults(const std::vector<Sample>& samples, v1::CalibrationReport& report) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::optional<SampleFault> fault = FindFault(samples[i]);
    if (!fault) continue;
    v1::RejectedSample& rejected = *report.add_rejected();
    rejected.set_index(static_cast<int>(i));
    rejected.set_reason(fault->reason);
  }
}

// The request's, on `figures`, which outlives them.
absl::StatusOr<Measured> ReadMeasured(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot,
                                      const Hardware& figures) {
  absl::StatusOr<std::vector<Sample>> runs = ReadSamples(request, snapshot, figures);
  if (!runs.ok()) return runs.status();
  absl::StatusOr<std::vector<KernelSample>> kernels = ReadKernels(request, figures);
  if (!kernels.ok()) return kernels.status();
  return Measured{figures, *std::move(runs), *std::move(kernels)};
}

// A profile and calibrations out of the runs, with the kernels of their engines.
absl::Status LearnFromRuns(const v1::RegisterHardwareRequest& request, const Measured& measured,
                           const catalog::Snapshot& snapshot, absl::Time now, Cancelled cancelled,
                           v1::HardwareSpec& spec, v1::RegisterHardwareResponse& response) {
  if (measured.runs.empty()) return absl::OkStatus();
  v1::ProfileReport report;
  const auto profile = TryProfile(request, measured.runs, spec, report);
  if (!profile.ok()) return profile.status();
  v1::CalibrationReport& calibrations = *response.mutable_calibration_report();
  const absl::Status fitted =
      LearnCalibrations(request, measured, Learn::kFromRuns, snapshot, now, cancelled, spec, calibrations);
  if (profile->has_value()) {
    *response.mutable_report() = std::move(report);
    // A gate on the error of a calibration is not passed without one.
    if (DetailOf(fitted).reason == Reason::kInsufficientSamples && !request.has_max_median_ape()) {
      TellFaults(measured.runs, calibrations);
      return absl::OkStatus();
    }
  }
  if (!fitted.ok()) return fitted;
  // What was learned may be out of the bounds that every calibration keeps: it is user data like any other.
  const absl::StatusOr<Calibration> learned = catalog::ParseCalibration(calibrations.calibrations(0));
  if (!learned.ok()) return WithFieldPrefix(learned.status(), "calibration_report.calibrations[0].");
  if (profile->has_value() && ComesCloser(learned->efficiencies, **profile, measured.runs)) {
    Supersede(**profile, learned->id, spec);
  }
  return absl::OkStatus();
}

}  // namespace

bool HasMeasurements(const v1::RegisterHardwareRequest& request) {
  return !request.samples().empty() || !request.kernels().empty();
}

absl::Status LearnFromSamples(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot,
                              absl::Time now, Cancelled cancelled, catalog::HardwareDraft& draft,
                              v1::RegisterHardwareResponse& response) {
  const absl::StatusOr<Hardware> figures = draft.hardware();  // a copy: samples point at it while the draft grows
  if (!figures.ok()) return WithFieldPrefix(figures.status(), "spec.");
  const absl::StatusOr<Measured> measured = ReadMeasured(request, snapshot, *figures);
  if (!measured.ok()) return measured.status();
  draft.Inherit(snapshot);
  v1::HardwareSpec& spec = draft.lists();

  absl::Status status = LearnFromRuns(request, *measured, snapshot, now, cancelled, spec, response);
  if (!status.ok()) return status;
  v1::CalibrationReport& calibrations = *response.mutable_calibration_report();
  status =
      LearnCalibrations(request, *measured, Learn::kFromKernelsAlone, snapshot, now, cancelled, spec, calibrations);
  if (!status.ok()) return status;
  if (calibrations.calibrations().empty()) return absl::OkStatus();
  const absl::StatusOr<Hardware>& after = draft.hardware();
  if (!after.ok()) return WithFieldPrefix(after.status(), "spec.");
  const auto before = snapshot.FindHardware(spec.id(), "spec.id");
  CompareProbes(snapshot, before.ok() ? &(*before)->hardware : nullptr, *after, calibrations);
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

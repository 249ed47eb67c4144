#include "estimator/estimator.h"

#include <utility>

#include "estimator/calibration/calibration.h"

#include "estimator/cost.h"
#include "estimator/efficiencies.h"
#include "estimator/errors.h"
#include "estimator/kpi.h"
#include "estimator/linear_profile.h"
#include "estimator/operator_model.h"
#include "estimator/slo.h"

namespace foretoken {
namespace {

// The question is one that the profile was not made for; another method may answer it.
bool IsBeyondProfile(const absl::Status& status) {
  const Reason reason = DetailOf(status).reason;
  return reason == Reason::kNotModelled || reason == Reason::kMissingFigure;
}

// By the scenario's calibration: of its very hardware, or carried over from its engine's other devices.
absl::Status Calibrated(const Scenario& scenario, const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  const Calibration* calibration = scenario.calibration;
  if (calibration == nullptr) {
    return FillOperatorModel(scenario, GenericPrior(), Provenance::kDatasheet, detail, memo, estimate);
  }
  const bool own = !calibration->hardware_id.empty();
  const Provenance provenance = own ? Provenance::kCalibrated : Provenance::kTransferred;
  absl::Status status = FillOperatorModel(scenario, calibration->efficiencies, provenance, detail, memo, estimate);
  if (!status.ok()) return status;
  estimate.calibration_id = calibration->id;
  AddBands(*calibration, estimate);
  return status;
}

absl::Status Take(absl::StatusOr<Estimate> made, Estimate& estimate) {
  if (made.ok()) estimate = *std::move(made);
  return made.status();
}

absl::Status ByMethod(const Scenario& scenario, const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  switch (scenario.method) {
    case Method::kLinearProfile:
      return Take(EstimateLinearProfile(scenario, detail), estimate);
    case Method::kKpi:
      return Take(EstimateKpi(scenario, detail), estimate);
    case Method::kSpeedOfLight:
      return FillOperatorModel(scenario, SpeedOfLight(), Provenance::kSpeedOfLight, detail, memo, estimate);
    case Method::kOperatorModel:
      break;
    case Method::kBestAvailable:
      if (const LinearProfile* profile = FindProfile(scenario)) {
        const absl::Status status = Take(EstimateLinearProfile(scenario, *profile, detail), estimate);
        if (!IsBeyondProfile(status)) return status;
      }
      break;
  }
  return Calibrated(scenario, detail, memo, estimate);
}

}  // namespace

absl::Status ComputeEstimate(const Scenario& scenario, const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  if (scenario.speculation && scenario.speculation->draft_tokens == 0) {  // nothing is drafted: as if not asked for
    Scenario plain = scenario;
    plain.speculation.reset();
    return ComputeEstimate(plain, detail, memo, estimate);
  }
  estimate = Estimate();
  if (absl::Status status = ByMethod(scenario, detail, memo, estimate); !status.ok()) return status;
  estimate.cost = CostOf(scenario, estimate.throughput, estimate.warnings);
  if (scenario.slo) {
    estimate.slo = JudgeSlo(*scenario.slo, estimate.ttft.time, estimate.tpot.time, estimate.e2e.time);
  }
  return absl::OkStatus();
}

absl::StatusOr<Estimate> ComputeEstimate(const Scenario& scenario, const Detail& detail) {
  StepModelMemo memo;
  Estimate estimate;
  if (absl::Status status = ComputeEstimate(scenario, detail, memo, estimate); !status.ok()) return status;
  return estimate;
}

}  // namespace foretoken

#include "estimator/estimator.h"

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
absl::StatusOr<Estimate> Calibrated(const Scenario& scenario, const Detail& detail) {
  const Calibration* calibration = scenario.calibration;
  if (calibration == nullptr) {
    const bool served = scenario.workload.batching == BatchingPolicy::kContinuous;
    return EstimateOperatorModel(scenario, served ? GenericServedPrior() : GenericPrior(), Provenance::kDatasheet,
                                 detail);
  }
  const bool own = !calibration->hardware_id.empty();
  const Provenance provenance = own ? Provenance::kCalibrated : Provenance::kTransferred;
  absl::StatusOr<Estimate> estimate =
      EstimateOperatorModel(scenario, calibration->efficiencies, provenance, detail);
  if (!estimate.ok()) return estimate;
  estimate->calibration_id = calibration->id;
  AddBands(*calibration, *estimate);
  return estimate;
}

absl::StatusOr<Estimate> ByMethod(const Scenario& scenario, const Detail& detail) {
  switch (scenario.method) {
    case Method::kLinearProfile:
      return EstimateLinearProfile(scenario, detail);
    case Method::kKpi:
      return EstimateKpi(scenario, detail);
    case Method::kSpeedOfLight:
      return EstimateOperatorModel(scenario, SpeedOfLight(), Provenance::kSpeedOfLight, detail);
    case Method::kOperatorModel:
      break;
    case Method::kBestAvailable:
      if (const LinearProfile* profile = FindProfile(scenario); profile != nullptr && !profile->superseded) {
        absl::StatusOr<Estimate> estimate = EstimateLinearProfile(scenario, *profile, detail);
        if (!IsBeyondProfile(estimate.status())) return estimate;
      }
      break;
  }
  return Calibrated(scenario, detail);
}

}  // namespace

absl::StatusOr<Estimate> ComputeEstimate(const Scenario& scenario, const Detail& detail) {
  if (scenario.speculation && scenario.speculation->draft_tokens == 0) {  // nothing is drafted: as if not asked for
    Scenario plain = scenario;
    plain.speculation.reset();
    return ComputeEstimate(plain, detail);
  }
  absl::StatusOr<Estimate> estimate = ByMethod(scenario, detail);
  if (!estimate.ok()) return estimate;
  estimate->cost = CostOf(scenario, estimate->throughput, estimate->warnings);
  if (scenario.slo) {
    estimate->slo = JudgeSlo(*scenario.slo, estimate->ttft.time, estimate->tpot.time, estimate->e2e.time);
  }
  return estimate;
}

}  // namespace foretoken

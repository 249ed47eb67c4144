#include "estimator/methods/estimator.h"

#include <utility>

#include "estimator/base/errors.h"
#include "estimator/methods/kpi.h"
#include "estimator/methods/linear_profile.h"
#include "estimator/methods/metrics.h"
#include "estimator/methods/operator_model.h"
#include "estimator/scenario/calibration.h"

namespace foretoken {
namespace {

// The profile does not cover the scenario; another method may.
bool IsBeyondProfile(const absl::Status& status) {
  const Reason reason = DetailOf(status).reason;
  return reason == Reason::kNotModelled || reason == Reason::kMissingFigure;
}

absl::Status Take(absl::StatusOr<Estimate> made, Estimate& estimate) {
  if (made.ok()) estimate = *std::move(made);
  return made.status();
}

// `calibration` becomes the one that the estimate was made with, if any.
absl::Status ByMethod(const Scenario& scenario, const Detail& detail, StepModelMemo& memo,
                      const Calibration*& calibration, Estimate& estimate) {
  switch (scenario.method) {
    case Method::kLinearProfile:
      return Take(EstimateLinearProfile(scenario, detail), estimate);
    case Method::kKpi:
      return Take(EstimateKpi(scenario, detail), estimate);
    case Method::kSpeedOfLight:
    case Method::kOperatorModel:
      break;
    case Method::kBestAvailable:
      if (const LinearProfile* profile = FindProfile(scenario); profile != nullptr && !profile->superseded) {
        const absl::Status status = Take(EstimateLinearProfile(scenario, *profile, detail), estimate);
        if (!IsBeyondProfile(status)) return status;
      }
      break;
  }
  const OperatorMethod method = OperatorMethodOf(scenario);
  calibration = method.calibration;
  return FillOperatorModel(scenario, *method.efficiencies, method.provenance, detail, memo, estimate);
}

}  // namespace

absl::Status ComputeEstimate(const Scenario& scenario, const Detail& detail, StepModelMemo& memo, Estimate& estimate) {
  if (scenario.speculation &&
      scenario.speculation->draft_tokens == 0) {  // nothing is drafted: as without speculative decoding
    Scenario plain = scenario;
    plain.speculation.reset();
    return ComputeEstimate(plain, detail, memo, estimate);
  }
  const Calibration* calibration = nullptr;
  if (absl::Status status = ByMethod(scenario, detail, memo, calibration, estimate); !status.ok()) return status;
  FillVerdicts(scenario, calibration, estimate);
  return absl::OkStatus();
}

absl::StatusOr<Estimate> ComputeEstimate(const Scenario& scenario, const Detail& detail) {
  StepModelMemo memo;
  Estimate estimate;
  if (absl::Status status = ComputeEstimate(scenario, detail, memo, estimate); !status.ok()) return status;
  return estimate;
}

}  // namespace foretoken

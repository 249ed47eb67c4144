#include "estimator/methods/estimator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/methods/kpi.h"
#include "estimator/methods/linear_profile.h"
#include "estimator/methods/metrics.h"
#include "estimator/methods/operator_model.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/calibration.h"
#include "estimator/simulation/percentiles.h"

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

// Warns where a method whose formulas leave something out is faster than the speed of light, which no device is.
void WarnOfLight(const Scenario& scenario, StepModelMemo& memo, Estimate& estimate) {
  Scenario light = scenario;
  light.method = Method::kSpeedOfLight;
  Estimate floor;
  const absl::Status status =
      FillOperatorModel(light, SpeedOfLight(), Provenance::kSpeedOfLight, Detail(), memo, floor);
  if (!status.ok()) return;
  constexpr double kRounding = 1 - 1e-9;
  const auto warn = [&](const char* name, Seconds found, Seconds least) {
    if (found >= least * kRounding) return;
    estimate.warnings.push_back({WarningCode::kExtrapolated,
                                 absl::StrCat(name, " ", found.value(), " s is below the speed of light, ",
                                              least.value(), " s: this method leaves out what takes the time here"),
                                 "method"});
  };
  warn("TTFT", estimate.ttft.time, floor.ttft.time);
  warn("TPOT", estimate.tpot.time, floor.tpot.time);
  warn("E2E", estimate.e2e.time, floor.e2e.time);
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

// Products of inputs that are each allowed: no engine runs for as long.
void WarnOfAges(Estimate& estimate) {
  constexpr Seconds kLifetime(1e9);  // thirty years
  if (estimate.e2e.time <= kLifetime) return;
  estimate.warnings.push_back(
      {WarningCode::kExtrapolated,
       absl::StrCat("E2E ", estimate.e2e.time.value(), " s: the workload is far beyond what an engine runs"),
       "workload"});
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
  if (estimate.method == Method::kKpi || estimate.method == Method::kLinearProfile) {
    WarnOfLight(scenario, memo, estimate);
  }
  WarnOfAges(estimate);
  estimate.percentiles.reset();
  if (FindsPercentiles(scenario)) {
    const Efficiencies& efficiencies = *OperatorMethodOf(scenario).efficiencies;
    if (absl::Status found = FillPercentiles(scenario, efficiencies, estimate); !found.ok()) return found;
  }
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

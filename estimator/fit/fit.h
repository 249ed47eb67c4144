// Maximum a posteriori fit of the model's parameters to measured times: priors around a parent that are log-normal near
// it and heavy-tailed beyond, soft-L1 on log residuals (a few wild samples do not steer it), Levenberg-Marquardt on the
// logarithms.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_H_

#include <array>
#include <string_view>
#include <vector>

#include "estimator/base/cancelled.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Seconds of each; NaN: not measured, or not known.
using Times = std::array<double, kNumMetrics>;

// One measured run. The scenario's model and hardware outlive it.
struct Sample {
  Scenario scenario;
  Times measured;
  Times weights = {1, 1, 1};  // of the squared residual of each time; E2E beside TTFT and TPOT weighs nothing
};

// The samples at `indices`, in that order.
std::vector<Sample> Pick(const std::vector<Sample>& samples, const std::vector<int>& indices);

Times TimesOf(const Estimate& estimate);

// What the model says of a scenario; all NaN where it refuses.
Times PredictTimes(const Scenario& scenario, const Efficiencies& efficiencies);

struct FitOptions {
  // Spread of a residual that is noise, in log; beyond it soft-L1 turns linear.
  double noise = 0.1;
  // Factor of every parameter's log_deviation; smaller: closer to the parent.
  double freedom = 1;
  // Deviations from the parent beyond which the prior turns linear. Most engines on most devices are near their
  // parent; a port that nobody has tuned is far off in one or two parameters, and a square would forbid that.
  double tail = 2;
  // Name of a parameter that stays the parent's; empty: none.
  std::string_view held = "";
};

// Of every level that is fitted to an engine, a device or a model.
inline constexpr FitOptions kHardwareFitOptions = {};

// The samples do not tell a parameter where they leave it more than this share of its deviation.
inline constexpr double kIdentified = 0.9;

struct FitResult {
  Efficiencies efficiencies;
  std::vector<double> log_deviations;  // posterior, one a parameter
};

// The parameters that explain `samples` best, given those of their `parent`. Without samples: the parent. What is
// returned where `abandoned`, which is asked between iterations, means nothing.
FitResult Fit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options,
              Cancelled cancelled = NeverAbandoned);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_H_

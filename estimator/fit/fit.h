// Fits the model's parameters to measured latencies by maximum a posteriori. The prior is log-normal near a parent's
// parameters and heavy-tailed beyond; residuals are logarithms under a soft-L1 loss, so that a few wild measurements do
// not steer the fit. Minimised by Levenberg-Marquardt over the logarithms of the parameters.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_H_

#include <array>
#include <span>
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

// One measurement: a scenario and its latencies. The scenario's model and hardware outlive it.
struct Sample {
  Scenario scenario;
  Times measured;
  Times weights = {1, 1, 1};  // of the squared residual of each time; E2E beside TTFT and TPOT has weight 0
};

// The samples at `indices`, in that order.
std::vector<Sample> Pick(const std::vector<Sample>& samples, const std::vector<int>& indices);

Times TimesOf(const Estimate& estimate);

// The predicted latencies of a scenario; all NaN where the model refuses it.
Times PredictTimes(const Scenario& scenario, const Efficiencies& efficiencies);

struct FitOptions {
  // Spread of a residual that is noise, in log; beyond it soft-L1 turns linear.
  double noise = 0.1;
  // Factor of every parameter's log_deviation; smaller: closer to the parent.
  double freedom = 1;
  // Deviations from the parent beyond which the prior turns linear. Most engines on most devices are near their
  // parent, but an untuned port is far off in one or two parameters, which a square would forbid.
  double tail = 2;
  // Names of parameters that keep the parent's values.
  std::span<const std::string_view> held = {};
};

// The options of every fit to an engine, a device or a model.
inline constexpr FitOptions kHardwareFitOptions = {};

// Measurements do not identify a parameter where its posterior deviation is more than this share of its prior's.
inline constexpr double kIdentified = 0.9;

struct FitResult {
  Efficiencies efficiencies;
  std::vector<double> log_deviations;  // posterior, one a parameter that was fitted
};

// The parameters that explain `samples` best, given those of their `parent`. Without samples: the parent. `cancelled`
// is called between iterations; once it returns true, the result is to be discarded.
FitResult Fit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options,
              Cancelled cancelled = NeverCancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_H_

#include "estimator/calibration/sample_faults.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/operator_model.h"

namespace foretoken {
namespace {

constexpr const char* kNames[kNumMetrics] = {"ttft", "tpot", "e2e"};

}  // namespace

bool IsTime(double seconds) { return std::isfinite(seconds) && seconds > 0; }

std::optional<SampleFault> FasterThanLight(const Sample& sample) {
  if (sample.scenario.workload.batching == BatchingPolicy::kContinuous) return std::nullopt;
  const Times floor = PredictTimes(sample.scenario, SpeedOfLight());
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const double measured = sample.measured[metric];
    if (!(measured < kFasterThanLight * floor[metric])) continue;
    return SampleFault{"faster than light", absl::StrCat(kNames[metric], " ", measured,
                                                         " s is faster than the speed of light, ", floor[metric], " s")};
  }
  return std::nullopt;
}

std::optional<SampleFault> FindFault(const Sample& sample) {
  bool states_one = false;
  for (const double measured : sample.measured) {
    if (std::isnan(measured)) continue;
    if (!IsTime(measured)) return SampleFault{"no time", "a time is not finite and positive"};
    states_one = true;
  }
  if (!states_one) return SampleFault{"no time", "states none of ttft_seconds, tpot_seconds and e2e_seconds"};
  const absl::StatusOr<Estimate> estimate =
      EstimateOperatorModel(sample.scenario, GenericPrior(), Provenance::kDatasheet, Detail{});
  if (!estimate.ok()) {
    return SampleFault{"refused by the core model",
                       absl::StrCat("refused by the core model: ", estimate.status().message())};
  }
  return FasterThanLight(sample);
}

}  // namespace foretoken

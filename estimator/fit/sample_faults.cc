#include "estimator/fit/sample_faults.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/methods/operator_model.h"

namespace foretoken {
namespace {

constexpr const char* kNames[kNumMetrics] = {"ttft", "tpot", "e2e"};
constexpr double kUnlimited = 1e6;  // engines keep different shares of the memory free

// The roofline lower bound of a static batch of `sequences` that all run at the same time.
Times FloorOf(Scenario scenario, int sequences) {
  scenario.live_load.reset();
  scenario.deployment.memory_utilization = kUnlimited;
  scenario.workload.batching = BatchingPolicy::kStatic;
  scenario.workload.request_rate_per_second.reset();
  scenario.workload.batch_size = sequences;
  return PredictTimes(scenario, SpeedOfLight());
}

std::optional<SampleFault> Compare(const char* name, double measured, double floor) {
  if (!(measured < kFasterThanLight * floor)) return std::nullopt;
  return SampleFault{"faster than light",
                     absl::StrCat(name, " ", measured, " s is faster than the speed of light, ", floor, " s")};
}

// Little's law gives how many sequences decoded at the same time; a cycle of the loop holds the work of every request.
std::optional<SampleFault> FastLoop(const Sample& sample) {
  const Workload& w = sample.scenario.workload;
  const double decoding = (w.output_tokens - 1) * sample.measured[kTpot];
  const double cycle = sample.measured[kTtft] + decoding;
  const auto least = [&sample](int sequences) { return FloorOf(sample.scenario, sequences); };
  if (!std::isfinite(cycle)) return Compare("e2e", sample.measured[kE2e], least(w.batch_size)[kE2e]);
  const int sequences = std::max(1, static_cast<int>(std::floor(w.batch_size * decoding / cycle)));
  if (auto fault = Compare("tpot", sample.measured[kTpot], least(sequences)[kTpot])) return fault;
  return Compare("ttft and all steps together,", cycle, least(w.batch_size)[kTtft]);
}

}  // namespace

bool IsTime(double seconds) { return std::isfinite(seconds) && seconds > 0; }

std::optional<SampleFault> FasterThanLight(const Sample& sample) {
  if (IsContinuous(sample.scenario)) return FastLoop(sample);
  Times floor = FloorOf(sample.scenario, sample.scenario.workload.batch_size);
  // A batch that does not fit runs in sequential batches, whose steps are shorter than those of the whole.
  floor[kTpot] = PredictTimes(sample.scenario, SpeedOfLight())[kTpot];
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (auto fault = Compare(kNames[metric], sample.measured[metric], floor[metric])) return fault;
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
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(
      sample.scenario, GenericPriorOf(IsContinuous(sample.scenario)), Provenance::kDatasheet, Detail{});
  if (!estimate.ok()) {
    return SampleFault{"refused by the core model",
                       absl::StrCat("refused by the core model: ", estimate.status().message())};
  }
  return FasterThanLight(sample);
}

}  // namespace foretoken

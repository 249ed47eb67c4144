#include "tests/validation/light.h"

#include <cmath>

namespace foretoken::validation {
namespace {

constexpr double kFasterThanLight = 0.95;  // timers, and clocks above the datasheet's
constexpr double kUnlimited = 1e6;

// The least times of a static batch of `sequences`.
Times Floor(const Row& row, int sequences) {
  Scenario scenario = row.sample.scenario;
  scenario.deployment.memory_utilization = kUnlimited;
  scenario.workload.batching = BatchingPolicy::kStatic;
  scenario.workload.batch_size = sequences;
  return PredictTimes(scenario, SpeedOfLight());
}

bool IsServedFasterThanLight(const Row& row) {
  const Workload& w = row.sample.scenario.workload;
  const double decoding = (w.output_tokens - 1) * row.sample.measured[kTpot];
  const double cycle = row.sample.measured[kTtft] + decoding;
  if (!std::isfinite(cycle)) return false;
  const int sequences = std::max(1, static_cast<int>(std::floor(w.batch_size * decoding / cycle)));
  return row.sample.measured[kTpot] < kFasterThanLight * Floor(row, sequences)[kTpot] ||
         cycle < kFasterThanLight * Floor(row, w.batch_size)[kTtft];
}

}  // namespace

bool IsFasterThanLight(const Row& row) {
  if (row.served) return IsServedFasterThanLight(row);
  Times floor = Floor(row, row.sample.scenario.workload.batch_size);
  // A batch that does not fit runs in parts, whose steps are shorter than those of the whole.
  floor[kTpot] = PredictTimes(row.sample.scenario, SpeedOfLight())[kTpot];
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (row.sample.measured[metric] < kFasterThanLight * floor[metric]) return true;
  }
  return false;
}

}  // namespace foretoken::validation

// Computes the points of a planned sweep in order, chunk by chunk.
//
//   SweepRunner runner(std::move(plan));
//   while (!runner.done()) {
//     if (!runner.NextChunk(cancelled, chunk)) return;  // the caller gave up
//     Send(chunk);
//   }
//   Send(runner.Summary());
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_RUNNER_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_RUNNER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "foretoken/v1/sweep.pb.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/sweep/frontier.h"
#include "server/rpc/sweep/sweep_metric.h"
#include "server/rpc/sweep/sweep_plan.h"
#include "server/rpc/sweep/sweep_warnings.h"

namespace foretoken::rpc {

// The runner looks whether the caller gave up, and whether others wait for a turn, after this many points, or after
// this time where points are expensive.
inline constexpr int kPointsPerLook = 128;
inline constexpr std::chrono::microseconds kTimePerLook{200};
// Frontier points that a summary lists. From a larger frontier points are left out, and the summary says so.
inline constexpr int kMaxFrontierPoints = 50'000;

// Not thread-safe; one thread at a time.
class SweepRunner {
 public:
  explicit SweepRunner(SweepPlan plan);

  const SweepPlan& plan() const { return plan_; }
  bool done() const { return next_point_ == plan_.total_points; }
  int64_t points_done() const { return next_point_; }

  // Replaces the content of `chunk` with the next points. False: `cancelled` became true.
  // REQUIRES: !done().
  bool NextChunk(absl::FunctionRef<bool()> cancelled, v1::SweepChunk& chunk);

  // The summary of all points. REQUIRES: done().
  v1::SweepSummary Summary() const;

 private:
  void MoveToNextPoint();
  // Skips points that a row of output lengths has answered.
  void MoveBy(int points);
  void ReadPoint();
  // Writes the next points, up to `most`, at `row` of the chunk: as many as a row of output lengths gives at once, or
  // one.
  int ComputePoints(int row, int most, v1::SweepChunk& chunk);
  int ComputeBlock(int row, int most, v1::SweepChunk& chunk);
  void ComputePoint(int row, v1::SweepChunk& chunk);
  // Writes the figures of the block's points that have no column, from `row` of the chunk on.
  void WritePerPoint(int row);
  void WriteRefusal(const absl::Status& status, int row, v1::SweepChunk& chunk);
  void RankEstimate(int64_t point, const Estimate& estimate);
  void Rank(const TradeOff& point, bool feasible);
  // From the time that the points since the last look took.
  int PointsUntilLook();
  void PrepareChunk(int points, v1::SweepChunk& chunk);

  SweepPlan plan_;
  std::vector<const MetricReader*> readers_;  // of plan_.metrics
  v1::Scenario scenario_;                     // the base with the axes' values of the current point
  ScenarioReader reader_;
  ScenarioEstimator estimator_;
  Estimate estimate_;
  std::vector<int> indices_;  // of the current point, per axis
  std::array<bool, kNumParts> changed_ = {};
  const bool has_rows_;     // the innermost axis is one of output lengths
  bool row_tried_ = false;  // row_ is that of the current point
  std::optional<OutputRow> row_;
  OutputBlock block_;
  int64_t next_point_ = 0;
  int error_details_ = 0;
  int64_t refused_points_ = 0;
  Frontier frontier_;
  SweepWarnings warnings_;
  std::optional<TradeOff> best_under_slo_;
  std::vector<double*> columns_;  // of the chunk being filled
  int points_per_look_ = 1;
  std::chrono::steady_clock::time_point last_look_ = std::chrono::steady_clock::now();
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_RUNNER_H_

#include "server/rpc/sweep/sweep_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {
namespace {

void SetPoint(const TradeOff& point, v1::FrontierPoint& message) {
  message.set_point(point.point);
  message.set_latency_seconds(point.latency);
  message.set_output_tokens_per_second_per_device(point.throughput);
}

// What all points have is said once.
void Shorten(google::protobuf::RepeatedField<int>& column) {
  if (std::equal(column.begin() + 1, column.end(), column.begin())) column.Truncate(1);
}

}  // namespace

SweepRunner::SweepRunner(SweepPlan plan)
    : plan_(std::move(plan)),
      scenario_(plan_.base),
      reader_(*plan_.snapshot, plan_.now),
      estimator_(reader_, *plan_.snapshot),
      indices_(plan_.axes.size(), 0),
      has_rows_(IsRisingOutput(plan_.axes.back())) {
  for (const v1::Metric metric : plan_.metrics) readers_.push_back(&ReaderOf(metric));
  for (const Axis& axis : plan_.axes) axis.Apply(0, scenario_);
  reader_.ReadAll(scenario_, "base.");
}

void SweepRunner::MoveToNextPoint() {
  ++next_point_;
  for (size_t i = plan_.axes.size(); i-- > 0;) {
    const Axis& axis = plan_.axes[i];
    if (axis.size() > 1) changed_[static_cast<size_t>(axis.field().part())] = true;
    if (++indices_[i] < axis.size()) return axis.Apply(indices_[i], scenario_);
    indices_[i] = 0;
    axis.Apply(0, scenario_);
    row_tried_ = false;
  }
}

void SweepRunner::MoveBy(int points) {
  indices_.back() += points - 1;
  next_point_ += points - 1;
  MoveToNextPoint();
}

void SweepRunner::ReadPoint() {
  for (int part = 0; part < kNumParts; ++part) {
    if (!changed_[part]) continue;
    reader_.ReadPart(static_cast<Part>(part), scenario_, "base.");
    changed_[part] = false;
  }
}

void SweepRunner::PrepareChunk(int points, v1::SweepChunk& chunk) {
  chunk.Clear();
  chunk.set_first_point(next_point_);
  chunk.set_num_points(points);
  columns_.clear();
  for (const v1::Metric metric : plan_.metrics) {
    v1::SweepColumn* column = chunk.add_columns();
    column->set_metric(metric);
    column->mutable_values()->Reserve(points);
    columns_.push_back(column->mutable_values()->AddNAlreadyReserved(points));  // every point writes all of them
  }
  chunk.mutable_statuses()->Resize(points, 0);
  chunk.mutable_reasons()->Resize(points, v1::REASON_UNSPECIFIED);
  chunk.mutable_provenances()->Resize(points, v1::PROVENANCE_UNSPECIFIED);
}

bool SweepRunner::NextChunk(absl::FunctionRef<bool()> cancelled, v1::SweepChunk& chunk) {
  const auto points = static_cast<int>(std::min<int64_t>(plan_.chunk_points, plan_.total_points - next_point_));
  PrepareChunk(points, chunk);
  int until_look = 0;
  for (int row = 0; row < points;) {
    if (row >= until_look) {
      if (cancelled()) return false;
      until_look = row + PointsUntilLook();
    }
    row += ComputePoints(row, points - row, chunk);
  }
  Shorten(*chunk.mutable_statuses());
  Shorten(*chunk.mutable_reasons());
  Shorten(*chunk.mutable_provenances());
  chunk.set_progress(static_cast<double>(next_point_) / static_cast<double>(plan_.total_points));
  return true;
}

int SweepRunner::PointsUntilLook() {
  const auto now = std::chrono::steady_clock::now();
  const auto passed = now - last_look_;
  last_look_ = now;
  if (passed < kTimePerLook / 2) points_per_look_ = std::min(2 * points_per_look_, kPointsPerLook);
  if (passed > kTimePerLook) points_per_look_ = std::max(1, points_per_look_ / 2);
  return points_per_look_;
}

int SweepRunner::ComputePoints(int row, int most, v1::SweepChunk& chunk) {
  if (has_rows_ && !row_tried_) {
    ReadPoint();
    estimator_.MakeRow(row_);
    row_tried_ = true;
  }
  if (row_) {
    const int computed = ComputeBlock(row, most, chunk);
    if (computed > 0) return computed;
  }
  ReadPoint();
  ComputePoint(row, chunk);
  MoveToNextPoint();
  return 1;
}

int SweepRunner::ComputeBlock(int row, int most, v1::SweepChunk& chunk) {
  const std::vector<double>& outputs = plan_.axes.back().numbers();
  const int index = indices_.back();
  const int count = row_->Compute(&outputs[index], std::min(most, plan_.axes.back().size() - index), block_);
  if (count == 0) return 0;
  bool per_point = row_->shared().slo.has_value();
  for (size_t i = 0; i < readers_.size(); ++i) {
    const MetricReader& reader = *readers_[i];
    if (reader.shape == RowShape::kColumn) reader.column(*row_, block_, columns_[i] + row);
    if (reader.shape == RowShape::kShared) std::fill_n(columns_[i] + row, count, reader.of(row_->shared()));
    per_point = per_point || reader.shape == RowShape::kPerPoint;
  }
  const Estimate& shared = row_->shared();
  warnings_.Note(shared.warnings, next_point_, count);
  std::fill_n(chunk.mutable_provenances()->mutable_data() + row, count, static_cast<int>(shared.decode.provenance));
  if (per_point) WritePerPoint(row);
  const bool by_ttft = plan_.frontier_metric == v1::FRONTIER_METRIC_TTFT;
  for (int i = 0; i < count && !per_point; ++i) {
    Rank({next_point_ + i, by_ttft ? shared.ttft.time.value() : block_.tpot[i],
          block_.output_tokens_per_second_per_device[i]},
         false);
  }
  MoveBy(count);
  return count;
}

void SweepRunner::WritePerPoint(int row) {
  estimate_ = row_->shared();
  for (int point = 0; point < block_.count; ++point) {
    row_->FillPoint(block_, point, estimate_);
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (readers_[i]->shape == RowShape::kPerPoint) columns_[i][row + point] = readers_[i]->of(estimate_);
    }
    RankEstimate(next_point_ + point, estimate_);
  }
}

void SweepRunner::ComputePoint(int row, v1::SweepChunk& chunk) {
  const absl::Status status = estimator_.Estimate(Detail(), estimate_);
  if (!status.ok()) return WriteRefusal(status, row, chunk);
  for (size_t i = 0; i < readers_.size(); ++i) columns_[i][row] = readers_[i]->of(estimate_);
  chunk.set_provenances(row, static_cast<v1::Provenance>(estimate_.decode.provenance));
  warnings_.Note(estimate_.warnings, next_point_, 1);
  RankEstimate(next_point_, estimate_);
}

void SweepRunner::WriteRefusal(const absl::Status& status, int row, v1::SweepChunk& chunk) {
  ++refused_points_;
  chunk.set_statuses(row, static_cast<int>(status.code()));
  for (double* column : columns_) column[row] = std::numeric_limits<double>::quiet_NaN();
  chunk.set_reasons(row, static_cast<v1::Reason>(DetailOf(status).reason));
  if (error_details_ == plan_.max_error_details) return;
  ++error_details_;
  v1::SweepError* error = chunk.add_errors();
  error->set_point(next_point_);
  *error->mutable_status() = ToRpcStatus(status);
}

void SweepRunner::RankEstimate(int64_t point, const Estimate& estimate) {
  const bool by_ttft = plan_.frontier_metric == v1::FRONTIER_METRIC_TTFT;
  Rank({point, (by_ttft ? estimate.ttft : estimate.tpot).time.value(),
        estimate.throughput.output_tokens_per_second_per_device},
       estimate.slo && estimate.slo->verdict == Verdict::kFeasible);
}

void SweepRunner::Rank(const TradeOff& point, bool feasible) {
  frontier_.Add(point);
  if (!feasible) return;
  const bool better = !best_under_slo_ || point.throughput > best_under_slo_->throughput ||
                      (point.throughput == best_under_slo_->throughput && point.latency < best_under_slo_->latency);
  if (better) best_under_slo_ = point;
}

v1::SweepSummary SweepRunner::Summary() const {
  v1::SweepSummary summary;
  for (const TradeOff& point : frontier_.Points(kMaxFrontierPoints)) SetPoint(point, *summary.add_frontier());
  summary.set_frontier_points(static_cast<int64_t>(frontier_.size()));
  if (best_under_slo_) SetPoint(*best_under_slo_, *summary.mutable_best_under_slo());
  summary.set_ok_points(plan_.total_points - refused_points_);
  summary.set_refused_points(refused_points_);
  warnings_.Write(summary);
  return summary;
}

}  // namespace foretoken::rpc

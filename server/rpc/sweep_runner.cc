#include "server/rpc/sweep_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "estimator/errors.h"
#include "estimator/estimator.h"
#include "server/rpc/status.h"

namespace foretoken::rpc {
namespace {

void SetPoint(const TradeOff& point, v1::FrontierPoint& message) {
  message.set_point(point.point);
  message.set_latency_seconds(point.latency);
  message.set_output_tokens_per_second_per_device(point.throughput);
}

}  // namespace

SweepRunner::SweepRunner(SweepPlan plan)
    : plan_(std::move(plan)),
      scenario_(plan_.base),
      reader_(*plan_.snapshot, plan_.now),
      indices_(plan_.axes.size(), 0) {
  for (const v1::Metric metric : plan_.metrics) readers_.push_back(ReaderOf(metric));
  for (const Axis& axis : plan_.axes) axis.Apply(0, scenario_);
  reader_.ReadAll(scenario_, "base.");
}

void SweepRunner::MoveToNextPoint() {
  for (size_t i = plan_.axes.size(); i-- > 0;) {
    const Axis& axis = plan_.axes[i];
    if (axis.size() > 1) changed_[static_cast<size_t>(axis.field().part())] = true;
    if (++indices_[i] < axis.size()) return axis.Apply(indices_[i], scenario_);
    indices_[i] = 0;
    axis.Apply(0, scenario_);
  }
}

void SweepRunner::ReadPoint() {
  for (int part = 0; part < kNumParts; ++part) {
    if (!changed_[part]) continue;
    reader_.ReadPart(static_cast<Part>(part), scenario_, "base.");
    changed_[part] = false;
  }
}

void SweepRunner::PrepareChunk(int points, v1::SweepChunk& chunk) const {
  chunk.Clear();
  chunk.set_first_point(next_point_);
  chunk.set_num_points(points);
  for (const v1::Metric metric : plan_.metrics) {
    v1::SweepColumn* column = chunk.add_columns();
    column->set_metric(metric);
    column->mutable_values()->Resize(points, std::numeric_limits<double>::quiet_NaN());
  }
  chunk.mutable_statuses()->Resize(points, 0);
  chunk.mutable_reasons()->Resize(points, v1::REASON_UNSPECIFIED);
  chunk.mutable_provenances()->Resize(points, v1::PROVENANCE_UNSPECIFIED);
}

bool SweepRunner::NextChunk(absl::FunctionRef<bool()> abandoned, v1::SweepChunk& chunk) {
  const auto points = static_cast<int>(std::min<int64_t>(plan_.chunk_points, plan_.total_points - next_point_));
  PrepareChunk(points, chunk);
  columns_.clear();
  for (v1::SweepColumn& column : *chunk.mutable_columns()) columns_.push_back(column.mutable_values()->mutable_data());
  for (int row = 0; row < points; ++row) {
    if (row % kPointsPerLook == 0 && abandoned()) return false;
    ReadPoint();
    ComputePoint(row, chunk);
    ++next_point_;
    MoveToNextPoint();
  }
  chunk.set_progress(static_cast<double>(next_point_) / static_cast<double>(plan_.total_points));
  return true;
}

void SweepRunner::ComputePoint(int row, v1::SweepChunk& chunk) {
  const absl::Status status = reader_.Estimate(Detail(), estimate_);
  if (!status.ok()) return WriteRefusal(status, row, chunk);
  WriteEstimate(estimate_, row, chunk);
}

void SweepRunner::WriteEstimate(const Estimate& estimate, int row, v1::SweepChunk& chunk) {
  for (size_t i = 0; i < readers_.size(); ++i) columns_[i][row] = readers_[i](estimate);
  chunk.set_provenances(row, static_cast<v1::Provenance>(estimate.decode.provenance));
  Rank(estimate);
}

void SweepRunner::WriteRefusal(const absl::Status& status, int row, v1::SweepChunk& chunk) {
  ++refused_points_;
  chunk.set_statuses(row, static_cast<int>(status.code()));
  chunk.set_reasons(row, static_cast<v1::Reason>(DetailOf(status).reason));
  if (error_details_ == plan_.max_error_details) return;
  ++error_details_;
  v1::SweepError* error = chunk.add_errors();
  error->set_point(next_point_);
  *error->mutable_status() = ToRpcStatus(status);
}

void SweepRunner::Rank(const Estimate& estimate) {
  const bool by_ttft = plan_.frontier_metric == v1::FRONTIER_METRIC_TTFT;
  const TradeOff point = {.point = next_point_,
                          .latency = (by_ttft ? estimate.ttft : estimate.tpot).time.value(),
                          .throughput = estimate.throughput.output_tokens_per_second_per_device};
  frontier_.Add(point);
  if (!estimate.slo || estimate.slo->verdict != Verdict::kFeasible) return;
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
  return summary;
}

}  // namespace foretoken::rpc

#include "client/cli/validation/validation_report.h"

#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

using ScoredRows = std::array<std::vector<Scored>, 3>;

void Score(bool measured, double seconds, bool known, const v1::TimeEstimate& time, std::vector<Scored>& scored) {
  if (!measured || !known) return;
  Scored row{.measured = seconds, .predicted = time.seconds(), .in_band = std::nullopt};
  if (time.has_band()) row.in_band = time.band().low() <= seconds && seconds <= time.band().high();
  scored.push_back(row);
}

void ScoreRow(const v1::ProfileSample& sample, const v1::Estimate& estimate, ScoredRows& scored) {
  Score(sample.has_ttft_seconds(), sample.ttft_seconds(), estimate.has_ttft(), estimate.ttft(), scored[0]);
  Score(sample.has_tpot_seconds(), sample.tpot_seconds(), estimate.has_tpot(), estimate.tpot(), scored[1]);
  Score(sample.has_e2e_seconds(), sample.e2e_seconds(), estimate.has_e2e(), estimate.e2e(), scored[2]);
}

MetricErrors Errors(const ScoredRows& scored) {
  return {Summarize(scored[0]), Summarize(scored[1]), Summarize(scored[2])};
}

void Append(const ScoredRows& from, ScoredRows& to) {
  for (size_t m = 0; m < to.size(); ++m) to[m].insert(to[m].end(), from[m].begin(), from[m].end());
}

std::string RefusalName(const absl::Status& status) {
  const std::string reason = client::DetailsOf(status).reason;
  return reason.empty() ? client::CodeName(status.code()) : reason;
}

MetricErrors OverGroups(const std::map<GroupKey, GroupReport>& groups) {
  MetricErrors errors;
  for (size_t m = 0; m < errors.size(); ++m) {
    std::vector<ErrorSummary> summaries;
    for (const auto& [key, group] : groups) summaries.push_back(group.errors[m]);
    errors[m] = MeanOver(summaries);
  }
  return errors;
}

GroupKey KeyOf(const Measurement& row) {
  const std::string& engine = row.sample.deployment().engine();
  return {row.file, row.hardware_id, engine.substr(0, engine.find('@')), row.sample.model_id()};
}

void AddTime(bool known, const v1::TimeEstimate& time, std::vector<std::string>& times,
             std::vector<std::string>& bands) {
  times.push_back(FormatExact(SecondsOf(known, time)));
  bands.push_back(known && time.has_band() ? FormatExact(time.band().low()) : "");
  bands.push_back(known && time.has_band() ? FormatExact(time.band().high()) : "");
}

}  // namespace

ValidationReport MakeReport(const std::vector<Measurement>& rows, const std::vector<Prediction>& predictions) {
  ValidationReport report;
  std::map<GroupKey, ScoredRows> scored;
  for (size_t i = 0; i < rows.size(); ++i) {
    ++report.rows;
    if (!rows[i].status.ok()) {
      ++report.unreadable;
    } else if (predictions[i].status.ok()) {
      ++report.predicted;
      ScoreRow(rows[i].sample, predictions[i].estimate, scored[KeyOf(rows[i])]);
    } else {
      ++report.refusals[RefusalName(predictions[i].status)];
      ++report.groups[KeyOf(rows[i])].refused;
    }
  }
  ScoredRows all;
  for (const auto& [key, group] : scored) {
    report.groups[key].errors = Errors(group);
    Append(group, all);
  }
  for (auto& [key, group] : report.groups) {
    if (!scored.contains(key)) group.errors = Errors({});
  }
  report.pooled = Errors(all);
  report.over_groups = OverGroups(report.groups);
  return report;
}

const std::vector<std::string>& PredictionColumns() {
  static const auto& columns = *new std::vector<std::string>{
      "predicted_ttft_s", "predicted_tpot_s", "predicted_e2e_s", "ttft_low_s", "ttft_high_s", "tpot_low_s",
      "tpot_high_s",      "e2e_low_s",        "e2e_high_s",      "provenance", "status"};
  return columns;
}

std::vector<std::string> PredictionCells(const Prediction& prediction) {
  const v1::Estimate& estimate = prediction.estimate;
  std::vector<std::string> cells, bands;
  AddTime(estimate.has_ttft(), estimate.ttft(), cells, bands);
  AddTime(estimate.has_tpot(), estimate.tpot(), cells, bands);
  AddTime(estimate.has_e2e(), estimate.e2e(), cells, bands);
  cells.insert(cells.end(), bands.begin(), bands.end());
  cells.push_back(ProvenanceText(estimate));
  cells.push_back(prediction.status.ok() ? "OK" : client::DescribeInLine(prediction.status));
  return cells;
}

}  // namespace foretoken::cli

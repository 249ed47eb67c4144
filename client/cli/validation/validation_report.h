// Predictions against measurements, summarised overall and per group.
//
// Start of the room validation/: measurements in, predictions by the server, errors out. It includes huggingface/ and
// the rooms before it.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_REPORT_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_REPORT_H_

#include <array>
#include <map>
#include <string>
#include <vector>

#include "client/cli/terminal/terminal.h"
#include "client/cli/validation/error_summary.h"
#include "client/cli/validation/measurements.h"
#include "client/cli/validation/predict.h"

namespace foretoken::cli {

// Errors of the three metrics.
inline constexpr std::array<const char*, 3> kMetricNames = {"TTFT", "TPOT", "E2E"};
using MetricErrors = std::array<ErrorSummary, 3>;

// What the rows of a group have in common. Versions of one engine share a group, as in docs/validation.md.
struct GroupKey {
  std::string file, hardware, engine, model;
  auto operator<=>(const GroupKey&) const = default;
};

struct GroupReport {
  MetricErrors errors;
  int refused = 0;
};

struct ValidationReport {
  std::map<GroupKey, GroupReport> groups;
  MetricErrors pooled;       // every scored row has the same weight
  MetricErrors over_groups;  // every group has the same weight: the mean of the figures of the groups
  int rows = 0;
  int predicted = 0;
  int unreadable = 0;
  std::map<std::string, int> refusals;  // by reason or code, of readable rows
};

ValidationReport MakeReport(const std::vector<Measurement>& rows, const std::vector<Prediction>& predictions);

std::string ReportText(const ValidationReport& report, const Terminal& terminal);
std::string ReportCsv(const ValidationReport& report);  // one line per group and metric
std::string ReportJson(const ValidationReport& report);

// The columns that `--rows` adds, and their values for one row.
const std::vector<std::string>& PredictionColumns();
std::vector<std::string> PredictionCells(const Prediction& prediction);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_REPORT_H_

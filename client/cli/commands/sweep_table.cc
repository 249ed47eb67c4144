// A sweep as text: its frontier, and its points if they are few.
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/commands/sweep_output.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"
#include "client/printable.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

constexpr int kFrontierRows = 30;

// A value in the unit at the end of the metric's name.
std::string MetricText(const std::string& metric, double value) {
  if (absl::EndsWith(metric, "_seconds")) return FormatSeconds(value);
  if (absl::EndsWith(metric, "_bytes")) return FormatBytes(value);
  if (metric == "mbu" || metric == "mfu" || metric.starts_with("slo_")) return FormatPercent(value);
  return FormatCount(value);
}

// "ttft" of ttft_seconds, "tok/s/device" of output_tokens_per_second_per_device.
std::string Title(const std::string& metric) {
  static const auto& short_names =
      *new std::map<std::string, std::string>{{"output_tokens_per_second", "tok/s"},
                                              {"output_tokens_per_second_per_device", "tok/s/device"},
                                              {"output_tokens_per_second_per_user", "tok/s/user"},
                                              {"ttft_seconds", "TTFT"},
                                              {"tpot_seconds", "TPOT"},
                                              {"e2e_seconds", "E2E"}};
  const auto name = short_names.find(metric);
  return name == short_names.end() ? metric.substr(0, metric.rfind("_seconds")) : name->second;
}

std::string CoordinateText(const client::AxisValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? FormatCount(*number) : std::get<std::string>(value);
}

// "batch_size" of "workload.batch_size".
std::string ShortField(const std::string& field) { return field.substr(field.rfind('.') + 1); }

class SweepTable : public SweepOutput {
 public:
  SweepTable(const Session& session, int max_rows) : session_(session), max_rows_(max_rows) {}

  void Header(const v1::SweepHeader& header) override {
    header_ = header;
    grid_.emplace(header);
    for (int metric : header.metrics()) metrics_.push_back(EnumText(static_cast<v1::Metric>(metric)));
    std::vector<Column> columns = AxisColumns();
    for (const std::string& metric : metrics_) columns.push_back({Title(metric), Align::kRight});
    columns.push_back({"provenance"});
    points_.emplace(columns);
  }

  void Row(const client::SweepRow& row) override {
    if (row.status != 0) ++refusals_[absl::AsciiStrToUpper(EnumText(row.reason))];
    if (header_.total_points() > max_rows_) return;
    std::vector<Cell> cells = AxisCells(row.coordinates);
    for (size_t i = 0; i < metrics_.size(); ++i) {
      const double value = row.status == 0 && i < row.metrics.size() ? row.metrics[i] : kUnknown;
      cells.push_back(MetricText(metrics_[i], value));
    }
    cells.push_back(row.status == 0 ? Cell(absl::AsciiStrToUpper(EnumText(row.provenance)), Look::kDim)
                                    : Cell(absl::AsciiStrToUpper(EnumText(row.reason)), Look::kBad));
    points_->AddRow(std::move(cells));
  }

  void Error(const v1::SweepError& error) override {
    if (!first_error_.empty()) return;
    first_error_ = absl::StrCat("point ", error.point(), " (", Where(error.point()),
                                "): ", client::Describe(client::FromProto(error.status())), "\n");
  }

  void Summary(const v1::SweepSummary& summary) override {
    if (!points_->empty()) session_.out << points_->Render(session_.terminal) << "\n";
    session_.out << FrontierText(summary) << RefusalText(summary) << WarningsText(summary)
                 << session_.terminal.Paint(absl::StrCat(FormatCount(static_cast<double>(header_.total_points())),
                                                         header_.total_points() == 1 ? " point, " : " points, ",
                                                         RevisionText(header_.catalog_revision())),
                                            Look::kDim)
                 << "\n";
  }

 private:
  std::vector<Column> AxisColumns() const {
    std::vector<Column> columns;
    for (const v1::SweepAxis& axis : header_.axes()) {
      columns.push_back({ShortField(axis.field()), axis.has_numbers() ? Align::kRight : Align::kLeft});
    }
    return columns;
  }

  static std::vector<Cell> AxisCells(const std::vector<client::AxisValue>& coordinates) {
    std::vector<Cell> cells;
    for (const client::AxisValue& value : coordinates) cells.push_back(CoordinateText(value));
    return cells;
  }

  // "batch_size 8, tensor_parallel 2".
  std::string Where(int64_t point) const {
    const std::vector<client::AxisValue> coordinates = grid_->Coordinates(point);
    std::vector<std::string> parts;
    for (int i = 0; i < header_.axes_size(); ++i) {
      parts.push_back(
          client::Printable(absl::StrCat(ShortField(header_.axes(i).field()), " ", CoordinateText(coordinates[i]))));
    }
    return absl::StrJoin(parts, ", ");
  }

  std::string FrontierText(const v1::SweepSummary& summary) const {
    if (summary.frontier().empty()) return "";
    std::vector<Column> columns = AxisColumns();
    columns.push_back({"latency", Align::kRight});
    columns.push_back({"tok/s/device", Align::kRight});
    Table table(columns);
    const int size = summary.frontier_size();
    const int shown = std::min(size, kFrontierRows);
    for (int i = 0; i < shown; ++i) {
      const int64_t even = shown < 2 ? 0 : static_cast<int64_t>(i) * (size - 1) / (shown - 1);
      const v1::FrontierPoint& point = summary.frontier(static_cast<int>(even));
      std::vector<Cell> cells = AxisCells(grid_->Coordinates(point.point()));
      cells.push_back(FormatSeconds(point.latency_seconds()));
      cells.push_back(FormatCount(point.output_tokens_per_second_per_device()));
      table.AddRow(std::move(cells));
    }
    std::string text = absl::StrCat(session_.terminal.Paint("Frontier", Look::kBold),
                                    ": no other point has both lower latency and higher throughput per device",
                                    shown < size ? absl::StrCat(" (", shown, " of ", size, ", evenly spaced)") : "",
                                    "\n", table.Render(session_.terminal, 2));
    if (summary.has_best_under_slo()) {
      const v1::FrontierPoint& best = summary.best_under_slo();
      absl::StrAppend(&text, "Best point that meets the SLO: ", Where(best.point()), " at ",
                      FormatCount(best.output_tokens_per_second_per_device()), " tok/s per device\n");
    }
    return text;
  }

  std::string RefusalText(const v1::SweepSummary& summary) const {
    if (summary.refused_points() == 0) return "\n";
    std::vector<std::string> counts;
    for (const auto& [reason, count] : refusals_) {
      counts.push_back(absl::StrCat(FormatCount(static_cast<double>(count)), " ", reason));
    }
    return absl::StrCat("\n", session_.terminal.Paint("refused", Look::kWarn), ": ", absl::StrJoin(counts, ", "),
                        first_error_.empty() ? "" : "; the first is ", first_error_.empty() ? "\n" : first_error_);
  }

  std::string WarningsText(const v1::SweepSummary& summary) const {
    std::string text;
    for (const v1::SweepWarning& warning : summary.warnings()) {
      const std::string line = WarningLine(warning.warning(), session_.terminal);
      absl::StrAppend(&text, absl::StripSuffix(line, "\n"), ", ",
                      FormatCount(static_cast<double>(warning.num_points())),
                      warning.num_points() == 1 ? " point\n" : " points\n");
    }
    return text;
  }

  const Session& session_;
  const int max_rows_;
  v1::SweepHeader header_;
  std::optional<client::SweepGrid> grid_;
  std::vector<std::string> metrics_;
  std::optional<Table> points_;
  std::map<std::string, int64_t> refusals_;
  std::string first_error_;
};

}  // namespace

std::unique_ptr<SweepOutput> MakeSweepTable(const Session& session, int max_table_rows) {
  return std::make_unique<SweepTable>(session, max_table_rows);
}

}  // namespace foretoken::cli

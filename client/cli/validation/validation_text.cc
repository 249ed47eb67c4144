// A validation report as text, CSV and JSON.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/format.h"
#include "client/cli/text/json_text.h"
#include "client/cli/text/table.h"
#include "client/cli/validation/validation_report.h"

namespace foretoken::cli {
namespace {

std::vector<Cell> ErrorCells(const std::string& name, const ErrorSummary& errors) {
  return {name,
          FormatCount(errors.rows),
          FormatPercent(errors.median_absolute),
          FormatPercent(errors.mean_absolute),
          FormatSignedPercent(errors.mean_bias),
          FormatPercent(errors.coverage)};
}

Table ErrorTable() {
  return Table({{"metric"},
                {"rows", Align::kRight},
                {"median error", Align::kRight},
                {"mean error", Align::kRight},
                {"bias", Align::kRight},
                {"in band", Align::kRight}});
}

std::string Overall(const std::string& title, const MetricErrors& errors, const Terminal& terminal) {
  Table table = ErrorTable();
  for (size_t m = 0; m < errors.size(); ++m) table.AddRow(ErrorCells(kMetricNames[m], errors[m]));
  return absl::StrCat(terminal.Paint(title, Look::kBold), "\n", table.Render(terminal, 2), "\n");
}

// "8.2/9.1%": median and mean.
std::string Pair(const ErrorSummary& errors) {
  if (errors.rows == 0) return kUnknownText;
  return absl::StrCat(ThreeDigits(errors.median_absolute * 100), "/", ThreeDigits(errors.mean_absolute * 100), "%");
}

std::string Bias(const ErrorSummary& errors) {
  return errors.rows == 0 ? kUnknownText : FormatSignedPercent(errors.mean_bias);
}

std::string BaseName(const std::string& file) { return file.substr(file.rfind('/') + 1); }

std::string GroupTable(const ValidationReport& report, const Terminal& terminal) {
  Table table({{"file"},
               {"hardware"},
               {"engine"},
               {"model"},
               {"TTFT", Align::kRight},
               {"bias", Align::kRight},
               {"TPOT", Align::kRight},
               {"bias", Align::kRight},
               {"E2E", Align::kRight},
               {"bias", Align::kRight},
               {"scored", Align::kRight},
               {"refused", Align::kRight}});
  for (const auto& [key, group] : report.groups) {
    int scored = 0;
    std::vector<Cell> cells = {BaseName(key.file), key.hardware, key.engine, key.model};
    for (const ErrorSummary& errors : group.errors) {
      cells.push_back(Pair(errors));
      cells.push_back(Bias(errors));
      scored = std::max(scored, errors.rows);
    }
    cells.push_back(FormatCount(scored));
    cells.push_back(FormatCount(group.refused));
    table.AddRow(std::move(cells));
  }
  return absl::StrCat(terminal.Paint("Groups", Look::kBold), ": median/mean error\n", table.Render(terminal, 2), "\n");
}

std::string Counts(const ValidationReport& report) {
  const int refused = report.rows - report.predicted - report.unreadable;
  std::vector<std::string> reasons;
  for (const auto& [name, count] : report.refusals) reasons.push_back(absl::StrCat(name, " ", FormatCount(count)));
  return absl::StrCat(FormatCount(report.rows), " rows: ", FormatCount(report.predicted), " predicted, ",
                      FormatCount(refused), " refused", reasons.empty() ? "" : " (", absl::StrJoin(reasons, ", "),
                      reasons.empty() ? "" : ")", ", ", FormatCount(report.unreadable), " unreadable\n");
}

std::string ErrorJson(const ErrorSummary& errors) {
  return absl::StrCat("{\"rows\": ", errors.rows, ", \"median_absolute\": ", JsonNumber(errors.median_absolute),
                      ", \"mean_absolute\": ", JsonNumber(errors.mean_absolute),
                      ", \"bias\": ", JsonNumber(errors.mean_bias), ", \"in_band\": ", JsonNumber(errors.coverage),
                      "}");
}

std::string MetricsJson(const MetricErrors& errors) {
  return absl::StrCat("{\"ttft\": ", ErrorJson(errors[0]), ", \"tpot\": ", ErrorJson(errors[1]),
                      ", \"e2e\": ", ErrorJson(errors[2]), "}");
}

void AddCsvLines(const GroupKey& key, const MetricErrors& errors, int refused, std::string& text) {
  for (size_t m = 0; m < errors.size(); ++m) {
    text +=
        CsvLine({key.file, key.hardware, key.engine, key.model, kMetricNames[m], absl::StrCat(errors[m].rows),
                 absl::StrCat(refused), FormatExact(errors[m].median_absolute), FormatExact(errors[m].mean_absolute),
                 FormatExact(errors[m].mean_bias), FormatExact(errors[m].coverage)});
  }
}

}  // namespace

std::string ReportText(const ValidationReport& report, const Terminal& terminal) {
  return absl::StrCat(report.groups.empty() ? "" : GroupTable(report, terminal),
                      Overall("Mean over groups", report.over_groups, terminal),
                      Overall("All rows together", report.pooled, terminal), Counts(report),
                      "Errors are relative to the measured value; bias above 0 means predicted too slow.\n");
}

std::string ReportCsv(const ValidationReport& report) {
  std::string text =
      "file,hardware,engine,model,metric,scored,refused,median_absolute_error,mean_absolute_error,bias,in_band\n";
  for (const auto& [key, group] : report.groups) AddCsvLines(key, group.errors, group.refused, text);
  return text;
}

std::string ReportJson(const ValidationReport& report) {
  std::vector<std::string> groups, refusals;
  for (const auto& [key, group] : report.groups) {
    groups.push_back(absl::StrCat("  {\"file\": ", JsonString(key.file), ", \"hardware\": ", JsonString(key.hardware),
                                  ", \"engine\": ", JsonString(key.engine), ", \"model\": ", JsonString(key.model),
                                  ", \"refused\": ", group.refused, ", \"errors\": ", MetricsJson(group.errors), "}"));
  }
  for (const auto& [name, count] : report.refusals) refusals.push_back(absl::StrCat(JsonString(name), ": ", count));
  return absl::StrCat("{\"rows\": ", report.rows, ", \"predicted\": ", report.predicted,
                      ", \"unreadable\": ", report.unreadable, ", \"refusals\": {", absl::StrJoin(refusals, ", "),
                      "},\n \"mean_over_groups\": ", MetricsJson(report.over_groups),
                      ",\n \"all_rows\": ", MetricsJson(report.pooled), ",\n \"groups\": [\n",
                      absl::StrJoin(groups, ",\n"), "\n]}\n");
}

}  // namespace foretoken::cli

#include "tests/validation/study.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/validation/plot.h"
#include "tests/validation/reliability.h"

namespace foretoken::validation {
namespace {

constexpr const char* kFiles[] = {"ttft", "tpot", "e2e"};

// Blank where the time is not known; else with all digits.
std::string Cell(double seconds) { return std::isfinite(seconds) ? absl::StrFormat("%.17g", seconds) : ""; }

std::string ServingOf(const Row& row) {
  if (!row.served) return "static";
  return row.AtARate() ? "request rate" : "closed loop";
}

std::string PredictionLine(const Case& c, const Prediction& prediction) {
  const Row& row = *prediction.row;
  std::string line = absl::StrCat(c.name, ",", row.file, ",", row.line, ",", row.hardware, ",", row.engine, ",",
                                  row.model, ",", row.mixture ? "mixture of experts" : "dense", ",", ServingOf(row));
  for (const double seconds : row.sample.measured) absl::StrAppend(&line, ",", Cell(seconds));
  for (const double seconds : prediction.times) absl::StrAppend(&line, ",", Cell(seconds));
  return line + "\n";
}

std::string BandLine(const Case& c, int metric) {
  const double coverage = NestedCoverage(c.predictions, metric, *c.bands);
  std::string line = absl::StrCat(c.name, ",", kFiles[metric], ",");
  if (!std::isnan(coverage)) absl::StrAppendFormat(&line, "%.0f", 100 * coverage);
  const auto band = TestedBandOf(c.predictions, metric, *c.bands);
  return absl::StrCat(line, band ? absl::StrFormat(",%.2f,%.2f\n", band->low, band->high) : ",,\n");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Plots(const Case& c) {
  const std::string title = absl::StrReplaceAll(c.name, {{"_", " "}});
  std::vector<std::pair<std::string, std::string>> plots;
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (Errors(c.predictions, metric).num_groups() < 3) continue;  // too little to see
    plots.emplace_back(absl::StrCat(c.name, "_", kFiles[metric], ".svg"),
                       Scatter(absl::StrCat(kMetricNames[metric], ": ", title), c.predictions, metric));
  }
  return plots;
}

std::string PredictionsCsv(const std::vector<Case>& cases) {
  std::string csv =
      "case,file,line,hardware,engine,model,kind,serving,measured_ttft_s,measured_tpot_s,measured_e2e_s,"
      "predicted_ttft_s,predicted_tpot_s,predicted_e2e_s\n";
  for (const Case& c : cases) {
    for (const Prediction& prediction : c.predictions) absl::StrAppend(&csv, PredictionLine(c, prediction));
  }
  return csv;
}

std::string ReliabilityCsv(const std::vector<Case>& cases) {
  std::string csv = "case,metric,probability_percent,met_percent,questions\n";
  for (const Case& c : cases) {
    if (!c.bands) continue;
    for (int metric = 0; metric < kNumMetrics; ++metric) {
      for (const ReliabilityBin& bin : ReliabilityOf(c.predictions, metric, *c.bands)) {
        absl::StrAppendFormat(&csv, "%s,%s,%.0f,%.0f,%d\n", c.name, kFiles[metric], 100 * bin.probability,
                              100 * bin.met, bin.questions);
      }
    }
  }
  return csv;
}

std::string BandsCsv(const std::vector<Case>& cases) {
  std::string csv = "case,metric,coverage_percent,low,high\n";
  for (const Case& c : cases) {
    if (!c.bands) continue;
    for (int metric = 0; metric < kNumMetrics; ++metric) absl::StrAppend(&csv, BandLine(c, metric));
  }
  return csv;
}

}  // namespace foretoken::validation

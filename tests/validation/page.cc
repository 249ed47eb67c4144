#include "tests/validation/page.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/plot.h"

namespace foretoken::validation {
namespace {

constexpr const char* kFiles[] = {"ttft", "tpot", "e2e"};

struct Part {
  const char* name;
  bool (*holds)(const Row&);
};

constexpr Part kParts[] = {
    {"static", [](const Row& row) { return !row.served; }},
    {"closed loop", [](const Row& row) { return row.served && !row.AtARate(); }},
    {"closed loop, dense", [](const Row& row) { return row.served && !row.AtARate() && !row.mixture; }},
    {"at a request rate", [](const Row& row) { return row.AtARate(); }},
};

// The first, and widest, that holds the row.
std::string_view ServingOf(const Row& row) {
  return std::find_if(std::begin(kParts), std::end(kParts), [&row](const Part& part) { return part.holds(row); })->name;
}

std::string Percent(double share) { return std::isnan(share) ? "-" : absl::StrFormat("%.1f", 100 * share); }

std::string ErrorCells(const Predictions& predictions, bool pooled) {
  std::string cells;
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const Errors errors(predictions, metric);
    absl::StrAppend(&cells, " | ",
                    errors.empty() ? "-" : Percent(pooled ? errors.PooledMedian() : errors.MacroMedian()));
    if (!errors.empty()) absl::StrAppend(&cells, " (", errors.num_groups(), ")");
  }
  return absl::StrCat(cells, " |\n");
}

std::string Headlines(const std::vector<Case>& cases) {
  std::string page = "| case | serving | TTFT | TPOT | E2E |\n|---|---|---|---|---|\n";
  for (const Case& c : cases) {
    for (const Part& part : kParts) {
      const Predictions rows = Only(c.predictions, part.holds);
      if (!rows.empty()) absl::StrAppend(&page, "| ", c.name, " | ", part.name, ErrorCells(rows, c.pooled));
    }
  }
  return page;
}

std::string Bands(const std::vector<Case>& cases) {
  std::string page = "| case | TTFT | TPOT | E2E |\n|---|---|---|---|\n";
  for (const Case& c : cases) {
    if (!c.bands) continue;
    absl::StrAppend(&page, "| ", c.name);
    for (int metric = 0; metric < kNumMetrics; ++metric) {
      const double coverage = NestedCoverage(c.predictions, metric, *c.bands);
      const auto band = TestedBandOf(c.predictions, metric, *c.bands);
      absl::StrAppend(&page, " | ", std::isnan(coverage) ? "-" : absl::StrFormat("%.0f%%", 100 * coverage));
      if (band) absl::StrAppendFormat(&page, " (ships [%.2f, %.2f])", band->low, band->high);
    }
    absl::StrAppend(&page, " |\n");
  }
  return page;
}

// Errors by the value of a field, and how many times what is predicted was measured.
std::string By(const Case& c, const char* title, const std::string& (*value)(const Row&)) {
  std::set<std::pair<std::string, std::string>> values;  // with how it is served
  for (const Prediction& p : c.predictions) values.insert({value(*p.row), std::string(ServingOf(*p.row))});
  std::string page = absl::StrCat("\n| ", title, " | serving | TTFT | TPOT | E2E |\n|---|---|---|---|---|\n");
  for (const auto& [name, serving] : values) {
    const Predictions rows = Only(c.predictions, [&, &name = name, &serving = serving](const Row& row) {
      return value(row) == name && ServingOf(row) == serving;
    });
    absl::StrAppend(&page, "| ", name, " | ", serving);
    for (int metric = 0; metric < kNumMetrics; ++metric) {
      const Errors errors(rows, metric);
      absl::StrAppend(
          &page, " | ",
          errors.empty() ? "-" : absl::StrFormat("%.1f, x%.2f", 100 * errors.MacroMedian(), errors.MedianRatio()));
    }
    absl::StrAppend(&page, " |\n");
  }
  return page;
}

std::string Details(const Case& c) {
  std::string page = absl::StrCat("\n### ", c.name, "\n");
  absl::StrAppend(&page, By(c, "hardware", [](const Row& row) -> const std::string& { return row.hardware; }),
                  By(c, "engine", [](const Row& row) -> const std::string& { return row.engine; }), "\n");
  for (const auto& [name, svg] : Plots(c)) absl::StrAppend(&page, "![", c.name, "](validation/", name, ")\n");
  return page;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Plots(const Case& c) {
  std::vector<std::pair<std::string, std::string>> plots;
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (Errors(c.predictions, metric).num_groups() < 3) continue;  // too little to see
    plots.emplace_back(absl::StrCat(c.file, "_", kFiles[metric], ".svg"),
                       Scatter(absl::StrCat(kMetricNames[metric], ": ", c.name), c.predictions, metric));
  }
  return plots;
}

std::string Page(const Study& study) {
  std::string page = absl::StrCat(
      "# Errors against public measurements\n\nWritten by `tests/validation/run`; do not edit. ", study.used,
      " measured runs of `tests/validation`, and ", study.held_out,
      " of `tests/validation/held_out`, which no fit has seen.\n\nMedian absolute percentage "
      "error within each (file, hardware, engine, model), mean across; in brackets the number of groups. An E2E that "
      "a source does not state follows from its TTFT and TPOT. Five samples: "
      "median over all rows, devices, engines and "
      "20 draws. The priors as they ship were chosen with all rows in view; in the other cases no fit has seen the "
      "rows "
      "that it is scored by.\n\n",
      Headlines(study.cases));
  absl::StrAppend(&page,
                  "\n## Bands\n\nShare of rows inside an 80% band (measured over predicted) that was made "
                  "without the model or the device it is tested on, mean across groups; in brackets what ships, "
                  "made of everything. Below 72% none ships; TPOT that too "
                  "few rows state has the band of E2E, most of which is decode steps.\n\n",
                  Bands(study.cases), "\n", study.findings, "\n## Rejected\n\n", study.rejected.size(),
                  " rows are faster than 0.95 of the speed of light.\n\n");
  for (const std::string& line : study.rejected) absl::StrAppend(&page, "- ", line, "\n");
  absl::StrAppend(&page, "\n## The generic priors, fitted\n\n", study.generic,
                  "\n## By hardware and engine\n\nError, and the mean ratio of measured to predicted: above 1 the "
                  "prediction was too fast. Plots: dashed lines are 25% off.\n");
  for (const Case& c : study.cases) {
    if (c.detailed) absl::StrAppend(&page, Details(c));
  }
  return page;
}

}  // namespace foretoken::validation

// calibrate CALIBRATIONS_DIR REPORT.md FILE.csv...: fits every level to the measurements, writes one textproto each,
// cross-validates, and writes the errors as a page.
#include <cmath>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/calibration/parameters.h"
#include "foretoken/v1/calibration.pb.h"
#include "google/protobuf/text_format.h"
#include "server/catalog/catalog.h"
#include "server/catalog/embedded.h"
#include "server/catalog/store_factory.h"
#include "tests/validation/cross_validate.h"
#include "tests/validation/hierarchy.h"

namespace foretoken::validation {
namespace {

// Cross-validation within one device flatters: its rows share more with the fit than a user's will.
constexpr double kCalibratedWidening = 1.5;
constexpr double kTransferredWidening = 1;
constexpr double kFasterThanLight = 0.95;  // of the floor: timers and clocks above the datasheet's
constexpr double kIdentified = 0.9;        // posterior over prior deviation

// The one rule of rejection, the same for all rows: a static batch faster than the hardware can be.
bool IsFasterThanLight(const Row& row) {
  if (row.served) return false;
  const Times floor = PredictTimes(row.sample.scenario, SpeedOfLight());
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (row.sample.measured[metric] < kFasterThanLight * floor[metric]) return true;
  }
  return false;
}

void AddBands(const ServingErrors& errors, double widening, v1::CalibrationSpec& spec) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const auto band = BandOf(errors[spec.continuous() ? 1 : 0], static_cast<Metric>(metric), widening);
    if (!band) continue;
    v1::CalibrationBand& message = *spec.add_bands();
    message.set_metric(static_cast<v1::LatencyMetric>(v1::LATENCY_METRIC_TTFT + metric));
    message.set_low_ratio(band->low);
    message.set_high_ratio(band->high);
    message.set_coverage(band->coverage);
  }
}

void AddParameters(const Level& level, v1::CalibrationSpec& spec) {
  const double freedom = level.parent.empty() ? 1 : 0.7;
  for (size_t i = 0; i < Parameters().size(); ++i) {
    const Parameter& parameter = Parameters()[i];
    v1::CalibrationParameter& message = *spec.add_parameters();
    message.set_name(std::string(parameter.name));
    message.set_unit(std::string(parameter.unit));
    message.set_value(Get(level.fit.efficiencies, parameter));
    message.set_prior_value(Get(level.prior, parameter));
    message.set_prior_log_deviation(freedom * parameter.log_deviation);
    message.set_posterior_log_deviation(level.fit.log_deviations[i]);
    message.set_identified(message.posterior_log_deviation() <= kIdentified * message.prior_log_deviation());
  }
}

v1::CalibrationSpec SpecOf(const Level& level, const ServingErrors& errors, double widening) {
  v1::CalibrationSpec spec;
  spec.set_id(level.Id());
  spec.set_hardware_id(level.hardware);
  spec.set_engine(level.engine);
  spec.set_continuous(level.continuous);
  spec.set_level(!level.hardware.empty()                         ? v1::CALIBRATION_LEVEL_HARDWARE
                 : level.engine.find('@') != std::string::npos ? v1::CALIBRATION_LEVEL_ENGINE_VERSION
                                                                 : v1::CALIBRATION_LEVEL_ENGINE);
  spec.set_parent(level.parent);
  spec.set_model_version(kModelVersion);
  spec.set_samples_used(level.samples);
  AddParameters(level, spec);
  AddBands(errors, widening, spec);
  spec.add_sources()->set_citation("tests/validation: the rows of this engine, each with its own source");
  return spec;
}

std::string Cells(const Errors& errors) {
  std::string cells;
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const double error = errors.MacroMedian(static_cast<Metric>(metric));
    absl::StrAppend(&cells, " | ", std::isnan(error) ? "-" : absl::StrFormat("%.1f", 100 * error), " (",
                    errors.groups(static_cast<Metric>(metric)), ")");
  }
  return cells;
}

std::string CoverageCells(const Errors& errors, double widening) {
  std::string cells;
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const auto band = BandOf(errors, static_cast<Metric>(metric), widening);
    absl::StrAppend(&cells, " | ",
                    band ? absl::StrFormat("%.0f%% in [%.2f, %.2f]",
                                           100 * errors.Coverage(static_cast<Metric>(metric), *band), band->low,
                                           band->high)
                         : "-");
  }
  return cells;
}

struct Case {
  const char* name;
  const ServingErrors& errors;
  double widening;
};

std::string Page(const std::vector<Case>& cases, size_t used, int rejected) {
  std::string page = absl::StrCat(
      "# Errors on measurements that no fit has seen\n\nWritten by `tests/validation/run`; do not edit. ", used,
      " measured runs of `tests/validation`, ", rejected,
      " more rejected (a static batch faster than 0.95 of the speed of light).\n\nMedian absolute percentage error within "
      "each (file, hardware, engine, model), mean across; in brackets the number of groups. Calibrations of closed loops "
      "are worse than the generic prior on models and devices that they have not seen, so none ships: continuous "
      "batching is answered with the generic prior.\n\n| case | serving | TTFT | "
      "TPOT | E2E |\n|---|---|---|---|---|\n");
  for (const Case& c : cases) {
    absl::StrAppend(&page, "| ", c.name, " | static", Cells(c.errors[0]), " |\n");
    absl::StrAppend(&page, "| ", c.name, " | closed loop", Cells(c.errors[1]), " |\n");
  }
  absl::StrAppend(&page, "\nShare of those rows inside the shipped bands (measured over predicted), mean across "
                         "groups. The bands come from the same errors, so this shows their width, not independent proof.\n\n| case | serving "
                         "| TTFT | TPOT | E2E |\n|---|---|---|---|---|\n");
  for (const Case& c : cases) {
    absl::StrAppend(&page, "| ", c.name, " | static", CoverageCells(c.errors[0], c.widening), " |\n");
    absl::StrAppend(&page, "| ", c.name, " | closed loop", CoverageCells(c.errors[1], c.widening), " |\n");
  }
  return page;
}

int Run(const std::string& directory, const std::string& report, const std::vector<std::string>& files) {
  // Without the calibrations of last time, which may be of another version of the core model.
  std::vector<catalog::CatalogFile> entries = catalog::EmbeddedFiles();
  std::erase_if(entries, [](const catalog::CatalogFile& file) { return file.path.starts_with("calibrations/"); });
  auto bundle = catalog::ParseBundle(entries);
  auto store = catalog::OpenStore("memory:");
  const auto catalog = catalog::Catalog::Open(*std::move(bundle), *std::move(store), absl::Now);
  const std::shared_ptr<const catalog::Snapshot> snapshot = (*catalog)->snapshot();
  absl::StatusOr<std::vector<Row>> rows = ReadRows(files, *snapshot);
  if (!rows.ok()) {
    std::fprintf(stderr, "%s\n", std::string(rows.status().message()).c_str());
    return 1;
  }
  const auto rejected = static_cast<int>(std::erase_if(*rows, IsFasterThanLight));
  const ServingErrors models_out = LeaveModelsOut(*rows);
  const ServingErrors hardware_out = LeaveHardwareOut(*rows);
  const ServingErrors generic = Generic(*rows);
  for (const Level& level : FitHierarchy(*rows, [](const Row&) { return true; })) {
    // Those of closed loops predict unseen models and devices worse than the generic prior does (see the page).
    if (level.continuous) continue;
    const bool own = !level.hardware.empty();
    std::string text;
    google::protobuf::TextFormat::PrintToString(
        SpecOf(level, own ? models_out : hardware_out, own ? kCalibratedWidening : kTransferredWidening), &text);
    std::ofstream(absl::StrCat(directory, "/", level.Id(), ".textproto")) << text;
  }
  const std::string page = Page({{"hardware and engine calibrated, model left out", models_out, kCalibratedWidening},
                                 {"engine known, hardware left out", hardware_out, kTransferredWidening},
                                 {"generic prior", generic, 1}},
                                rows->size(), rejected);
  std::ofstream(report) << page;
  std::printf("%s", page.c_str());
  return 0;
}

}  // namespace
}  // namespace foretoken::validation

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: calibrate CALIBRATIONS_DIR REPORT.md FILE.csv...\n");
    return 2;
  }
  return foretoken::validation::Run(argv[1], argv[2], {argv + 3, argv + argc});
}

// calibrate CALIBRATIONS_DIR DOCS_DIR FINDINGS.md FILE.csv...: fits every level to the measurements, writes one textproto
// each, cross-validates, and writes the errors as DOCS_DIR/validation.md with plots in DOCS_DIR/validation.
#include <cstdio>
#include <fstream>
#include <iterator>

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
#include "tests/validation/light.h"
#include "tests/validation/page.h"

namespace foretoken::validation {
namespace {

// Cross-validation within one device or one engine flatters: its rows share more with the fit than a user's will.
constexpr BandRule kCalibratedBands = {.widening = 1.5};
// A port that nobody has tuned is several times slower than its engine elsewhere. A band that held it would say nothing
// of all others, so the docs tell of it instead; coverage counts its rows as outside.
constexpr BandRule kTransferredBands = {.widening = 2, .tells = [](const Row& row) { return !IsPoorlyTuned(row); }};
constexpr double kIdentified = 0.9;        // posterior over prior deviation

void AddBands(const Case& c, v1::CalibrationSpec& spec) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const auto band = BandOf(c.predictions, metric, *c.bands);
    if (!band) continue;
    v1::CalibrationBand& message = *spec.add_bands();
    message.set_metric(static_cast<v1::LatencyMetric>(v1::LATENCY_METRIC_TTFT + metric));
    message.set_low_ratio(band->low);
    message.set_high_ratio(band->high);
    message.set_coverage(band->coverage);
  }
}

void AddParameters(const Level& level, v1::CalibrationSpec& spec) {
  for (size_t i = 0; i < Parameters().size(); ++i) {
    const Parameter& parameter = Parameters()[i];
    v1::CalibrationParameter& message = *spec.add_parameters();
    message.set_name(std::string(parameter.name));
    message.set_unit(std::string(parameter.unit));
    message.set_value(Get(level.fit.efficiencies, parameter));
    message.set_prior_value(Get(level.prior, parameter));
    message.set_prior_log_deviation(level.freedom * parameter.log_deviation);
    message.set_posterior_log_deviation(level.fit.log_deviations[i]);
    message.set_identified(message.posterior_log_deviation() <= kIdentified * message.prior_log_deviation());
  }
}

v1::CalibrationSpec SpecOf(const Level& level, const Case& c) {
  v1::CalibrationSpec spec;
  spec.set_id(level.Id());
  spec.set_hardware_id(level.hardware);
  spec.set_engine(level.engine);
  spec.set_level(!level.hardware.empty()                         ? v1::CALIBRATION_LEVEL_HARDWARE
                 : level.engine.find('@') != std::string::npos ? v1::CALIBRATION_LEVEL_ENGINE_VERSION
                                                                 : v1::CALIBRATION_LEVEL_ENGINE);
  spec.set_parent(level.parent);
  spec.set_model_version(kModelVersion);
  spec.set_samples_used(level.samples);
  AddParameters(level, spec);
  AddBands(c, spec);
  spec.add_sources()->set_citation("tests/validation: the rows of this engine, each with its own source");
  return spec;
}

// The priors as shipped beside what the rows give.
std::string GenericTable(const std::vector<Row>& rows) {
  const Efficiencies batches = FitGeneric(rows, [](const Row& row) { return !row.served; });
  const Efficiencies served = FitGeneric(rows, [](const Row& row) { return row.served; });
  std::string table =
      "| parameter | unit | batches ship | batches fitted | served ships | served fitted |\n|---|---|---|---|---|---|\n";
  for (const Parameter& p : Parameters()) {
    absl::StrAppendFormat(&table, "| %s | %s | %.3g | %.3g | %.3g | %.3g |\n", std::string(p.name), std::string(p.unit),
                          Get(GenericPrior(), p), Get(batches, p), Get(GenericServedPrior(), p), Get(served, p));
  }
  return table;
}

std::string Describe(const Row& row) {
  const Workload& w = row.sample.scenario.workload;
  return absl::StrCat(row.file, ": ", row.model, " on ", row.sample.scenario.deployment.tensor_parallel, " ", row.hardware,
                      ", ", row.EngineAtVersion(), ", batch_size ", w.batch_size, ", ", w.prompt_tokens, " in, ",
                      w.output_tokens, " out");
}

std::vector<Case> MakeCases(const std::vector<Row>& rows) {
  std::vector<Case> cases;
  cases.push_back({"hardware and engine calibrated, model left out", "model_left_out", LeaveModelsOut(rows),
                   kCalibratedBands});
  cases.push_back({"engine known, hardware left out", "hardware_left_out", LeaveHardwareOut(rows),
                   kTransferredBands});
  cases.push_back({"generic prior, as it ships", "generic", Generic(rows)});
  cases.push_back({"generic prior refitted, hardware left out", "generic_hardware_left_out",
                   Only(GenericLeftOut(rows, /*and_engine=*/false), [](const Row& row) { return row.served; })});
  cases.push_back({"generic prior refitted, hardware and engine left out", "generic_left_out",
                   GenericLeftOut(rows, /*and_engine=*/true)});
  cases.push_back({.name = "five random samples of unseen hardware registered",
                   .file = "five_samples",
                   .predictions = RegisterFive(rows),
                   .pooled = true});
  return cases;
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void WriteEntries(const std::vector<Row>& rows, const std::vector<Case>& cases, const std::string& directory) {
  for (const Level& level : FitHierarchy(rows, [](const Row&) { return true; })) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(SpecOf(level, cases[level.hardware.empty() ? 1 : 0]), &text);
    Write(absl::StrCat(directory, "/", level.Id(), ".textproto"), text);
  }
}

std::string Read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int Run(const std::string& directory, const std::string& docs, const std::string& findings,
        const std::vector<std::string>& files) {
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
  Study study{.findings = Read(findings)};
  for (const Row& row : *rows) {
    if (IsFasterThanLight(row)) study.rejected.push_back(Describe(row));
  }
  std::erase_if(*rows, IsFasterThanLight);
  study.used = rows->size();
  study.cases = MakeCases(*rows);
  study.generic = GenericTable(*rows);
  WriteEntries(*rows, study.cases, directory);
  for (const Case& c : study.cases) {
    if (c.pooled) continue;
    for (const auto& [name, svg] : Plots(c)) Write(absl::StrCat(docs, "/validation/", name), svg);
  }
  const std::string page = Page(study);
  Write(docs + "/validation.md", page);
  std::printf("%s", page.c_str());
  return 0;
}

}  // namespace
}  // namespace foretoken::validation

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: calibrate CALIBRATIONS_DIR DOCS_DIR FINDINGS.md FILE.csv...\n");
    return 2;
  }
  return foretoken::validation::Run(argv[1], argv[2], argv[3], {argv + 4, argv + argc});
}

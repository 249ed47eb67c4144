#include "tests/validation/hierarchy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "estimator/calibration/hardware_fit.h"
#include "estimator/calibration/parameters.h"

namespace foretoken::validation {
namespace {

// A curve of n points tells less than n independent ones: together they weigh n^(1 - correlation). Chosen by
// leave-one-model-out error among 0, 1/4 and 1/2; errors of a generic prior are averaged over curves, so each counts
// once.
constexpr double kCorrelation = 0.25;
constexpr double kEngineFreedom = 1;  // of an engine's parameters around the generic prior
constexpr double kGenericCorrelation = 1;
constexpr double kServedTtftWeight = 0.2;  // it holds the bursts in which a source sent its requests
constexpr double kGenericNoise = 0.3;      // of a measurement, of the model's form, and of what engines differ in

// Closed loops whose requests wait longer than they decode queue for a seat, and the sources state no limit of seats.
bool WaitsForASeat(const Row& row) {
  const double decoding = (row.sample.scenario.workload.output_tokens - 1) * row.sample.measured[kTpot];
  return row.served && row.sample.measured[kTtft] > decoding;
}

// Every time that a row measures weighs by how many its group has of it.
std::vector<Sample> Weighted(const std::vector<Row>& rows, const Keep& keep, double correlation) {
  std::map<std::string, std::array<int, kNumMetrics>> counts;
  const auto tells = [&](const Row& row) { return keep(row) && !WaitsForASeat(row); };
  for (const Row& row : rows) {
    if (!tells(row)) continue;
    for (int m = 0; m < kNumMetrics; ++m) counts[row.Group()][m] += row.sample.measured[m] > 0 ? 1 : 0;
  }
  std::vector<Sample> samples;
  for (const Row& row : rows) {
    if (!tells(row)) continue;
    samples.push_back(row.sample);
    for (int m = 0; m < kNumMetrics; ++m) {
      samples.back().weights[m] = std::pow(std::max(1, counts[row.Group()][m]), -correlation);
    }
    if (row.served) samples.back().weights[kTtft] *= kServedTtftWeight;
  }
  return samples;
}

// Fits so far, by the parent's parameters and the samples: where an engine has no row of what is left out, its levels
// are those of everything.
FitResult RememberedFit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options) {
  static std::map<std::vector<double>, FitResult> fits;
  std::vector<double> key = {options.noise, options.freedom};
  for (const Parameter& parameter : Parameters()) key.push_back(Get(parent, parameter));
  for (const Sample& sample : samples) {
    const Workload& w = sample.scenario.workload;
    key.insert(key.end(), sample.weights.begin(), sample.weights.end());
    for (const double time : sample.measured) key.push_back(time > 0 ? time : 0);
    key.insert(key.end(), {static_cast<double>(w.batch_size), static_cast<double>(w.prompt_tokens),
                           static_cast<double>(w.output_tokens),
                           static_cast<double>(sample.scenario.deployment.tensor_parallel)});
  }
  const auto found = fits.find(key);
  if (found != fits.end()) return found->second;
  return fits[key] = Fit(parent, samples, options);
}

Level FitLevel(std::string hardware, std::string engine, const Level* parent, const std::vector<Row>& rows,
               const Keep& keep) {
  Level level{.hardware = std::move(hardware), .engine = std::move(engine)};
  level.parent = parent != nullptr ? parent->Id() : "";
  level.freedom = parent != nullptr ? kHardwareFitOptions.freedom : kEngineFreedom;
  level.prior = parent != nullptr ? parent->fit.efficiencies : GenericPrior();
  const std::vector<Sample> samples = Weighted(rows, keep, kCorrelation);
  level.samples = static_cast<int>(samples.size());
  level.fit = RememberedFit(level.prior, samples, {.noise = kHardwareFitOptions.noise, .freedom = level.freedom});
  return level;
}

// Engines and their versions, of which other devices may learn.
std::map<std::string, std::set<std::string>> VersionsOf(const std::vector<Row>& rows, const Keep& keep) {
  std::map<std::string, std::set<std::string>> versions;
  for (const Row& row : rows) {
    if (keep(row)) versions[row.engine].insert(row.EngineAtVersion());
  }
  return versions;
}

const Level* ParentOf(const Row& row, const std::map<std::string, Level>& engines) {
  const auto version = engines.find(row.EngineAtVersion());
  if (version != engines.end()) return &version->second;
  const auto engine = engines.find(row.engine);
  return engine != engines.end() ? &engine->second : nullptr;
}

std::map<std::string, Level> FitEngines(const std::vector<Row>& rows, const Keep& keep) {
  std::map<std::string, Level> engines;
  for (const auto& [engine, versions] : VersionsOf(rows, keep)) {
    const auto of_engine = [&, &name = engine](const Row& row) { return keep(row) && row.engine == name; };
    const Level& top = engines.emplace(engine, FitLevel("", engine, nullptr, rows, of_engine)).first->second;
    for (const std::string& version : versions) {
      if (version == engine) continue;
      const auto of_version = [&](const Row& row) { return keep(row) && row.EngineAtVersion() == version; };
      engines.emplace(version, FitLevel("", version, &top, rows, of_version));
    }
  }
  return engines;
}

}  // namespace

std::string Level::Id() const {
  const std::string of = absl::StrReplaceAll(engine, {{"@", "-"}});
  return hardware.empty() ? of : absl::StrCat(hardware, ".", of);
}

bool IsPoorlyTuned(const Row& row) { return row.hardware == "amd-mi300x-192gb"; }

std::vector<Level> FitHierarchy(const std::vector<Row>& rows, const Keep& keep) {
  const Keep batch = [&](const Row& row) { return keep(row) && !row.served; };
  std::map<std::string, Level> engines =
      FitEngines(rows, [&](const Row& row) { return batch(row) && !IsPoorlyTuned(row); });
  std::map<std::pair<std::string, std::string>, Level> devices;
  for (const Row& row : rows) {
    const std::pair key(row.hardware, row.EngineAtVersion());
    if (!batch(row) || devices.contains(key)) continue;
    const auto of_device = [&](const Row& other) {
      return batch(other) && other.hardware == key.first && other.EngineAtVersion() == key.second;
    };
    devices.emplace(key, FitLevel(key.first, key.second, ParentOf(row, engines), rows, of_device));
  }
  std::vector<Level> levels;
  for (auto& [name, level] : engines) levels.push_back(std::move(level));
  for (auto& [key, level] : devices) levels.push_back(std::move(level));
  return levels;
}

Efficiencies FitGeneric(const std::vector<Row>& rows, const Keep& keep) {
  const auto well_tuned = [&](const Row& row) { return keep(row) && !IsPoorlyTuned(row); };
  return RememberedFit(GenericPrior(), Weighted(rows, well_tuned, kGenericCorrelation), {.noise = kGenericNoise})
      .efficiencies;
}

std::vector<Calibration> ToCalibrations(const std::vector<Level>& levels) {
  std::vector<Calibration> calibrations;
  for (const Level& level : levels) {
    calibrations.push_back({.id = level.Id(),
                            .hardware_id = level.hardware,
                            .engine = level.engine,
                            .efficiencies = level.fit.efficiencies});
  }
  return calibrations;
}

}  // namespace foretoken::validation

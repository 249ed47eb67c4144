#include "tests/validation/hierarchy.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace foretoken::validation {
namespace {

// A curve of n points tells less than n independent ones: together they weigh n^(1 - kCorrelation). Chosen by
// leave-one-model-out error among 0, 1/4, 1/2 and 3/4.
constexpr double kCorrelation = 0.25;
constexpr double kNoise = 0.1;           // of a measurement and of the model's form, in log
constexpr double kEngineFreedom = 1;     // of the engine's parameters around the prior's deviations
constexpr double kNarrowerFreedom = 0.7; // of a version or a device around its parent

std::vector<Sample> Weighted(const std::vector<Row>& rows, const Keep& keep) {
  std::map<std::string, int> sizes;
  for (const Row& row : rows) sizes[row.Group()] += keep(row) ? 1 : 0;
  std::vector<Sample> samples;
  for (const Row& row : rows) {
    if (!keep(row)) continue;
    samples.push_back(row.sample);
    samples.back().weight = std::pow(sizes[row.Group()], -kCorrelation);
  }
  return samples;
}

Level FitLevel(std::string hardware, std::string engine, bool continuous, const Level* parent, const std::vector<Row>& rows,
               const Keep& keep) {
  Level level{.hardware = std::move(hardware), .engine = std::move(engine), .continuous = continuous};
  level.parent = parent != nullptr ? parent->Id() : "";
  level.prior = parent != nullptr ? parent->fit.efficiencies : GenericPrior();
  const std::vector<Sample> samples = Weighted(rows, keep);
  level.samples = static_cast<int>(samples.size());
  level.fit = Fit(level.prior, samples,
                  {.noise = kNoise, .freedom = parent != nullptr ? kNarrowerFreedom : kEngineFreedom});
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

// Of static batches or of continuous batching: `keep` accepts one of them only.
std::vector<Level> FitServing(const std::vector<Row>& rows, bool continuous, const Keep& keep) {
  const Keep well_tuned = [&](const Row& row) { return keep(row) && !IsPoorlyTuned(row); };
  std::map<std::string, Level> engines;
  for (const auto& [engine, versions] : VersionsOf(rows, well_tuned)) {
    const auto of_engine = [&, &name = engine](const Row& row) { return well_tuned(row) && row.engine == name; };
    const Level& top = engines.emplace(engine, FitLevel("", engine, continuous, nullptr, rows, of_engine)).first->second;
    for (const std::string& version : versions) {
      if (version == engine) continue;
      const auto of_version = [&](const Row& row) { return well_tuned(row) && row.EngineAtVersion() == version; };
      engines.emplace(version, FitLevel("", version, continuous, &top, rows, of_version));
    }
  }
  std::map<std::pair<std::string, std::string>, Level> devices;
  for (const Row& row : rows) {
    const std::pair key(row.hardware, row.EngineAtVersion());
    if (!keep(row) || devices.contains(key)) continue;
    const auto of_device = [&](const Row& other) {
      return keep(other) && other.hardware == key.first && other.EngineAtVersion() == key.second;
    };
    devices.emplace(key, FitLevel(key.first, key.second, continuous, ParentOf(row, engines), rows, of_device));
  }
  std::vector<Level> levels;
  for (auto& [name, level] : engines) levels.push_back(std::move(level));
  for (auto& [key, level] : devices) levels.push_back(std::move(level));
  return levels;
}

}  // namespace

std::string Level::Id() const {
  const std::string of = absl::StrCat(absl::StrReplaceAll(engine, {{"@", "-"}}), continuous ? ".continuous" : "");
  return hardware.empty() ? of : absl::StrCat(hardware, ".", of);
}

bool IsPoorlyTuned(const Row& row) { return row.hardware == "amd-mi300x-192gb"; }

std::vector<Level> FitHierarchy(const std::vector<Row>& rows, const Keep& keep) {
  std::vector<Level> levels;
  for (const bool continuous : {false, true}) {
    const auto served_so = [&](const Row& row) { return keep(row) && row.served == continuous; };
    for (Level& level : FitServing(rows, continuous, served_so)) levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<Calibration> ToCalibrations(const std::vector<Level>& levels) {
  std::vector<Calibration> calibrations;
  for (const Level& level : levels) {
    calibrations.push_back({.id = level.Id(),
                            .hardware_id = level.hardware,
                            .engine = level.engine,
                            .continuous = level.continuous,
                            .efficiencies = level.fit.efficiencies});
  }
  return calibrations;
}

}  // namespace foretoken::validation

#include "tests/validation/hierarchy.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "estimator/fit/device_fit.h"
#include "estimator/scenario/parameters.h"
#include "estimator/step/machine.h"

namespace foretoken::validation {
namespace {

// First tokens also hold what a server of the source did that no row states (docs/model/decisions.md, "Time of a prompt
// before the engine"). At 0.7 and 1 TTFT of dense models on devices left out is 7 points worse.
constexpr double kServedTtftWeight = 0.2;
constexpr double kGenericNoise = 0.3;      // of a measurement, of the model's form, and of what engines differ in
// e_d that the fit to closed loops is drawn to: their engines compute the heads that share a KV head together, on the
// matrix units, so that the vector units hardly bind (docs/model/decisions.md).
constexpr double kServedDecodeAttention = 1;
// One engine of those measured keeps its requests in step, and would move what others wait for
// (docs/model/decisions.md).
constexpr std::string_view kHeldInGeneric[] = {"prefill_share"};

// Closed loops whose requests wait longer than they decode queue for a seat, and the sources state no limit of seats.
bool WaitsForASeat(const Row& row) {
  const double decoding = (row.sample.scenario.workload.output_tokens - 1) * row.sample.measured[kTpot];
  return row.served && row.sample.measured[kTtft] > decoding;
}

// Every curve and metric weighs the same, as errors of a generic prior are averaged over curves.
std::vector<Sample> Weighted(const std::vector<Row>& rows, const Keep& keep) {
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
      samples.back().weights[m] = 1.0 / std::max(1, counts[row.Group()][m]);
    }
    if (row.served) samples.back().weights[kTtft] *= kServedTtftWeight;
  }
  return samples;
}

std::vector<double> KeyOf(const Efficiencies& parent, const std::vector<Sample>& samples, double noise) {
  std::vector<double> key = {noise};
  for (const Parameter& parameter : Parameters()) key.push_back(Get(parent, parameter));
  for (const Sample& sample : samples) {
    const Workload& w = sample.scenario.workload;
    const Deployment& d = sample.scenario.deployment;
    key.insert(key.end(), sample.weights.begin(), sample.weights.end());
    for (const double time : sample.measured) key.push_back(time > 0 ? time : 0);
    key.insert(
        key.end(),
        {static_cast<double>(w.batch_size), static_cast<double>(w.prompt_tokens), static_cast<double>(w.output_tokens),
         static_cast<double>(w.prompt_spread_tokens), static_cast<double>(w.output_spread_tokens),
         static_cast<double>(w.closed_loop_requests.value_or(0)), static_cast<double>(d.max_num_seqs.value_or(0)),
         static_cast<double>(SchedulerOf(d)), static_cast<double>(d.tensor_parallel)});
  }
  return key;
}

// Fits so far, by what they follow from: where an engine has no row of what is left out, its levels are those of all.
FitResult RememberedFit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options) {
  static std::map<std::vector<double>, FitResult> fits;
  const auto [found, fresh] = fits.try_emplace(KeyOf(parent, samples, options.noise));
  if (fresh) found->second = Fit(parent, samples, options);
  return found->second;
}

const DeviceFit& RememberedDevice(const Efficiencies& parent, const std::vector<Sample>& samples) {
  static std::map<std::vector<double>, DeviceFit> fits;
  const auto [found, fresh] = fits.try_emplace(KeyOf(parent, samples, kHardwareFitOptions.noise));
  if (fresh) found->second = FitDevice({.efficiencies = parent}, samples);
  return found->second;
}

std::vector<Sample> SamplesOf(const std::vector<Row>& rows, const Keep& keep) {
  std::vector<Sample> samples;
  for (const Row& row : rows) {
    if (keep(row)) samples.push_back(row.sample);
  }
  return samples;
}

Level FitLevel(std::string engine, const Level* parent, const std::vector<Row>& rows, const Keep& keep) {
  Level level{.engine = std::move(engine)};
  level.parent = parent != nullptr ? parent->Id() : "";
  level.prior = parent != nullptr ? parent->fit.efficiencies : GenericPrior();
  const std::vector<Sample> samples = SamplesOf(rows, keep);
  level.samples = static_cast<int>(samples.size());
  level.prior.weight_read_balance = 0;
  level.fit = RememberedFit(level.prior, samples, kHardwareFitOptions);
  for (const Sample& sample : samples) {
    double& largest = level.fit.efficiencies.weight_read_balance;
    largest = std::max(largest, VectorBalance(*sample.scenario.hardware));
  }
  return level;
}

Keep And(const Keep& a, const Keep& b) {
  return [a, b](const Row& row) { return a(row) && b(row); };
}

Keep Not(const Keep& keep) {
  return [keep](const Row& row) { return !keep(row); };
}

Keep OfEngine(std::string engine) {
  return [engine = std::move(engine)](const Row& row) { return row.engine == engine; };
}

Keep OfVersion(std::string version) {
  return [version = std::move(version)](const Row& row) { return row.EngineAtVersion() == version; };
}

bool Any(const std::vector<Row>& rows, const Keep& keep) { return std::any_of(rows.begin(), rows.end(), keep); }

// Absent: no row tells of it.
std::optional<Level> FitEngine(const std::string& engine, const std::vector<Row>& rows, const Keep& keep) {
  const Keep of_engine = And(keep, OfEngine(engine));
  if (!Any(rows, of_engine)) return std::nullopt;
  return FitLevel(engine, nullptr, rows, of_engine);
}

std::optional<Level> FitVersion(const Row& of, const std::vector<Row>& rows, const Keep& keep) {
  const Keep of_version = OfVersion(of.EngineAtVersion());
  if (of.version.empty() || !Any(rows, And(keep, of_version))) return std::nullopt;
  const Level parent = *FitEngine(of.engine, rows, keep);
  return FitLevel(of.EngineAtVersion(), &parent, rows, And(keep, of_version));
}

Level LevelOf(const Row& of, std::string parent, const Efficiencies& prior, const LevelFit& fit) {
  return {.hardware = of.hardware,
          .engine = of.EngineAtVersion(),
          .model = fit.model_id,
          .parent = std::move(parent),
          .prior = prior,
          .fit = fit.fit,
          .samples = static_cast<int>(fit.used.size())};
}

// The level of the row's device, and those of the models that deviate from it. `tuned`: the rows of `keep` that tell of
// engines.
std::vector<Level> FitDeviceLevels(const Row& of, const std::vector<Row>& rows, const Keep& keep, const Keep& tuned) {
  const Keep of_device =
      And(OfVersion(of.EngineAtVersion()), [&of](const Row& row) { return row.hardware == of.hardware; });
  const Keep others = And(tuned, Not(of_device));
  std::optional<Level> parent = FitVersion(of, rows, others);
  if (!parent) parent = FitEngine(of.engine, rows, others);
  const std::vector<Sample> samples = SamplesOf(rows, And(keep, of_device));
  const Hardware& hardware = *of.sample.scenario.hardware;
  const Efficiencies prior = parent ? TransferredTo(hardware, parent->fit.efficiencies) : GenericPrior();
  const DeviceFit& fit = RememberedDevice(prior, samples);
  const bool without_models = fit.device.used.size() < samples.size();
  std::vector<Level> levels = {LevelOf(of, parent ? parent->Id() : "", prior, fit.device)};
  for (const LevelFit& model : fit.models) {
    levels.push_back(LevelOf(of, levels.front().Id(), fit.device.fit.efficiencies, model));
    if (without_models) levels.front().apart.insert(model.model_id);
  }
  return levels;
}

}  // namespace

std::string Level::Id() const {
  const std::string of = absl::StrReplaceAll(engine, {{"@", "-"}});
  if (hardware.empty()) return of;
  return absl::StrCat(hardware, ".", of, model.empty() ? "" : ".", model);
}

bool IsPoorlyTuned(const Row& row) { return row.hardware == "amd-mi300x-192gb"; }

std::vector<Level> FitHierarchy(const std::vector<Row>& rows, const Keep& keep) {
  const Keep batch = And(keep, [](const Row& row) { return !row.served; });
  const Keep tuned = And(batch, Not(IsPoorlyTuned));
  std::map<std::string, Level> engines;               // by id
  std::map<std::string, std::vector<Level>> devices;  // by id
  for (const Row& row : rows) {
    if (tuned(row) && !engines.contains(row.engine)) engines.emplace(row.engine, *FitEngine(row.engine, rows, tuned));
    if (tuned(row) && !row.version.empty() && !engines.contains(row.EngineAtVersion())) {
      engines.emplace(row.EngineAtVersion(), *FitVersion(row, rows, tuned));
    }
    const std::string device = row.hardware + "." + row.EngineAtVersion();
    if (batch(row) && !devices.contains(device)) devices.emplace(device, FitDeviceLevels(row, rows, batch, tuned));
  }
  std::vector<Level> levels;
  for (auto& [name, level] : engines) levels.push_back(std::move(level));
  for (auto& [name, of_device] : devices) std::ranges::move(of_device, std::back_inserter(levels));
  return levels;
}

Efficiencies FitGeneric(const std::vector<Row>& rows, bool served, const Keep& keep) {
  const auto tells = [&](const Row& row) { return row.served == served && keep(row) && !IsPoorlyTuned(row); };
  Efficiencies parent = GenericPrior();
  if (served) {
    parent.decode_attention = kServedDecodeAttention;
    // At what static batches have, a fit sees no slope: the device hides so little host time.
    parent.host_prompt_layer = GenericServedPrior().host_prompt_layer;
    parent.experts = GenericServedPrior().experts;  // of kernels, which runs do not change
  }
  const FitOptions options = {.noise = kGenericNoise, .held = kHeldInGeneric};
  return RememberedFit(parent, Weighted(rows, tells), options).efficiencies;
}

std::vector<Calibration> ToCalibrations(const std::vector<Level>& levels) {
  std::vector<Calibration> calibrations;
  for (const Level& level : levels) {
    calibrations.push_back({.id = level.Id(),
                            .hardware_id = level.hardware,
                            .engine = level.engine,
                            .model_id = level.model,
                            .efficiencies = level.fit.efficiencies});
  }
  return calibrations;
}

}  // namespace foretoken::validation

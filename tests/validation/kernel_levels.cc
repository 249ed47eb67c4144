#include "tests/validation/kernel_levels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace foretoken::validation {
namespace {

using Device = std::pair<std::string, std::string>;  // hardware, engine@version
using Groups = std::map<Device, std::map<MatrixFormat, std::vector<const KernelRow*>>>;

Groups GroupsOf(const std::vector<KernelRow>& rows, const KeepKernel& keep) {
  Groups groups;
  for (const KernelRow& row : rows) {
    if (keep(row)) groups[{row.hardware, row.EngineAtVersion()}][FormatOf(row.sample)].push_back(&row);
  }
  return groups;
}

std::string NameOf(const std::string& engine) { return engine.substr(0, engine.find('@')); }

std::vector<KernelSample> SamplesOf(const std::vector<const KernelRow*>& rows) {
  std::vector<KernelSample> samples;
  for (const KernelRow* row : rows) samples.push_back(row->sample);
  return samples;
}

// Of one device and version, drawn to `parent`.
KernelLevel FitDevice(const Device& device, const Groups::mapped_type& formats, const Efficiencies& parent) {
  KernelLevel level{.hardware = device.first, .engine = device.second, .prior = parent, .fitted = parent};
  for (const auto& [format, rows] : formats) {
    const KernelFit fit = FitKernels(parent, SamplesOf(rows), format);
    const std::span<const Parameter> parameters = KernelParametersOf(format);
    const auto first = static_cast<size_t>(parameters.data() - KernelParameters().data());
    for (size_t i = 0; i < parameters.size(); ++i) {
      Set(parameters[i], Get(fit.efficiencies, parameters[i]), level.fitted);
      level.deviations[first + i] = fit.log_deviations[i];
    }
    level.starts[static_cast<size_t>(format)] = fit.start.value();
    level.used.insert(level.used.end(), rows.begin(), rows.end());
  }
  return level;
}

// The newest version of each device of an engine: the last in the order of the file, which is that of versions.
std::vector<const KernelLevel*> Newest(const std::vector<KernelLevel>& devices, const std::string& engine,
                                       const std::string& but) {
  std::map<std::string, const KernelLevel*> newest;
  for (const KernelLevel& level : devices) {
    if (NameOf(level.engine) == engine && level.hardware != but) newest[level.hardware] = &level;
  }
  std::vector<const KernelLevel*> levels;
  for (const auto& [hardware, level] : newest) levels.push_back(level);
  return levels;
}

// Geometric mean over those that have the format; 0: none has.
double MeanStart(const std::vector<const KernelLevel*>& levels, size_t format) {
  double sum = 0, count = 0;
  for (const KernelLevel* level : levels) {
    if (level->starts[format] > 0) sum += std::log(level->starts[format]), ++count;
  }
  return count > 0 ? std::exp(sum / count) : 0;
}

// Geometric means over devices of what was fitted; the rest is `base`.
KernelLevel MeanOf(const std::string& engine, const std::vector<const KernelLevel*>& levels, const Efficiencies& base) {
  KernelLevel mean{.engine = engine, .prior = base, .fitted = base};
  for (size_t i = 0; i < KernelParameters().size(); ++i) {
    double sum = 0, squares = 0, count = 0;
    for (const KernelLevel* level : levels) {
      if (level->deviations[i] <= 0) continue;
      const double value = std::log(Get(level->fitted, KernelParameters()[i]));
      sum += value, squares += value * value, ++count;
    }
    if (count == 0) continue;
    Set(KernelParameters()[i], std::exp(sum / count), mean.fitted);
    mean.deviations[i] = count > 1 ? std::sqrt(std::max(1e-6, squares / count - sum * sum / count / count)) : 1;
  }
  for (size_t format = 0; format < kNumMatrixFormats; ++format) mean.starts[format] = MeanStart(levels, format);
  for (const KernelLevel* level : levels) mean.used.insert(mean.used.end(), level->used.begin(), level->used.end());
  return mean;
}

struct Errors {
  std::vector<double> in_sample, left_out;
};

// How far a prediction is off, where the microbenchmark takes `start` seconds to start the kernels.
double ErrorOf(const KernelRow& row, Efficiencies efficiencies, double start) {
  efficiencies.microbenchmark_start = Seconds(start);
  return std::abs(*KernelTime(row.sample.kernel, *row.sample.hardware, efficiencies) / row.sample.measured - 1);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string KernelLevel::Id() const {
  const std::string of = absl::StrCat(absl::StrReplaceAll(engine, {{"@", "-"}, {"+", "-"}}), ".continuous");
  return hardware.empty() ? of : absl::StrCat(hardware, ".", of);
}

std::vector<KernelLevel> FitKernelLevels(const std::vector<KernelRow>& rows, const KeepKernel& keep,
                                         const Efficiencies& base) {
  const Groups groups = GroupsOf(rows, keep);
  std::vector<KernelLevel> first;  // each drawn to the base
  std::set<std::string> engines;
  for (const auto& [device, formats] : groups) {
    first.push_back(FitDevice(device, formats, base));
    engines.insert(NameOf(device.second));
  }
  std::vector<KernelLevel> levels;
  for (const std::string& engine : engines) levels.push_back(MeanOf(engine, Newest(first, engine, ""), base));
  for (const auto& [device, formats] : groups) {
    const KernelLevel parent = MeanOf(NameOf(device.second), Newest(first, NameOf(device.second), device.first), base);
    levels.push_back(FitDevice(device, formats, parent.fitted));
    levels.back().prior_starts = parent.starts;
  }
  return levels;
}

Efficiencies WithKernels(Efficiencies runs, const Efficiencies& kernels) {
  for (const Parameter& parameter : KernelParameters()) Set(parameter, Get(kernels, parameter), runs);
  return runs;
}

std::vector<KernelError> ErrorsOf(const std::vector<KernelRow>& rows, const Efficiencies& base) {
  const auto all = [](const KernelRow&) { return true; };
  std::map<std::tuple<std::string, std::string, MatrixFormat>, Errors> of_all;
  for (const KernelLevel& level : FitKernelLevels(rows, all, base)) {
    if (level.hardware.empty()) continue;
    for (const KernelRow* row : level.used) {
      Errors& of = of_all[{row->hardware, row->engine, FormatOf(row->sample)}];
      const auto format = static_cast<size_t>(FormatOf(row->sample));
      of.in_sample.push_back(ErrorOf(*row, level.fitted, level.starts[format]));
      of.left_out.push_back(ErrorOf(*row, level.prior, level.prior_starts[format]));
    }
  }
  std::vector<KernelError> errors;
  for (auto& [key, of] : of_all) {
    const auto& [hardware, engine, format] = key;
    errors.push_back({.hardware = hardware,
                      .engine = engine,
                      .format = format,
                      .in_sample = Median(of.in_sample),
                      .device_left_out = Median(of.left_out),
                      .rows = static_cast<int>(of.in_sample.size())});
  }
  return errors;
}

std::vector<Calibration> ToCalibrations(const std::vector<KernelLevel>& levels) {
  std::vector<Calibration> calibrations;
  for (const KernelLevel& level : levels) {
    calibrations.push_back({.id = level.Id(),
                            .hardware_id = level.hardware,
                            .engine = level.engine,
                            .continuous = true,
                            .of_kernels = true,
                            .efficiencies = level.fitted});
  }
  return calibrations;
}

}  // namespace foretoken::validation

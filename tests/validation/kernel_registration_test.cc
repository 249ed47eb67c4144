// What a user gains who times kernels of a device on which nothing else was measured: the kernels of every device and
// version, a fifth of them held out in turn.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "estimator/fit/engine_kernels_fit.h"
#include "estimator/fit/fit_errors.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "tests/paths.h"
#include "tests/validation/kernel_levels.h"

namespace foretoken::validation {
namespace {

constexpr int kFolds = 5;

// Sums over folds and formats: of medians of |predicted / measured - 1|, and of means of |log(predicted / measured)|.
struct Error {
  double median = 0, mean_log = 0;
  int count = 0;

  double Median() const { return median / count; }
  double MeanLog() const { return mean_log / count; }
};

void Add(const std::vector<KernelSample>& samples, Efficiencies efficiencies, Seconds start, Error& error) {
  efficiencies.microbenchmark_start = start;
  std::vector<double> errors;
  for (const KernelSample& sample : samples) {
    const double ratio = *KernelTime(sample.kernel, *sample.hardware, efficiencies) / sample.measured;
    errors.push_back(std::abs(ratio - 1));
    error.mean_log += std::abs(std::log(ratio)) / static_cast<double>(samples.size());
  }
  error.median += Quantile(errors, 0.5);
  ++error.count;
}

using Device = std::pair<std::string, std::string>;  // hardware, engine@version
using Folds = std::array<std::vector<KernelSample>, kFolds>;
using Formats = std::map<MatrixFormat, Folds>;

std::map<Device, Formats> FoldsOf(const std::vector<KernelRow>& rows) {
  std::map<Device, Formats> devices;
  std::mt19937 random(1);
  for (const KernelRow& row : rows) {
    devices[{row.hardware, row.EngineAtVersion()}][FormatOf(row.sample)][random() % kFolds].push_back(row.sample);
  }
  return devices;
}

// As a device has it of which nothing was measured: the constants of the engine on all others.
Efficiencies Transferred(const std::vector<KernelRow>& rows, const Device& device) {
  const std::string engine = device.second.substr(0, device.second.find('@'));
  const auto elsewhere = [&](const KernelRow& row) { return row.engine == engine && row.hardware != device.first; };
  return FitKernelLevels(rows, elsewhere, GenericServedPrior()).front().fitted;
}

struct Comparison {
  Error by_transfer, by_kernels;
};

Comparison Compare(const Efficiencies& transferred, const Formats& formats) {
  Comparison comparison;
  for (const auto& [format, folds] : formats) {
    for (int out = 0; out < kFolds; ++out) {
      std::vector<KernelSample> kept;
      for (int fold = 0; fold < kFolds; ++fold) {
        if (fold != out) kept.insert(kept.end(), folds[fold].begin(), folds[fold].end());
      }
      const auto fit = FitEngineKernels(transferred, kept);
      if (folds[out].empty()) continue;
      // The start is that of the fit for both, because no estimate has it. Where nothing explains a format, both are
      // what the device has without the kernels.
      const Seconds start = fit.ok() ? fit->formats.front().start : Seconds(30e-6);
      Add(folds[out], transferred, start, comparison.by_transfer);
      Add(folds[out], fit.ok() ? fit->efficiencies : transferred, start, comparison.by_kernels);
    }
  }
  return comparison;
}

// docs/model/fit.md, "Kernels timed alone", has the figures.
TEST(KernelRegistrationTest, KernelsOfADevicePredictItsKernelsBetterThanOtherDevicesDo) {
  const auto catalog =
      *catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(), absl::Now);
  const auto snapshot = catalog->snapshot();
  std::vector<std::string> rejected;
  const auto rows = ReadKernels(SourcePath("tests/validation/kernels"), *snapshot, rejected);
  ASSERT_TRUE(rows.ok()) << rows.status();
  double by_transfer = 0, by_kernels = 0;
  const std::map<Device, Formats> devices = FoldsOf(*rows);
  for (const auto& [device, formats] : devices) {
    const Comparison comparison = Compare(Transferred(*rows, device), formats);
    EXPECT_LT(comparison.by_kernels.MeanLog(), comparison.by_transfer.MeanLog()) << device.first << device.second;
    by_transfer += comparison.by_transfer.Median() / static_cast<double>(devices.size());
    by_kernels += comparison.by_kernels.Median() / static_cast<double>(devices.size());
  }
  RecordProperty("errors", std::to_string(by_transfer) + " to " + std::to_string(by_kernels));
  EXPECT_EQ(devices.size(), 42u);
  EXPECT_LT(by_kernels, 0.7 * by_transfer) << by_kernels << " of " << by_transfer;
}

}  // namespace
}  // namespace foretoken::validation

// Means and percentiles of a simulation, each with its standard error.
//
// The values of a simulation depend on those before them. So errors come from means of 20 batches that follow each
// other, not from single values. The error of the quantile at p takes two steps. Each batch has a share of values at or
// below the estimate, and the spread of these shares is the error of p. The values at p minus and plus that error are
// then one standard error away from the estimate. The method is that of batch means with Woodruff's interval (1952).
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_STATISTICS_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_STATISTICS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "estimator/scenario/estimate.h"

namespace foretoken {

inline constexpr size_t kBatches = 20;

// The value at p of sorted values, on straight lines between them (as numpy.percentile). REQUIRES: not empty.
double QuantileOf(const std::vector<double>& sorted, double p);

// Of values in the order in which they came. Absent: there are none.
std::optional<SimulatedTimes> TimesOf(const std::vector<double>& values);

// Counts very many values in bins, 128 to each factor of two: a quantile is within 0.4% of its value.
class GapCounts {
 public:
  GapCounts();

  // `count` values of `seconds`, in this batch.
  void Add(size_t batch, double seconds, double count);
  // `count` values spread evenly from `first` to `last`.
  void AddLine(size_t batch, double first, double last, double count);
  // Makes one batch of every two, so that the upper half is free again.
  void Halve();
  // Errors are absent where fewer than half of the batches have values.
  std::optional<SimulatedTimes> Times() const;

 private:
  static constexpr int kPerOctave = 128;
  static constexpr int kLowest = -34;  // 2^-34 s, 58 ps; shorter values count as that
  static constexpr int kOctaves = 64;
  static constexpr size_t kBins = static_cast<size_t>(kPerOctave) * kOctaves;

  struct Batch {
    std::vector<double> bins;
    double count = 0;
    double sum = 0;
  };

  static size_t BinOf(double seconds);
  static double LowOf(size_t bin);
  // The value at p of all counts together, and the share of `bins` at or below a value.
  static double ValueAt(const std::vector<double>& bins, double count, double p);
  static double ShareBelow(const std::vector<double>& bins, double count, double value);
  SimulatedValue Quantile(const Batch& all, double p) const;
  SimulatedValue Mean(const Batch& all) const;
  // The standard error of sum(part)/sum(weight), from one of both for each batch.
  template <typename Part>
  std::optional<double> RatioError(const Batch& all, double ratio, const Part& part) const;

  std::array<Batch, kBatches> batches_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_STATISTICS_H_

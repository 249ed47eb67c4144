// Errors on measurements that no fit has seen, and the bands that follow from them.
#ifndef FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_
#define FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/validation/hierarchy.h"

namespace foretoken::validation {

// Predictions of rows that were left out.
class Errors {
 public:
  void Add(const Row& row, const Times& predicted);

  // Median absolute percentage error within each group, mean across groups; NaN: nothing measured.
  double MacroMedian(Metric metric) const;
  size_t groups(Metric metric) const { return groups_[metric].size(); }
  // Quantile of log(measured / predicted), every group weighing the same.
  double Quantile(Metric metric, double share) const;
  // Share of rows inside the band, mean across groups.
  double Coverage(Metric metric, const BandRatio& band) const;

 private:
  std::array<std::map<std::string, std::vector<double>>, kNumMetrics> groups_;  // log(measured / predicted)
};

// By way of serving: static batches first, continuous ones second.
using ServingErrors = std::array<Errors, 2>;

// Every model in turn left out of all levels; rows whose device and engine kept a calibration.
ServingErrors LeaveModelsOut(const std::vector<Row>& rows);
// Every device in turn left out; rows of engines that were measured on another.
ServingErrors LeaveHardwareOut(const std::vector<Row>& rows);
// The generic prior, on everything.
ServingErrors Generic(const std::vector<Row>& rows);

// The band that holds 80% of unseen cases: quantiles of the errors, widened in log by `widening`. Absent without errors.
std::optional<BandRatio> BandOf(const Errors& errors, Metric metric, double widening);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_

// The errors of predictions by fits that had not seen the row, and the error bands that follow from them.
#ifndef FORETOKEN_TESTS_VALIDATION_ERRORS_H_
#define FORETOKEN_TESTS_VALIDATION_ERRORS_H_

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/scenario/calibration.h"
#include "tests/validation/measured.h"

namespace foretoken::validation {

// The prediction of a row by a fit that had not seen it.
struct Prediction {
  const Row* row = nullptr;
  Times times;
  std::string left_out;  // what the fit had not seen: a model, a device
};

using Predictions = std::vector<Prediction>;

// The predictions whose row `keep` accepts.
Predictions Only(const Predictions& predictions, const std::function<bool(const Row&)>& keep);

// log(measured / predicted); NaN if the row was not measured or not predicted.
double LogError(const Prediction& prediction, int metric);

// The errors of one metric, in groups: one group is one curve of one source (Row::Group).
class Errors {
 public:
  Errors(const Predictions& predictions, int metric);

  bool empty() const { return groups_.empty(); }
  size_t num_groups() const { return groups_.size(); }
  // The median absolute error within each group, averaged over groups; a share, 0.1 is 10%.
  double MacroMedian() const;
  // The band that holds 80% of the errors, with the same weight for every group, made `widening` times as wide in log.
  // Absent without errors.
  std::optional<BandRatio> Band(double widening) const;

  const std::map<std::string, std::vector<double>>& groups() const { return groups_; }

 private:
  double Quantile(double share) const;

  std::map<std::string, std::vector<double>> groups_;
};

// Which rows a band is made of, and how many times as wide in log as their errors it is made.
struct BandRule {
  double widening = 1;
  bool (*tells)(const Row&) = [](const Row&) { return true; };
};

std::optional<BandRatio> BandOf(const Predictions& predictions, int metric, const BandRule& rule);

// The band if its nested coverage is at least kLeastCoverage, else none. TPOT has the band of E2E where too few curves
// report TPOT to test it, because most of E2E is decode steps.
inline constexpr double kLeastCoverage = 0.72;
std::optional<BandRatio> TestedBandOf(const Predictions& predictions, int metric, const BandRule& rule);

// The share of rows inside a band that was made without what the row's fit had not seen, averaged over groups. NaN if
// there is nothing to test.
double NestedCoverage(const Predictions& predictions, int metric, const BandRule& rule);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_ERRORS_H_

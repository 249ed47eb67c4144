// How far predictions of rows that no fit had seen were off, and the bands that follow.
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

// What one fit that had not seen a row said of it.
struct Prediction {
  const Row* row = nullptr;
  Times times;
  std::string left_out;  // what that fit had not seen: a model, a device
};

using Predictions = std::vector<Prediction>;

// Those that `keep` accepts.
Predictions Only(const Predictions& predictions, const std::function<bool(const Row&)>& keep);

// log(measured / predicted); NaN: not measured, or not predicted.
double LogError(const Prediction& prediction, int metric);

// Errors of one metric by what is averaged within: one curve of one source.
class Errors {
 public:
  Errors(const Predictions& predictions, int metric);

  bool empty() const { return groups_.empty(); }
  size_t num_groups() const { return groups_.size(); }
  // Median absolute percentage error within each group, mean across groups; as a share.
  double MacroMedian() const;
  // Holds 80% of the errors, every group weighing the same; `widening` stretches it in log. Absent without errors.
  std::optional<BandRatio> Band(double widening) const;

  const std::map<std::string, std::vector<double>>& groups() const { return groups_; }

 private:
  double Quantile(double share) const;

  std::map<std::string, std::vector<double>> groups_;
};

// Which rows make a band, and how much wider it is made than they say, in log.
struct BandRule {
  double widening = 1;
  bool (*tells)(const Row&) = [](const Row&) { return true; };
};

std::optional<BandRatio> BandOf(const Predictions& predictions, int metric, const BandRule& rule);

// The same where it was tested and held: its nested coverage is at least kLeastCoverage. TPOT, where too few curves
// state it to test, has the band of E2E, most of which is decode steps.
inline constexpr double kLeastCoverage = 0.72;
std::optional<BandRatio> TestedBandOf(const Predictions& predictions, int metric, const BandRule& rule);

// Share of all rows inside the band that the rows of everything else left out gave, mean across groups. NaN: none.
double NestedCoverage(const Predictions& predictions, int metric, const BandRule& rule);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_ERRORS_H_

#include "tests/validation/errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace foretoken::validation {
namespace {

constexpr double kCoverage = 0.8;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double Median(std::vector<double> values) {
  if (values.empty()) return kNone;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double Ape(double log_error) { return std::abs(std::exp(-log_error) - 1); }

std::vector<double> Apes(const std::vector<double>& errors) {
  std::vector<double> apes;
  for (const double error : errors) apes.push_back(Ape(error));
  return apes;
}

bool Inside(const BandRatio& band, double error) { return std::exp(error) >= band.low && std::exp(error) <= band.high; }

}  // namespace

Predictions Only(const Predictions& predictions, const std::function<bool(const Row&)>& keep) {
  Predictions kept;
  for (const Prediction& prediction : predictions) {
    if (keep(*prediction.row)) kept.push_back(prediction);
  }
  return kept;
}

double LogError(const Prediction& prediction, int metric) {
  return std::log(prediction.row->sample.measured[metric] / prediction.times[metric]);
}

Errors::Errors(const Predictions& predictions, int metric) {
  for (const Prediction& prediction : predictions) {
    const double error = LogError(prediction, metric);
    if (std::isfinite(error)) groups_[prediction.row->Group()].push_back(error);
  }
}

double Errors::MacroMedian() const {
  double sum = 0;
  for (const auto& [group, errors] : groups_) sum += Median(Apes(errors));
  return empty() ? kNone : sum / static_cast<double>(num_groups());
}

double Errors::Quantile(double share) const {
  std::vector<std::pair<double, double>> weighted;  // error, weight
  for (const auto& [group, errors] : groups_) {
    for (const double error : errors) weighted.emplace_back(error, 1.0 / static_cast<double>(errors.size()));
  }
  std::sort(weighted.begin(), weighted.end());
  double left = share * static_cast<double>(num_groups());
  for (const auto& [error, weight] : weighted) {
    left -= weight;
    if (left <= 0) return error;
  }
  return weighted.back().first;
}

std::optional<BandRatio> Errors::Band(double widening) const {
  if (empty()) return std::nullopt;
  const double low = Quantile((1 - kCoverage) / 2) * widening;
  const double high = Quantile((1 + kCoverage) / 2) * widening;
  // The prediction itself is always inside.
  return BandRatio{.low = std::exp(std::min(0.0, low)), .high = std::exp(std::max(0.0, high)), .coverage = kCoverage};
}

std::optional<BandRatio> BandOf(const Predictions& predictions, int metric, const BandRule& rule) {
  return Errors(Only(predictions, rule.tells), metric).Band(rule.widening);
}

std::optional<BandRatio> TestedBandOf(const Predictions& predictions, int metric, const BandRule& rule) {
  const double coverage = NestedCoverage(predictions, metric, rule);
  if (metric == kTpot && std::isnan(coverage)) return TestedBandOf(predictions, kE2e, rule);
  return coverage >= kLeastCoverage ? BandOf(predictions, metric, rule) : std::nullopt;
}

double NestedCoverage(const Predictions& predictions, int metric, const BandRule& rule) {
  std::set<std::string> left_out;
  for (const Prediction& prediction : predictions) left_out.insert(prediction.left_out);
  double sum = 0;
  size_t groups = 0;
  for (const std::string& fold : left_out) {
    Predictions inside, others;
    for (const Prediction& p : predictions) (p.left_out == fold ? inside : others).push_back(p);
    const std::optional<BandRatio> band = BandOf(others, metric, rule);
    if (!band) continue;
    const Errors tested(inside, metric);
    for (const auto& [group, errors] : tested.groups()) {
      const auto hits = std::count_if(errors.begin(), errors.end(), [&](double e) { return Inside(*band, e); });
      sum += static_cast<double>(hits) / static_cast<double>(errors.size());
      ++groups;
    }
  }
  return groups == 0 ? kNone : sum / static_cast<double>(groups);
}

}  // namespace foretoken::validation

#include "tests/validation/cross_validate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace foretoken::validation {
namespace {

constexpr double kCoverage = 0.8;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Errors& Of(const Row& row, ServingErrors& errors) { return errors[row.served ? 1 : 0]; }

}  // namespace

void Errors::Add(const Row& row, const Times& predicted) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const double error = std::log(row.sample.measured[metric] / predicted[metric]);
    if (std::isfinite(error)) groups_[metric][row.Group()].push_back(error);
  }
}

double Errors::MacroMedian(Metric metric) const {
  double sum = 0;
  for (const auto& [group, errors] : groups_[metric]) {
    std::vector<double> ape;
    for (const double error : errors) ape.push_back(std::abs(std::exp(-error) - 1));
    sum += Median(std::move(ape));
  }
  return groups_[metric].empty() ? kNone : sum / static_cast<double>(groups_[metric].size());
}

double Errors::Quantile(Metric metric, double share) const {
  std::vector<std::pair<double, double>> weighted;  // error, weight
  for (const auto& [group, errors] : groups_[metric]) {
    for (const double error : errors) weighted.emplace_back(error, 1.0 / static_cast<double>(errors.size()));
  }
  std::sort(weighted.begin(), weighted.end());
  double left = share * static_cast<double>(groups_[metric].size());
  for (const auto& [error, weight] : weighted) {
    left -= weight;
    if (left <= 0) return error;
  }
  return weighted.empty() ? kNone : weighted.back().first;
}

double Errors::Coverage(Metric metric, const BandRatio& band) const {
  double sum = 0;
  for (const auto& [group, errors] : groups_[metric]) {
    const auto inside = std::count_if(errors.begin(), errors.end(), [&band](double error) {
      return std::exp(error) >= band.low && std::exp(error) <= band.high;
    });
    sum += static_cast<double>(inside) / static_cast<double>(errors.size());
  }
  return groups_[metric].empty() ? kNone : sum / static_cast<double>(groups_[metric].size());
}

ServingErrors LeaveModelsOut(const std::vector<Row>& rows) {
  std::set<std::string> models;
  for (const Row& row : rows) models.insert(row.model);
  ServingErrors errors;
  for (const std::string& model : models) {
    const Calibrations fitted(
        ToCalibrations(FitHierarchy(rows, [&model](const Row& row) { return row.model != model; })));
    for (const Row& row : rows) {
      if (row.model != model) continue;
      const Calibration* calibration = fitted.Find(row.hardware, row.EngineAtVersion(), row.served);
      const bool own = calibration != nullptr && !calibration->hardware_id.empty();
      if (own) Of(row, errors).Add(row, PredictTimes(row.sample.scenario, calibration->efficiencies));
    }
  }
  return errors;
}

ServingErrors LeaveHardwareOut(const std::vector<Row>& rows) {
  std::set<std::string> devices;
  for (const Row& row : rows) devices.insert(row.hardware);
  ServingErrors errors;
  for (const std::string& device : devices) {
    const Calibrations fitted(
        ToCalibrations(FitHierarchy(rows, [&device](const Row& row) { return row.hardware != device; })));
    for (const Row& row : rows) {
      if (row.hardware != device) continue;
      const Calibration* calibration = fitted.Find(row.hardware, row.EngineAtVersion(), row.served);
      if (calibration != nullptr) Of(row, errors).Add(row, PredictTimes(row.sample.scenario, calibration->efficiencies));
    }
  }
  return errors;
}

ServingErrors Generic(const std::vector<Row>& rows) {
  ServingErrors errors;
  for (const Row& row : rows) Of(row, errors).Add(row, PredictTimes(row.sample.scenario, GenericPrior()));
  return errors;
}

std::optional<BandRatio> BandOf(const Errors& errors, Metric metric, double widening) {
  if (errors.groups(metric) == 0) return std::nullopt;
  const double low = errors.Quantile(metric, (1 - kCoverage) / 2);
  const double high = errors.Quantile(metric, (1 + kCoverage) / 2);
  // The prediction itself is always inside.
  return BandRatio{.low = std::exp(std::min(0.0, low * widening)),
                   .high = std::exp(std::max(0.0, high * widening)),
                   .coverage = kCoverage};
}

}  // namespace foretoken::validation

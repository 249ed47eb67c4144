#include "estimator/fit/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "estimator/methods/operator_model.h"
#include "estimator/scenario/parameters.h"

namespace foretoken {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kProbe = 1e-4;          // step of the numerical derivative, in log
constexpr double kHeldDeviation = 1e-4;  // of a parameter that keeps the parent's value, in log

// `machines`: step models derived with these efficiencies; null: none are kept.
Times Predict(const Scenario& scenario, const Efficiencies& efficiencies, const StepModelCache* machines) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  StepModelMemo memo;
  memo.Forget(machines);
  Estimate estimate;
  const absl::Status status =
      FillOperatorModel(scenario, efficiencies, Provenance::kCalibrated, Detail{}, memo, estimate);
  return status.ok() ? TimesOf(estimate) : Times{kNone, kNone, kNone};
}

double Weight(const std::vector<Sample>& samples, Eigen::Index row) {
  const Sample& sample = samples[static_cast<size_t>(row / kNumMetrics)];
  const auto metric = static_cast<size_t>(row % kNumMetrics);
  // E2E follows from TTFT and TPOT: where both were measured, it would count the decode twice.
  const bool implied = metric == kE2e && sample.measured[kTtft] > 0 && sample.measured[kTpot] > 0;
  return implied ? 0 : sample.weights[metric];
}

}  // namespace

Times TimesOf(const Estimate& estimate) {
  return {estimate.ttft.time.value(), estimate.tpot.time.value(), estimate.e2e.time.value()};
}

Times PredictTimes(const Scenario& scenario, const Efficiencies& efficiencies) {
  return Predict(scenario, efficiencies, nullptr);
}

Measurements MeasurementsOf(const std::vector<Sample>& samples) {
  const auto rows = static_cast<Eigen::Index>(samples.size()) * kNumMetrics;
  VectorXd weights(rows);
  for (Eigen::Index row = 0; row < rows; ++row) weights[row] = Weight(samples, row);
  const auto misses = [&samples, rows](const Efficiencies& efficiencies) {
    const StepModelCache machines;  // campaigns vary batches and lengths on a few deployments
    VectorXd logs(rows);
    Eigen::Index row = 0;
    for (const Sample& sample : samples) {
      const Times predicted = Predict(sample.scenario, efficiencies, &machines);
      for (int metric = 0; metric < kNumMetrics; ++metric) {
        const double miss = std::log(predicted[metric] / sample.measured[metric]);
        logs[row++] = std::isfinite(miss) ? miss : 0;
      }
    }
    return logs;
  };
  return {misses, std::move(weights)};
}

FitProblem::FitProblem(const Efficiencies& parent, std::span<const Parameter> parameters, Measurements measurements,
                       const FitOptions& options)
    : parent_(parent),
      parameters_(parameters),
      measured_(std::move(measurements)),
      noise_(options.noise),
      tail_(options.tail),
      mean_(Size()),
      deviations_(Size()) {
  for (int i = 0; i < Size(); ++i) {
    const Parameter& parameter = parameters_[i];
    mean_[i] = std::log(Get(parent, parameter));
    const bool held = std::find(options.held.begin(), options.held.end(), parameter.name) != options.held.end();
    deviations_[i] = held ? kHeldDeviation : options.freedom * parameter.log_deviation;
  }
}

int FitProblem::Size() const { return static_cast<int>(parameters_.size()); }
double FitProblem::Low(int i) const { return std::log(parameters_[i].low); }
double FitProblem::High(int i) const { return std::log(parameters_[i].high); }

Efficiencies FitProblem::At(const VectorXd& x) const {
  Efficiencies efficiencies = parent_;
  for (int i = 0; i < Size(); ++i) Set(parameters_[i], std::exp(x[i]), efficiencies);
  return efficiencies;
}

VectorXd FitProblem::Residuals(const VectorXd& x) const { return measured_.misses(At(x)) / noise_; }

MatrixXd FitProblem::Jacobian(const VectorXd& x, const VectorXd& residuals) const {
  MatrixXd jacobian(residuals.size(), Size());
  for (int i = 0; i < Size(); ++i) {
    const double step = x[i] - kProbe < Low(i) ? kProbe : -kProbe;  // away from the bound
    VectorXd probe = x;
    probe[i] += step;
    jacobian.col(i) = (Residuals(probe) - residuals) / step;
  }
  return jacobian;
}

double FitProblem::Objective(const VectorXd& x, const VectorXd& residuals) const {
  double sum = 0;
  for (int i = 0; i < Size(); ++i) sum += 2 * tail_ * tail_ * (std::sqrt(1 + Far(x, i)) - 1);
  for (Eigen::Index i = 0; i < residuals.size(); ++i) {
    sum += 2 * measured_.weights[i] * (std::sqrt(1 + residuals[i] * residuals[i]) - 1);
  }
  return sum;
}

VectorXd FitProblem::Weights(const VectorXd& residuals) const {
  VectorXd weights(residuals.size());
  for (Eigen::Index i = 0; i < residuals.size(); ++i) {
    weights[i] = measured_.weights[i] / std::sqrt(1 + residuals[i] * residuals[i]);
  }
  return weights;
}

VectorXd FitProblem::Precision(const VectorXd& x) const {
  VectorXd precision(Size());
  for (int i = 0; i < Size(); ++i) precision[i] = 1 / (deviations_[i] * deviations_[i] * std::sqrt(1 + Far(x, i)));
  return precision;
}

double FitProblem::Far(const VectorXd& x, int i) const {
  const double distance = (x[i] - mean_[i]) / (tail_ * deviations_[i]);
  return distance * distance;
}

}  // namespace foretoken

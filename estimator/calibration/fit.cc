#include "estimator/calibration/fit.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "estimator/calibration/parameters.h"
#include "estimator/operator_model.h"

namespace foretoken {
namespace {

constexpr int kMostIterations = 40;
constexpr double kProbe = 1e-4;      // step of the numerical derivative, in log
constexpr double kConverged = 1e-4;  // relative change of the objective
constexpr double kFirstDamping = 1e-3;
constexpr double kMostDamping = 1e8;

using Eigen::MatrixXd;
using Eigen::VectorXd;

// `machines`: those known of these efficiencies; null: none.
Times Predict(const Scenario& scenario, const Efficiencies& efficiencies, const StepModelCache* machines) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  StepModelMemo memo;
  memo.Forget(machines);
  Estimate estimate;
  const absl::Status status =
      FillOperatorModel(scenario, efficiencies, Provenance::kCalibrated, Detail{}, memo, estimate);
  return status.ok() ? TimesOf(estimate) : Times{kNone, kNone, kNone};
}

// The problem in the logarithms of the parameters.
class Problem {
 public:
  Problem(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options)
      : parent_(parent), samples_(samples), noise_(options.noise), tail_(options.tail) {
    mean_.resize(Size());
    precision_.resize(Size());
    for (int i = 0; i < Size(); ++i) {
      const Parameter& parameter = Parameters()[i];
      mean_[i] = std::log(Get(parent, parameter));
      const double deviation = options.freedom * parameter.log_deviation;
      precision_[i] = 1 / (deviation * deviation);
    }
  }

  static int Size() { return static_cast<int>(Parameters().size()); }
  const VectorXd& mean() const { return mean_; }

  // Of the prior at x: soft-L1 beyond `tail` deviations, as weights of a squared distance.
  VectorXd Precision(const VectorXd& x) const {
    VectorXd precision(Size());
    for (int i = 0; i < Size(); ++i) precision[i] = precision_[i] / std::sqrt(1 + Far(x, i));
    return precision;
  }

  Efficiencies At(const VectorXd& x) const {
    Efficiencies efficiencies = parent_;
    for (int i = 0; i < Size(); ++i) Set(Parameters()[i], std::exp(x[i]), efficiencies);
    return efficiencies;
  }

  // Log of predicted over measured in units of the noise, one a sample and metric; 0 where there is none.
  VectorXd Residuals(const VectorXd& x) const {
    const Efficiencies efficiencies = At(x);
    const StepModelCache machines;  // campaigns vary batches and lengths on a few deployments
    VectorXd residuals(static_cast<Eigen::Index>(samples_.size()) * kNumMetrics);
    Eigen::Index row = 0;
    for (const Sample& sample : samples_) {
      const Times predicted = Predict(sample.scenario, efficiencies, &machines);
      for (int metric = 0; metric < kNumMetrics; ++metric) {
        const double residual = std::log(predicted[metric] / sample.measured[metric]) / noise_;
        residuals[row++] = std::isfinite(residual) ? residual : 0;
      }
    }
    return residuals;
  }

  MatrixXd Jacobian(const VectorXd& x, const VectorXd& residuals) const {
    MatrixXd jacobian(residuals.size(), Size());
    for (int i = 0; i < Size(); ++i) {
      VectorXd probe = x;
      probe[i] -= kProbe;  // downwards: upper bounds are where parameters rest
      jacobian.col(i) = (residuals - Residuals(probe)) / kProbe;
    }
    return jacobian;
  }

  double Objective(const VectorXd& x, const VectorXd& residuals) const {
    double sum = 0;
    for (int i = 0; i < Size(); ++i) sum += 2 * tail_ * tail_ * (std::sqrt(1 + Far(x, i)) - 1);
    for (Eigen::Index i = 0; i < residuals.size(); ++i) {
      sum += 2 * Weight(i) * (std::sqrt(1 + residuals[i] * residuals[i]) - 1);
    }
    return sum;
  }

  // Soft-L1 as weights of a squared residual at this point.
  VectorXd Weights(const VectorXd& residuals) const {
    VectorXd weights(residuals.size());
    for (Eigen::Index i = 0; i < residuals.size(); ++i) {
      weights[i] = Weight(i) / std::sqrt(1 + residuals[i] * residuals[i]);
    }
    return weights;
  }

 private:
  double Weight(Eigen::Index row) const {
    const Sample& sample = samples_[static_cast<size_t>(row / kNumMetrics)];
    const auto metric = static_cast<size_t>(row % kNumMetrics);
    // E2E follows from TTFT and TPOT: where both were measured it would count the decode twice.
    const bool told = metric == kE2e && sample.measured[kTtft] > 0 && sample.measured[kTpot] > 0;
    return told ? 0 : sample.weights[metric];
  }

  // Squared distance of a parameter from the parent's, in tails.
  double Far(const VectorXd& x, int i) const {
    const double distance = (x[i] - mean_[i]) / tail_;
    return distance * distance * precision_[i];
  }

  const Efficiencies& parent_;
  const std::vector<Sample>& samples_;
  const double noise_;
  const double tail_;
  VectorXd mean_, precision_;
};

double Low(int i) { return std::log(Parameters()[i].low); }
double High(int i) { return std::log(Parameters()[i].high); }

// Values stay where Set would clamp them.
void Clamp(VectorXd& x) {
  for (int i = 0; i < Problem::Size(); ++i) x[i] = std::clamp(x[i], Low(i), High(i));
}

// The damped step. Parameters that rest at a bound and are drawn beyond it stay, and the others step as if they were
// constants: a step that is cut off at a bound would not lead downhill.
VectorXd Step(const VectorXd& x, const MatrixXd& curvature, const VectorXd& gradient, double damping) {
  MatrixXd damped = curvature;
  damped.diagonal() *= 1 + damping;
  VectorXd slope = gradient;
  for (int i = 0; i < Problem::Size(); ++i) {
    if (!(x[i] >= High(i) && slope[i] < 0) && !(x[i] <= Low(i) && slope[i] > 0)) continue;
    damped.row(i).setZero();
    damped.col(i).setZero();
    damped(i, i) = 1;
    slope[i] = 0;
  }
  return damped.ldlt().solve(slope);
}

}  // namespace

Times TimesOf(const Estimate& estimate) {
  return {estimate.ttft.time.value(), estimate.tpot.time.value(), estimate.e2e.time.value()};
}

Times PredictTimes(const Scenario& scenario, const Efficiencies& efficiencies) {
  return Predict(scenario, efficiencies, nullptr);
}

FitResult Fit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options) {
  const Problem problem(parent, samples, options);
  VectorXd x = problem.mean();
  Clamp(x);
  VectorXd residuals = problem.Residuals(x);
  double objective = problem.Objective(x, residuals);
  double damping = kFirstDamping;
  MatrixXd curvature;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    const MatrixXd jacobian = problem.Jacobian(x, residuals);
    const VectorXd weights = problem.Weights(residuals);
    curvature = jacobian.transpose() * weights.asDiagonal() * jacobian;
    const VectorXd precision = problem.Precision(x);
    curvature.diagonal() += precision;
    const VectorXd gradient =
        jacobian.transpose() * weights.asDiagonal() * residuals + precision.cwiseProduct(x - problem.mean());
    const double before = objective;
    for (; damping < kMostDamping; damping *= 4) {
      VectorXd next = x - Step(x, curvature, gradient, damping);
      Clamp(next);
      const VectorXd next_residuals = problem.Residuals(next);
      const double next_objective = problem.Objective(next, next_residuals);
      if (next_objective < objective) {
        x = next;
        residuals = next_residuals;
        objective = next_objective;
        damping = std::max(damping / 10, 1e-9);
        break;
      }
    }
    if (before - objective <= kConverged * before) break;
  }
  FitResult result{.efficiencies = problem.At(x), .objective = objective};
  const VectorXd variances = curvature.inverse().diagonal();
  for (const double variance : variances) result.log_deviations.push_back(std::sqrt(variance));
  return result;
}

}  // namespace foretoken

// The objective of a fit over the logarithms of the parameters, with the derivatives that Levenberg-Marquardt needs:
// soft-L1 of the residuals of what was measured, and of the distances from the parent.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_

#include <Eigen/Dense>
#include <functional>
#include <span>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/scenario/parameters.h"

namespace foretoken {

// Log of predicted over measured for each measured time; 0: it was not measured, or the model refuses it.
using Misses = std::function<Eigen::VectorXd(const Efficiencies&)>;

// What was measured: how far predictions with given constants are from it, and the weight of each squared residual.
struct Measurements {
  Misses misses;
  Eigen::VectorXd weights;
};

// Latencies of requests, kNumMetrics a sample. The samples outlive it.
Measurements MeasurementsOf(const std::vector<Sample>& samples);

// The parent outlives it.
class FitProblem {
 public:
  // `parameters`: those that may change.
  FitProblem(const Efficiencies& parent, std::span<const Parameter> parameters, Measurements measurements,
             const FitOptions& options);

  // Parameters, and the bounds of each.
  int Size() const;
  double Low(int i) const;
  double High(int i) const;

  // Of the prior.
  const Eigen::VectorXd& mean() const { return mean_; }

  Efficiencies At(const Eigen::VectorXd& x) const;

  // The misses in units of the noise.
  Eigen::VectorXd Residuals(const Eigen::VectorXd& x) const;
  // Of the residuals, which are those at x.
  Eigen::MatrixXd Jacobian(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) const;
  double Objective(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) const;

  // Soft-L1 at this point as weights: of squared residuals, and of squared distances from the parent.
  Eigen::VectorXd Weights(const Eigen::VectorXd& residuals) const;
  Eigen::VectorXd Precision(const Eigen::VectorXd& x) const;

 private:
  // Squared distance of a parameter from the parent's, in tails.
  double Far(const Eigen::VectorXd& x, int i) const;

  const Efficiencies& parent_;
  const std::span<const Parameter> parameters_;
  const Measurements measured_;
  const double noise_;
  const double tail_;
  Eigen::VectorXd mean_, deviations_;
};

// The parameters that explain the measurements best, given those of their `parent`.
FitResult Fit(const Efficiencies& parent, std::span<const Parameter> parameters, Measurements measurements,
              const FitOptions& options, Cancelled cancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_

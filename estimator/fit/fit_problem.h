// The objective of a fit over the logarithms of the parameters, with the derivatives that Levenberg-Marquardt needs:
// soft-L1 of the residuals of measured latencies, and of the distances from the parent.
#ifndef FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_
#define FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_

#include <Eigen/Dense>
#include <vector>

#include "estimator/fit/fit.h"

namespace foretoken {

// The parent and the samples outlive it.
class FitProblem {
 public:
  FitProblem(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options);

  // Parameters, and the bounds of each.
  static int Size();
  static double Low(int i);
  static double High(int i);

  // Of the prior.
  const Eigen::VectorXd& mean() const { return mean_; }

  Efficiencies At(const Eigen::VectorXd& x) const;

  // Log of predicted over measured in units of the noise, one a sample and metric; 0 where there is none.
  Eigen::VectorXd Residuals(const Eigen::VectorXd& x) const;
  // Of the residuals, which are those at x.
  Eigen::MatrixXd Jacobian(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) const;
  double Objective(const Eigen::VectorXd& x, const Eigen::VectorXd& residuals) const;

  // Soft-L1 at this point as weights: of squared residuals, and of squared distances from the parent.
  Eigen::VectorXd Weights(const Eigen::VectorXd& residuals) const;
  Eigen::VectorXd Precision(const Eigen::VectorXd& x) const;

 private:
  double Weight(Eigen::Index row) const;
  // Squared distance of a parameter from the parent's, in tails.
  double Far(const Eigen::VectorXd& x, int i) const;

  const Efficiencies& parent_;
  const std::vector<Sample>& samples_;
  const double noise_;
  const double tail_;
  Eigen::VectorXd mean_, deviations_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_FIT_PROBLEM_H_

#include "estimator/calibration/fit.h"

#include <Eigen/Dense>
#include <cmath>

#include "estimator/calibration/fit_problem.h"
#include "estimator/calibration/parameters.h"

namespace foretoken {
namespace {

constexpr int kMostIterations = 40;
constexpr double kConverged = 1e-4;  // relative change of the objective
constexpr double kFirstDamping = 1e-3;
constexpr double kMostDamping = 1e8;

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Problem = FitProblem;

// Values stay where Set would clamp them.
void Clamp(VectorXd& x) {
  for (int i = 0; i < Problem::Size(); ++i) x[i] = std::clamp(x[i], Problem::Low(i), Problem::High(i));
}

// Parameters that do not move.
using Held = Eigen::Array<bool, Eigen::Dynamic, 1>;

// Those that rest at a bound and are drawn beyond it: a step that is cut off at a bound would not lead downhill, so the
// others step as if these were constants.
Held AtBounds(const VectorXd& x, const VectorXd& gradient) {
  Held held(Problem::Size());
  for (int i = 0; i < Problem::Size(); ++i) {
    held[i] = (x[i] >= Problem::High(i) && gradient[i] < 0) || (x[i] <= Problem::Low(i) && gradient[i] > 0);
  }
  return held;
}

VectorXd DampedStep(const Held& held, const MatrixXd& curvature, const VectorXd& gradient, double damping) {
  MatrixXd damped = curvature;
  damped.diagonal() *= 1 + damping;
  for (int i = 0; i < Problem::Size(); ++i) {
    if (!held[i]) continue;
    damped.row(i).setZero();
    damped.col(i).setZero();
    damped(i, i) = 1;
  }
  return damped.ldlt().solve(held.select(0, gradient));
}

struct Minimum {
  VectorXd x;
  MatrixXd curvature;
  double objective = 0;
};

// Levenberg-Marquardt from `start`.
Minimum Minimise(const Problem& problem, const VectorXd& start, Abandoned abandoned) {
  Minimum best{.x = start};
  Clamp(best.x);
  VectorXd residuals = problem.Residuals(best.x);
  best.objective = problem.Objective(best.x, residuals);
  double damping = kFirstDamping;
  for (int iteration = 0; iteration < kMostIterations && !abandoned(); ++iteration) {
    const MatrixXd jacobian = problem.Jacobian(best.x, residuals);
    const VectorXd weights = problem.Weights(residuals);
    const VectorXd precision = problem.Precision(best.x);
    best.curvature = jacobian.transpose() * weights.asDiagonal() * jacobian;
    best.curvature.diagonal() += precision;
    const VectorXd gradient =
        jacobian.transpose() * weights.asDiagonal() * residuals + precision.cwiseProduct(best.x - problem.mean());
    const Held held = AtBounds(best.x, gradient);
    const double before = best.objective;
    for (; damping < kMostDamping && !abandoned(); damping *= 4) {
      VectorXd next = best.x - DampedStep(held, best.curvature, gradient, damping);
      Clamp(next);
      const VectorXd next_residuals = problem.Residuals(next);
      const double next_objective = problem.Objective(next, next_residuals);
      if (!(next_objective < best.objective)) continue;
      best.x = next;
      best.objective = next_objective;
      residuals = next_residuals;
      damping = std::max(damping / 10, 1e-9);
      break;
    }
    if (before - best.objective <= kConverged * before) break;
  }
  return best;
}

}  // namespace

std::vector<Sample> Pick(const std::vector<Sample>& samples, const std::vector<int>& indices) {
  std::vector<Sample> picked;
  picked.reserve(indices.size());
  for (const int index : indices) picked.push_back(samples[static_cast<size_t>(index)]);
  return picked;
}

FitResult Fit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options,
              Abandoned abandoned) {
  if (abandoned()) return {.efficiencies = parent, .log_deviations = {}};
  const Problem problem(parent, samples, options);
  const Minimum minimum = Minimise(problem, problem.mean(), abandoned);
  if (abandoned()) return {.efficiencies = parent, .log_deviations = {}};
  const VectorXd deviations = minimum.curvature.inverse().diagonal().cwiseSqrt();
  return {.efficiencies = problem.At(minimum.x), .log_deviations = {deviations.begin(), deviations.end()}};
}

}  // namespace foretoken

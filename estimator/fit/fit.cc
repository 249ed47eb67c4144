#include "estimator/fit/fit.h"

#include <Eigen/Dense>
#include <utility>

#include "estimator/fit/fit_problem.h"
#include "estimator/scenario/parameters.h"

namespace foretoken {
namespace {

constexpr int kMostIterations = 40;
constexpr double kConverged = 1e-4;  // relative change of the objective
constexpr double kFirstDamping = 1e-3;
constexpr double kLeastDamping = 1e-9;
constexpr double kMostDamping = 1e8;

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Problem = FitProblem;

// Keeps values within the limits of Set.
void Clamp(const Problem& problem, VectorXd& x) {
  for (int i = 0; i < problem.Size(); ++i) x[i] = std::clamp(x[i], problem.Low(i), problem.High(i));
}

// Which parameters a step does not change.
using Held = Eigen::Array<bool, Eigen::Dynamic, 1>;

// The parameters at a bound whose gradient points beyond it. A step that is clamped at a bound might not lead downhill,
// so the other parameters step as if these were constant.
Held AtBounds(const Problem& problem, const VectorXd& x, const VectorXd& gradient) {
  Held held(problem.Size());
  for (int i = 0; i < problem.Size(); ++i) {
    held[i] = (x[i] >= problem.High(i) && gradient[i] < 0) || (x[i] <= problem.Low(i) && gradient[i] > 0);
  }
  return held;
}

VectorXd DampedStep(const Held& held, const MatrixXd& curvature, const VectorXd& gradient, double damping) {
  MatrixXd damped = curvature;
  damped.diagonal() *= 1 + damping;
  for (Eigen::Index i = 0; i < held.size(); ++i) {
    if (!held[i]) continue;
    damped.row(i).setZero();
    damped.col(i).setZero();
    damped(i, i) = 1;
  }
  return damped.ldlt().solve(held.select(0, gradient));
}

// A point of the search, with its residuals and objective.
struct Point {
  VectorXd x;
  VectorXd residuals;
  double objective = 0;
};

Point PointAt(const Problem& problem, VectorXd x) {
  Clamp(problem, x);
  VectorXd residuals = problem.Residuals(x);
  const double objective = problem.Objective(x, residuals);
  return {std::move(x), std::move(residuals), objective};
}

// Curvature and gradient of the objective at a point.
struct Slope {
  MatrixXd curvature;
  VectorXd gradient;
};

Slope SlopeAt(const Problem& problem, const Point& point) {
  const MatrixXd jacobian = problem.Jacobian(point.x, point.residuals);
  const VectorXd weights = problem.Weights(point.residuals);
  const VectorXd precision = problem.Precision(point.x);
  Slope slope;
  slope.curvature = jacobian.transpose() * weights.asDiagonal() * jacobian;
  slope.curvature.diagonal() += precision;
  slope.gradient =
      jacobian.transpose() * weights.asDiagonal() * point.residuals + precision.cwiseProduct(point.x - problem.mean());
  return slope;
}

// Moves `point` downhill; leaves it where no damping finds a better one.
void Descend(const Problem& problem, const Slope& slope, Cancelled cancelled, double& damping, Point& point) {
  const Held held = AtBounds(problem, point.x, slope.gradient);
  for (; damping < kMostDamping && !cancelled(); damping *= 4) {
    Point next = PointAt(problem, point.x - DampedStep(held, slope.curvature, slope.gradient, damping));
    if (!(next.objective < point.objective)) continue;
    point = std::move(next);
    damping = std::max(damping / 10, kLeastDamping);
    return;
  }
}

struct Minimum {
  VectorXd x;
  MatrixXd curvature;
};

// Levenberg-Marquardt from `start`.
Minimum Minimise(const Problem& problem, const VectorXd& start, Cancelled cancelled) {
  Point best = PointAt(problem, start);
  Slope slope;
  double damping = kFirstDamping;
  for (int iteration = 0; iteration < kMostIterations && !cancelled(); ++iteration) {
    slope = SlopeAt(problem, best);
    const double before = best.objective;
    Descend(problem, slope, cancelled, damping, best);
    if (before - best.objective <= kConverged * before) break;
  }
  return {best.x, slope.curvature};
}

}  // namespace

std::vector<Sample> Pick(const std::vector<Sample>& samples, const std::vector<int>& indices) {
  std::vector<Sample> picked;
  picked.reserve(indices.size());
  for (const int index : indices) picked.push_back(samples[static_cast<size_t>(index)]);
  return picked;
}

FitResult Fit(const Efficiencies& parent, std::span<const Parameter> parameters, Measurements measurements,
              const FitOptions& options, Cancelled cancelled) {
  if (cancelled()) return {.efficiencies = parent, .log_deviations = {}};
  const Problem problem(parent, parameters, std::move(measurements), options);
  const Minimum minimum = Minimise(problem, problem.mean(), cancelled);
  if (cancelled()) return {.efficiencies = parent, .log_deviations = {}};
  const VectorXd deviations = minimum.curvature.inverse().diagonal().cwiseSqrt();
  return {.efficiencies = problem.At(minimum.x), .log_deviations = {deviations.begin(), deviations.end()}};
}

FitResult Fit(const Efficiencies& parent, const std::vector<Sample>& samples, const FitOptions& options,
              Cancelled cancelled) {
  return Fit(parent, RunParameters(), MeasurementsOf(samples), options, cancelled);
}

}  // namespace foretoken

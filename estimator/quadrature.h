// Sums of a smooth function over many whole numbers at the price of a few evaluations.
//
//   sum over j = first..last of f(j)  ~  integral of f over [first - 1/2, last + 1/2]
//
// taken by 3-point Gauss-Legendre, which is exact for a straight line. [ours]
#ifndef FORETOKEN_ESTIMATOR_QUADRATURE_H_
#define FORETOKEN_ESTIMATOR_QUADRATURE_H_

#include "estimator/estimate.h"

namespace foretoken {

struct GaussNode {
  double at;  // -1 to 1
  double weight;
};
inline constexpr GaussNode kGaussNodes[] = {
    {-0.77459666924148337704, 5.0 / 9}, {0, 8.0 / 9}, {0.77459666924148337704, 5.0 / 9}};

// One term of a panel: f at a node, weighted.
template <typename F>
TimeParts GaussTerm(const F& f, double first, double last, GaussNode node) {
  const double half = (last - first + 1) / 2;
  const double middle = (first + last) / 2;
  return f(middle + half * node.at) * (half * node.weight);
}

// One panel: f is evaluated 3 times. REQUIRES: first <= last + 1.
template <typename F>
TimeParts GaussSum(const F& f, double first, double last) {
  TimeParts sum;
  for (const GaussNode& node : kGaussNodes) sum += GaussTerm(f, first, last, node);
  return sum;
}

// One by one.
template <typename F>
TimeParts SlowSum(const F& f, double first, double last) {
  TimeParts sum;
  for (double j = first; j <= last; ++j) sum += f(j);
  return sum;
}

// For a function with bends that are not worth finding: one by one up to 32 terms, past it 8 equal panels.
template <typename F>
TimeParts PanelSum(const F& f, double first, double last) {
  constexpr double kSlow = 32;
  constexpr double kPanels = 8;
  const double count = last - first + 1;
  if (count <= kSlow) return SlowSum(f, first, last);
  TimeParts sum;
  for (double panel = 0; panel < kPanels; ++panel) {
    const double from = first + count * panel / kPanels;
    sum += GaussSum(f, from, from + count / kPanels - 1);
  }
  return sum;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_QUADRATURE_H_

// Sums of a smooth function over many whole numbers at the price of a few evaluations.
//
//   sum over j = first..last of f(j)  ~  integral of f over [first - 1/2, last + 1/2]
//
// taken by 3-point Gauss-Legendre, which is exact for a straight line. [ours]
#ifndef FORETOKEN_ESTIMATOR_PHASES_QUADRATURE_H_
#define FORETOKEN_ESTIMATOR_PHASES_QUADRATURE_H_

#include "estimator/scenario/estimate.h"

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

// The sum, term by term.
template <typename F>
TimeParts SlowSum(const F& f, double first, double last) {
  TimeParts sum;
  // Counts in integers: past 2^53, adding 1 to a double does not change it.
  for (int left = static_cast<int>(last - first + 1); left > 0; --left, ++first) sum += f(first);
  return sum;
}

// How finely a sum is taken: one by one up to `slow` terms, past it in equal panels.
struct Fineness {
  double slow;
  double panels;
};
// For a few bends that are not worth finding.
inline constexpr Fineness kSmooth = {.slow = 32, .panels = 8};
// For a function that rises and falls many times. A prime number of panels keeps them from falling in step with it. The
// panels take as many evaluations as the longest sum that is taken one by one.
inline constexpr Fineness kSawtooth = {.slow = 256, .panels = 83};
// For a line with slight bends.
inline constexpr Fineness kAlmostLine = {.slow = 8, .panels = 2};

template <typename F>
TimeParts PanelSum(const F& f, double first, double last, const Fineness& fineness = kSmooth) {
  const double count = last - first + 1;
  if (count <= fineness.slow) return SlowSum(f, first, last);
  TimeParts sum;
  for (double panel = 0; panel < fineness.panels; ++panel) {
    const double from = first + count * panel / fineness.panels;
    sum += GaussSum(f, from, from + count / fineness.panels - 1);
  }
  return sum;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_QUADRATURE_H_

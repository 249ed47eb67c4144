// Two resources that work at the same time: how long they take together, and how much of that is due to each.
//
//   t = (a^s + b^s)^(1/s)
//
// s = infinity is the exact maximum (perfect overlap), s = 1 the sum (none). Of t, a is attributed t a^s/(a^s + b^s)
// and b the rest, that is, each is scaled by t a^(s-1)/(a^s + b^s): for s = 2 by a/t. At s = infinity all goes to the
// larger, a tie to a. [ours; s = 2 fits measurements best]
#ifndef FORETOKEN_ESTIMATOR_STEP_ROOFLINE_H_
#define FORETOKEN_ESTIMATOR_STEP_ROOFLINE_H_

#include <cmath>

#include "estimator/base/units.h"
#include "estimator/scenario/estimate.h"

namespace foretoken {

// A smooth maximum as shares of its arguments: t = first * a + second * b.
struct Overlap {
  double first = 1;  // 0 to 1
  double second = 0;
};

// REQUIRES: a, b >= 0; s >= 1, may be infinite.
inline Overlap SmoothMax(Seconds a, Seconds b, double s) {
  const double x = a.value();
  const double y = b.value();
  if (s == 2) {  // the default, at the cost of one square root and one division
    const double sum = x * x + y * y;
    const double scale = sum > 0 ? 1 / std::sqrt(sum) : 0;
    return {x * scale, y * scale};
  }
  if (s == 1) return {1, 1};
  if (std::isinf(s)) return x >= y ? Overlap{1, 0} : Overlap{0, 1};
  const double larger = x > y ? x : y;
  if (!(larger > 0)) return {};
  const double u = x / larger;  // scaled: no overflow for large s
  const double v = y / larger;
  const double us = u == 1 ? 1 : std::pow(u, s - 1);  // one of them is 1
  const double vs = v == 1 ? 1 : std::pow(v, s - 1);
  const double scale = std::pow(u * us + v * vs, 1 / s - 1);
  return {us * scale, vs * scale};
}

// Joins the device's parts with the host time of the same step: the device's parts shrink in proportion.
inline TimeParts JoinHost(const TimeParts& device, Seconds host, double s) {
  const Overlap joined = SmoothMax(device.Total(), host, s);
  TimeParts parts = device * joined.first;
  parts.host += host * joined.second;
  return parts;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_ROOFLINE_H_

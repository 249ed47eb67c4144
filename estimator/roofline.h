// Two resources that work at the same time: how long both take together, and who is to blame.
//
//   t = (a^s + b^s)^(1/s)
//
// s = infinity is the exact maximum (perfect overlap), s = 1 the sum (none). Of t, a is attributed t a^s/(a^s + b^s)
// and b the rest; at s = infinity all goes to the larger, a tie to a. [ours; s = 2 fits measurements best]
#ifndef FORETOKEN_ESTIMATOR_ROOFLINE_H_
#define FORETOKEN_ESTIMATOR_ROOFLINE_H_

#include <cmath>

#include "estimator/estimate.h"
#include "estimator/units.h"

namespace foretoken {

// A smooth maximum and the share of it that goes to its first argument.
struct Overlap {
  Seconds time;
  double first_share = 1;  // 0 to 1
};

// REQUIRES: a, b >= 0; s >= 1, may be infinite.
inline Overlap SmoothMax(Seconds a, Seconds b, double s) {
  const double x = a.value();
  const double y = b.value();
  if (s == 2) {  // the default, at the cost of one square root
    const double sum = x * x + y * y;
    return sum > 0 ? Overlap{Seconds(std::sqrt(sum)), x * x / sum} : Overlap{};
  }
  if (std::isinf(s)) return x >= y ? Overlap{a, 1} : Overlap{b, 0};
  const double larger = x > y ? x : y;
  if (!(larger > 0)) return {};
  const double xs = std::pow(x / larger, s);  // scaled: no overflow for large s
  const double ys = std::pow(y / larger, s);
  return {Seconds(larger * std::pow(xs + ys, 1 / s)), xs / (xs + ys)};
}

// Joins the device's parts with the host time of the same step: the device's parts shrink or grow in proportion.
inline TimeParts JoinHost(const TimeParts& device, Seconds host, double s) {
  const Seconds busy = device.Total();
  if (!(busy.value() > 0)) return {.host = host};
  const Overlap joined = SmoothMax(busy, host, s);
  TimeParts parts = device * (joined.time * joined.first_share / busy);
  parts.host += joined.time * (1 - joined.first_share);
  return parts;
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_ROOFLINE_H_

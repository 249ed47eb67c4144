// Where a function that rises from below zero to above it crosses zero, for bisections whose every evaluation is dear.
//
//   RisingZero zero(excess, 0, most);
//   zero.Narrow(guess, 1e-13 * most);                         // by interpolation, about six evaluations
//   (zero.IsBelow(middle) ? low : high) = middle;             // seldom another
//
// A bisection that asks IsBelow ends where it would end by evaluating the function at every middle: the narrow interval
// around the zero answers for all middles outside of it. [ours; the interpolation is the secant method]
#ifndef FORETOKEN_ESTIMATOR_SERVING_RISING_ZERO_H_
#define FORETOKEN_ESTIMATOR_SERVING_RISING_ZERO_H_

namespace foretoken {

// REQUIRES: f(low) < 0 or f is not evaluated there; f(high) >= 0.
template <typename F>
class RisingZero {
 public:
  RisingZero(const F& f, double low, double high) : f_(f), low_(low), high_(high) {}

  // Looks for the zero from `guess` on, best where f is almost a line, until it lies in an interval of `width`. Gives
  // up after kMost evaluations: IsBelow then evaluates more.
  void Narrow(double guess, double at_high, double width) {
    Point before{high_, at_high};
    Point here = Look(guess > low_ && guess < high_ ? guess : (low_ + high_) / 2);
    for (int i = 1; i < kMost && high_ - low_ > width; ++i) {
      const Point next = Look(Next(before, here, width, i));
      before = here;
      here = next;
    }
  }

  // Whether f(x) < 0.
  bool IsBelow(double x) {
    if (x <= low_) return true;
    if (x >= high_) return false;
    return Look(x).f < 0;
  }

 private:
  static constexpr int kMost = 24;
  static constexpr int kPatience = 9;  // evaluations after which every other one halves the interval

  struct Point {
    double x, f;
  };

  Point Look(double x) {
    const Point point{x, f_(x)};
    (point.f < 0 ? low_ : high_) = x;
    return point;
  }

  // The secant's zero; close to the last point, the other side of the zero, so that the interval closes.
  double Next(const Point& before, const Point& here, double width, int looked) const {
    const double middle = (low_ + high_) / 2;
    if (looked >= kPatience && looked % 2 == 0) return middle;
    double x = here.x - here.f * ((here.x - before.x) / (here.f - before.f));
    const double apart = x - here.x;
    if (apart < width / 2 && -apart < width / 2) x = here.f < 0 ? here.x + 0.75 * width : here.x - 0.75 * width;
    return x > low_ && x < high_ ? x : middle;
  }

  const F& f_;
  double low_;   // f is below zero here, or the zero's lower end
  double high_;  // f is not
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_RISING_ZERO_H_

// Physical quantities as types over a double, so that seconds cannot be added to bytes and every division names
// its result. Example:
//
//   Seconds t = Bytes(14e9) / BytesPerSecond(2e12);   // 7 ms
//
// SI prefixes are decimal; binary ones are spelled Gi. A bare double is a count or a ratio.
#ifndef FORETOKEN_ESTIMATOR_BASE_UNITS_H_
#define FORETOKEN_ESTIMATOR_BASE_UNITS_H_

#include <compare>

namespace foretoken {

// A double with a unit. Quantities of one unit add, scale, compare and divide into a ratio.
template <typename Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  // The number in the base unit: seconds, bytes, FLOPs or one of them per second.
  constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr auto operator<=>(const Quantity&) const = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using Flops = Quantity<struct FlopsUnit>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondUnit>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) { return Seconds(amount.value() / rate.value()); }
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) { return Seconds(amount.value() / rate.value()); }
constexpr BytesPerSecond operator/(Bytes amount, Seconds time) { return BytesPerSecond(amount.value() / time.value()); }
constexpr FlopsPerSecond operator/(Flops amount, Seconds time) { return FlopsPerSecond(amount.value() / time.value()); }
constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return Bytes(rate.value() * time.value()); }

constexpr Bytes Gigabytes(double n) { return Bytes(n * 1e9); }
constexpr Bytes Gibibytes(double n) { return Bytes(n * 1024.0 * 1024.0 * 1024.0); }
constexpr BytesPerSecond GigabytesPerSecond(double n) { return BytesPerSecond(n * 1e9); }
constexpr FlopsPerSecond Teraflops(double n) { return FlopsPerSecond(n * 1e12); }

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_UNITS_H_

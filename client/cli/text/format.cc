#include "client/cli/text/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace foretoken::cli {
namespace {

struct Unit {
  double size;
  const char* name;
};

constexpr std::array<Unit, 4> kSeconds = {{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
constexpr std::array<Unit, 6> kBytes = {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}}};
constexpr std::array<Unit, 6> kFlops = {
    {{1, "FLOP"}, {1e3, "kFLOP"}, {1e6, "MFLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}, {1e15, "PFLOP"}}};

// The value to three significant digits, so that 999.6e-6 s is 1.00 ms and not 1000 us.
double RoundToThreeDigits(double value) {
  if (value == 0) return 0;
  const double step = std::pow(10, std::floor(std::log10(std::fabs(value))) - 2);
  return std::round(value / step) * step;
}

std::string WithSeparators(const std::string& digits) {
  const size_t start = digits[0] == '-' ? 1 : 0;
  const size_t end = digits.find('.') == std::string::npos ? digits.size() : digits.find('.');
  std::string text = digits;
  for (size_t at = end; at > start + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string InUnit(double value, std::span<const Unit> units, const char* suffix = "") {
  if (std::isnan(value)) return kUnknownText;
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  const double rounded = RoundToThreeDigits(value);
  const Unit* unit = rounded == 0 ? nullptr : &units.front();
  for (const Unit& candidate : units) {
    if (rounded == 0 ? candidate.size == 1 : std::fabs(rounded) >= candidate.size * (1 - 1e-9)) unit = &candidate;
  }
  return absl::StrCat(ThreeDigits(value / unit->size), " ", unit->name, suffix);
}

}  // namespace

const double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::string ThreeDigits(double value) {
  if (std::isnan(value)) return kUnknownText;
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(RoundToThreeDigits(value))) + 1e-9));
  if (magnitude < -4) return absl::StrFormat("%.3g", value);
  return WithSeparators(absl::StrFormat("%.*f", magnitude >= 2 ? 0 : 2 - magnitude, value));
}

std::string FormatSeconds(double seconds) { return InUnit(seconds, kSeconds); }
std::string FormatBytes(double bytes) { return InUnit(bytes, kBytes); }
std::string FormatBytesPerSecond(double rate) { return InUnit(rate, kBytes, "/s"); }
std::string FormatFlops(double flops) { return InUnit(flops, kFlops); }
std::string FormatFlopsPerSecond(double rate) { return InUnit(rate, kFlops, "/s"); }

std::string FormatPercent(double ratio) {
  if (std::isnan(ratio)) return kUnknownText;
  const double percent = ratio * 100;
  if (percent == 0 || std::fabs(percent) >= 1) return absl::StrCat(ThreeDigits(percent), "%");
  return std::fabs(percent) < 0.01 ? "<0.01%" : absl::StrFormat("%.2f%%", percent);
}

std::string FormatSignedPercent(double ratio) {
  return ratio >= 0 ? absl::StrCat("+", FormatPercent(ratio)) : FormatPercent(ratio);
}

std::string FormatCount(double count) {
  if (std::isnan(count)) return kUnknownText;
  if (std::isinf(count)) return count > 0 ? "infinite" : "-infinite";
  const bool whole = count == std::floor(count) && std::fabs(count) < 1e15;
  return whole ? WithSeparators(absl::StrFormat("%.0f", count)) : ThreeDigits(count);
}

std::string FormatExact(double value) {
  if (std::isnan(value)) return "";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

}  // namespace foretoken::cli

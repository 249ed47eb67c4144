#include "estimator/scenario/engine_version.h"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>

namespace foretoken {
namespace {

// 1000 * major + minor, a number that orders versions and tells their distance: 12 for "vllm@0.12.1". NaN: no version
// of this form.
double VersionNumber(std::string_view engine) {
  const size_t at = engine.find('@');
  if (at == std::string_view::npos) return std::numeric_limits<double>::quiet_NaN();
  const std::string version(engine.substr(at + 1));
  char* end = nullptr;
  const auto major = std::strtol(version.c_str(), &end, 10);
  if (end == version.c_str()) return std::numeric_limits<double>::quiet_NaN();
  const auto minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return 1000.0 * static_cast<double>(major) + static_cast<double>(minor);
}

}  // namespace

std::string_view EngineName(std::string_view engine) { return engine.substr(0, engine.find('@')); }

bool HasVersionNumber(std::string_view engine) { return !std::isnan(VersionNumber(engine)); }

double VersionsApart(std::string_view asked, std::string_view engine) {
  constexpr double kFarthest = std::numeric_limits<double>::infinity();
  if (asked == engine) return -kFarthest;
  const double requested = VersionNumber(asked);
  const double version = VersionNumber(engine);
  if (std::isnan(version)) return kFarthest;
  return std::isnan(requested) ? -version : std::abs(version - requested);
}

}  // namespace foretoken

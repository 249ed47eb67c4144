#include "estimator/scenario/engine_version.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>

namespace foretoken {
namespace {

// A candidate before its release: "1.3.0rc20" is above rc10, and both are below 1.3.0.
double CandidateNumber(const char* text) {
  if (std::string_view(text).substr(0, 2) != "rc") return 0;
  return 1e-6 * static_cast<double>(std::min(std::strtol(text + 2, nullptr, 10), 499L)) - 5e-4;
}

// 1000 * major + minor + patch / 1000, a number that orders versions and tells their distance: 12.001 for
// "vllm@0.12.1". NaN: no version of this form.
double VersionNumber(std::string_view engine) {
  const size_t at = engine.find('@');
  if (at == std::string_view::npos) return std::numeric_limits<double>::quiet_NaN();
  const std::string version(engine.substr(at + 1));
  char* end = nullptr;
  const auto major = std::strtol(version.c_str(), &end, 10);
  if (end == version.c_str()) return std::numeric_limits<double>::quiet_NaN();
  const auto minor = *end == '.' ? std::strtol(end + 1, &end, 10) : 0;
  const auto patch = *end == '.' ? std::strtol(end + 1, &end, 10) : 0;
  return 1000.0 * static_cast<double>(major) + static_cast<double>(minor) + static_cast<double>(patch) / 1000 +
         CandidateNumber(end);
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

// Engines as requests and calibrations name them: "name@version" or "name".
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_ENGINE_VERSION_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_ENGINE_VERSION_H_

#include <string_view>

namespace foretoken {

// "vllm" of "vllm@0.12.0".
std::string_view EngineName(std::string_view engine);

// Whether the version is a number: "vllm@0.12.0", not "vllm" or "vllm@main".
bool HasVersionNumber(std::string_view engine);

// How far the version of `engine` is from that of `asked`, which has the same name, in 1,000 * major + minor
// + patch / 1,000; lower is nearer. The same text is nearest, and what has no number is farthest. Where `asked` has
// none, the newest is nearest.
double VersionsApart(std::string_view asked, std::string_view engine);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_ENGINE_VERSION_H_

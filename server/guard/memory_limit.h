// How much memory the process may take where nobody says so.
#ifndef FORETOKEN_SERVER_GUARD_MEMORY_LIMIT_H_
#define FORETOKEN_SERVER_GUARD_MEMORY_LIMIT_H_

#include <cstdint>
#include <string>

namespace foretoken::guard {

// The most that the default takes: about ten times what a server with 20,000 entries needs.
inline constexpr int64_t kMostMemoryByDefault = int64_t{1} << 30;
// What the default leaves of the system's memory for everything else in the container or on the machine.
inline constexpr double kShareOfSystem = 0.75;

// Bytes that the process can have: the least of the machine's memory and the limits of its cgroup and of the cgroups
// above it, version 1 or 2. `root` stands for "/" in tests.
int64_t SystemMemoryBytes(const std::string& root = "");

// kShareOfSystem of SystemMemoryBytes, kMostMemoryByDefault at most.
int64_t DefaultMemoryLimit(const std::string& root = "");

}  // namespace foretoken::guard

#endif  // FORETOKEN_SERVER_GUARD_MEMORY_LIMIT_H_

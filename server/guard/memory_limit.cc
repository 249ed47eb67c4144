#include "server/guard/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace foretoken::guard {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// The number in a file's first line; kNoLimit where there is no such file or it says "max".
int64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : kNoLimit;
}

// "MemTotal:   24690012 kB"
int64_t MachineBytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  int64_t kilobytes = 0;
  while (file >> key >> kilobytes) {
    if (key == "MemTotal:") return kilobytes << 10;
    std::getline(file, key);
  }
  return kNoLimit;
}

// The least limit of the cgroup at `path` and of those above it.
int64_t LeastUpwards(const std::string& mount, std::string path, const char* file) {
  int64_t least = NumberIn(absl::StrCat(mount, "/", file));
  while (path.size() > 1) {
    least = std::min(least, NumberIn(absl::StrCat(mount, path, "/", file)));
    path.resize(path.rfind('/'));
  }
  return least;
}

// A line of /proc/self/cgroup: "0::/user.slice" (version 2) or "9:memory:/docker/0123" (version 1).
int64_t LimitOf(const std::string& root, const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
  if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) return kNoLimit;
  const std::string mount = root + "/sys/fs/cgroup";
  if (parts[1].empty()) return LeastUpwards(mount, parts[2], "memory.max");
  const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
  const bool memory = std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
  return memory ? LeastUpwards(mount + "/memory", parts[2], "memory.limit_in_bytes") : kNoLimit;
}

}  // namespace

int64_t SystemMemoryBytes(const std::string& root) {
  int64_t least = MachineBytes(root);
  std::ifstream cgroups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(cgroups, line);) least = std::min(least, LimitOf(root, line));
  return least;
}

int64_t DefaultMemoryLimit(const std::string& root) {
  const double share = kShareOfSystem * static_cast<double>(SystemMemoryBytes(root));
  return std::min(kMostMemoryByDefault, static_cast<int64_t>(share));
}

}  // namespace foretoken::guard

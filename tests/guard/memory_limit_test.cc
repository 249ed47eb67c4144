#include "server/guard/memory_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/catalog/temporary_folder.h"

namespace foretoken::guard {
namespace {

constexpr char kMachine[] = "MemTotal:       24000000 kB\nMemFree:         1000000 kB\n";
constexpr int64_t kMachineBytes = int64_t{24'000'000} << 10;

struct Case {
  const char* name;
  std::map<std::string, std::string> files;
  int64_t want;
};

// Least of the machine, the group, and the groups above it, in both versions of cgroups.
TEST(MemoryLimitTest, IsTheLeastOfMachineAndGroups) {
  const std::vector<Case> cases = {
      {"machine alone", {{"proc/meminfo", kMachine}}, kMachineBytes},
      {"MemTotal after others", {{"proc/meminfo", "SwapTotal: 5 kB\nMemTotal:       24000000 kB\n"}}, kMachineBytes},
      {"version 2, of a container",
       {{"proc/meminfo", kMachine}, {"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/memory.max", "536870912\n"}},
       536870912},
      {"version 2, no limit",
       {{"proc/meminfo", kMachine}, {"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/memory.max", "max\n"}},
       kMachineBytes},
      {"version 2, a group above",
       {{"proc/meminfo", kMachine},
        {"proc/self/cgroup", "0::/a.slice/b.service\n"},
        {"sys/fs/cgroup/a.slice/memory.max", "1000000000"},
        {"sys/fs/cgroup/a.slice/b.service/memory.max", "2000000000"}},
       1000000000},
      {"version 1",
       {{"proc/meminfo", kMachine},
        {"proc/self/cgroup", "8:cpu,cpuacct:/x\n9:memory:/docker/01\n0::/\n"},
        {"sys/fs/cgroup/memory/docker/01/memory.limit_in_bytes", "268435456\n"}},
       268435456},
      {"version 1, no limit",
       {{"proc/meminfo", kMachine},
        {"proc/self/cgroup", "9:memory:/\n"},
        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
       kMachineBytes},
  };
  for (const Case& c : cases) {
    catalog::TemporaryFolder folder;
    const std::string root = folder.File("root");
    for (const auto& [name, text] : c.files) {
      const std::filesystem::path path = std::filesystem::path(root) / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
    }
    EXPECT_EQ(SystemMemoryBytes(root), c.want) << c.name;
    EXPECT_EQ(DefaultMemoryLimit(root),
              std::min(kMostMemoryByDefault, static_cast<int64_t>(0.75 * static_cast<double>(c.want))))
        << c.name;
  }
}

}  // namespace
}  // namespace foretoken::guard

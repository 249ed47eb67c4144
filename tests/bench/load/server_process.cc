#include "tests/bench/load/server_process.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace foretoken::bench {

ProcessUse ReadProcess(int pid) {
  ProcessUse use;
  if (pid <= 0) return use;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream stat(folder + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return use;
  std::istringstream fields(line.substr(line.rfind(')') + 1));  // the name before may hold blanks
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  fields >> use.user_seconds >> use.system_seconds;
  use.user_seconds /= ticks;
  use.system_seconds /= ticks;
  std::ifstream pages(folder + "/statm");
  double size = 0;
  pages >> size >> use.resident_bytes;
  use.resident_bytes *= static_cast<double>(sysconf(_SC_PAGESIZE));
  return use;
}

}  // namespace foretoken::bench

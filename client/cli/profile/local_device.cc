#include "client/cli/profile/local_device.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace foretoken::cli {
namespace {

// Commands of drivers that print the name of a device on each line.
struct Driver {
  const char* name;
  const char* command;
};
constexpr Driver kDrivers[] = {
    {"nvidia-smi", "timeout 5 nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null"},
    {"rocm-smi", "timeout 5 rocm-smi --showproductname 2>/dev/null | sed -n 's/.*Card Series:[[:space:]]*//p'"},
};
constexpr size_t kMostBytes = 4096;

std::string OutputOf(const char* command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  if (pipe == nullptr) return "";
  std::string output(kMostBytes, '\0');
  output.resize(fread(output.data(), 1, output.size(), pipe.get()));
  return output;
}

std::string Processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(':');
    return colon == std::string::npos ? "" : std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "";
}

}  // namespace

bool IsLocal(const std::string& url) {
  const size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const std::string host = url.substr(begin);
  for (const char* loopback : {"127.", "localhost", "[::1]"}) {
    if (host.starts_with(loopback)) return true;
  }
  return false;
}

std::string CountedNames(const std::string& lines) {
  std::map<std::string, int> names;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::string name(absl::StripAsciiWhitespace(line));
    if (!name.empty()) ++names[name];
  }
  std::string text;
  for (const auto& [name, count] : names) absl::StrAppend(&text, text.empty() ? "" : ", ", count, " x ", name);
  return text;
}

std::string LocalDevice() {
  for (const Driver& driver : kDrivers) {
    const std::string devices = CountedNames(OutputOf(driver.command));
    if (!devices.empty()) return absl::StrCat(devices, " (", driver.name, ")");
  }
  const std::string processor = Processor();
  return processor.empty() ? "" : absl::StrCat(processor, " (/proc/cpuinfo)");
}

}  // namespace foretoken::cli

#include "server/ops/process/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace foretoken::ops {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Fields of /proc/self/stat after the name in parentheses; see proc(5), whose numbers begin at 3 there.
constexpr size_t kUserTicks = 14 - 3;
constexpr size_t kSystemTicks = 15 - 3;
constexpr size_t kThreads = 20 - 3;
constexpr size_t kStartTicks = 22 - 3;
constexpr size_t kVirtualBytes = 23 - 3;
constexpr size_t kResidentPages = 24 - 3;

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

double Number(const std::vector<std::string>& fields, size_t index) {
  double number = 0;
  return index < fields.size() && absl::SimpleAtod(fields[index], &number) ? number : 0;
}

// Since the epoch; nothing where /proc/stat does not tell.
std::optional<double> BootSeconds() {
  const std::string stat = ReadFile("/proc/stat");
  const size_t at = stat.find("\nbtime ");
  double seconds = 0;
  if (at == std::string::npos) return std::nullopt;
  const std::string line = stat.substr(at + 7, stat.find('\n', at + 1) - at - 7);
  return absl::SimpleAtod(line, &seconds) ? std::optional(seconds) : std::nullopt;
}

std::optional<double> OpenDescriptors() {
  std::error_code error;
  double open = -1;  // the folder that is read is one
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end; it.increment(error)) {
    ++open;
  }
  return error ? std::nullopt : std::optional(open);
}

void Add(const char* name, const char* help, MetricType type, std::optional<double> value,
         std::vector<MetricFamily>& families) {
  if (!value) return;
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
  families.push_back({name, help, type, {metric}});
}

void AddStat(std::vector<MetricFamily>& families) {
  const std::string stat = ReadFile("/proc/self/stat");
  const size_t after_name = stat.rfind(") ");
  if (after_name == std::string::npos) return;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(after_name + 2), ' ');
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  Add("process_cpu_seconds_total", "CPU time of the process, of user and system.", MetricType::Counter,
      (Number(fields, kUserTicks) + Number(fields, kSystemTicks)) / ticks, families);
  Add("process_resident_memory_bytes", "Memory of the process that is in RAM.", MetricType::Gauge,
      Number(fields, kResidentPages) * static_cast<double>(sysconf(_SC_PAGESIZE)), families);
  Add("process_virtual_memory_bytes", "Address space of the process.", MetricType::Gauge, Number(fields, kVirtualBytes),
      families);
  Add("process_threads", "Threads of the process.", MetricType::Gauge, Number(fields, kThreads), families);
  if (const std::optional<double> boot = BootSeconds()) {
    Add("process_start_time_seconds", "When the process started, since the epoch.", MetricType::Gauge,
        *boot + Number(fields, kStartTicks) / ticks, families);
  }
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  AddStat(families);
  Add("process_open_fds", "File descriptors that are open; each connection takes one.", MetricType::Gauge,
      OpenDescriptors(), families);
  rlimit limit;
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  Add("process_max_fds", "File descriptors that may be open.", MetricType::Gauge,
      known ? std::optional(static_cast<double>(limit.rlim_cur)) : std::nullopt, families);
  return families;
}

}  // namespace foretoken::ops

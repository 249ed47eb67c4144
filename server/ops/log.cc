#include "server/ops/log.h"

#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace foretoken::ops {
namespace {

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

bool IsPlain(std::string_view value) {
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return false;
  }
  return !value.empty();
}

absl::string_view View(std::string_view text) { return absl::string_view(text.data(), text.size()); }

}  // namespace

std::string LogLine(absl::Time time, LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat("time=", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone()),
                                  " level=", View(LevelName(level)), " event=", View(event));
  for (const auto& [key, value] : fields) {
    absl::StrAppend(&line, " ", View(key), "=");
    if (IsPlain(value)) {
      absl::StrAppend(&line, value);
    } else {
      absl::StrAppend(&line, "\"", absl::Utf8SafeCEscape(value), "\"");
    }
  }
  return line;
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  const std::string line = LogLine(absl::Now(), level, event, fields) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio keeps the line whole
}

}  // namespace foretoken::ops

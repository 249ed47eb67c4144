#include "server/ops/log.h"

#include <atomic>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "text/printable.h"

namespace foretoken::ops {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

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
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return false;  // bytes above 127 are below ' '
  }
  return !value.empty();
}

absl::string_view View(std::string_view text) { return absl::string_view(text.data(), text.size()); }

void AppendText(std::string_view key, std::string_view value, std::string& line) {
  const bool plain = IsPlain(value);
  absl::StrAppend(&line, line.empty() ? "" : " ", View(key), "=",
                  plain ? std::string(value) : absl::StrCat("\"", Printable(value, Escape::kQuoted), "\""));
}

void AppendJson(std::string_view key, std::string_view value, std::string& line) {
  absl::StrAppend(&line, line.empty() ? "{" : ", ", "\"", View(key), "\": \"", Printable(value, Escape::kJson), "\"");
}

}  // namespace

std::string LogLine(absl::Time time, LogLevel level, std::string_view event, std::initializer_list<LogField> fields,
                    LogFormat format) {
  const auto append = format == LogFormat::kJson ? AppendJson : AppendText;
  std::string line;
  append("time", absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone()), line);
  append("level", LevelName(level), line);
  append("event", event, line);
  for (const auto& [key, value] : fields) append(key, value, line);
  if (format == LogFormat::kJson) line += "}";
  return line;
}

void SetLogFormat(LogFormat format) { log_format = format; }

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  const std::string line = LogLine(absl::Now(), level, event, fields, log_format) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call: stdio keeps the line whole
}

}  // namespace foretoken::ops

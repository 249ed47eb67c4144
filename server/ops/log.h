// One line per event on stderr, as key=value pairs that people and machines read alike, or as a JSON object:
//
//   time=2026-01-02T03:04:05.678Z level=info event=serving address=127.0.0.1:50051 hardware=105
//   {"time": "2026-01-02T03:04:05.678Z", "level": "info", "event": "serving", "address": "127.0.0.1:50051", ...}
//
// Every value is escaped here (text/printable.h), so that no text of a caller can forge a line.
// Thread-safe: a line is written whole.
#ifndef FORETOKEN_SERVER_OPS_LOG_H_
#define FORETOKEN_SERVER_OPS_LOG_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"

namespace foretoken::ops {

enum class LogLevel { kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

using LogField = std::pair<std::string_view, std::string>;

// The line without its end. As text, a value with more than visible ASCII is quoted and escaped.
std::string LogLine(absl::Time time, LogLevel level, std::string_view event, std::initializer_list<LogField> fields,
                    LogFormat format = LogFormat::kText);

// The form of every line from now on; text before the first call.
void SetLogFormat(LogFormat format);

// Writes the line, stamped with the system's clock.
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_LOG_H_

#include "client/cli/text/json_text.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    const bool control = static_cast<unsigned char>(c) < 0x20;
    quoted += control ? absl::StrFormat("\\u%04x", c) : std::string(1, c);
  }
  return quoted + "\"";
}

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "null";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return FormatExact(value);
}

}  // namespace foretoken::cli

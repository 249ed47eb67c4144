#include "client/cli/text/json_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/cli/text/format.h"
#include "text/printable.h"

namespace foretoken::cli {

std::string JsonString(std::string_view text) { return absl::StrCat("\"", Printable(text, Escape::kJson), "\""); }

std::string JsonNumber(double value) {
  if (std::isnan(value)) return "null";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return FormatExact(value);
}

}  // namespace foretoken::cli

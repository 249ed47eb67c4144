#include "client/cli/terminal/terminal.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

const char* Escape(Look look) {
  switch (look) {
    case Look::kPlain:
      return "";
    case Look::kBold:
      return "\033[1m";
    case Look::kDim:
      return "\033[2m";
    case Look::kGood:
      return "\033[32m";
    case Look::kBad:
      return "\033[31m";
    case Look::kWarn:
      return "\033[33m";
    case Look::kCompute:
      return "\033[34m";
    case Look::kMemory:
      return "\033[35m";
    case Look::kCommunication:
      return "\033[36m";
    case Look::kHost:
      return "\033[33m";
    case Look::kQueueing:
      return "\033[31m";
  }
  return "";
}

std::string Value(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool LocaleIsUtf8(const GetEnv& getenv) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = absl::AsciiStrToLower(Value(getenv, name));
    if (!locale.empty()) return absl::StrContains(locale, "utf-8") || absl::StrContains(locale, "utf8");
  }
  return false;
}

}  // namespace

std::string Terminal::Paint(std::string_view text, Look look) const {
  const std::string clean = client::Printable(text);
  if (!color || look == Look::kPlain || clean.empty()) return clean;
  return absl::StrCat(Escape(look), clean, "\033[0m");
}

Terminal DescribeTerminal(ColorMode mode, bool out_is_terminal, bool err_is_terminal, const GetEnv& getenv) {
  const bool welcome = out_is_terminal && Value(getenv, "NO_COLOR").empty() && Value(getenv, "TERM") != "dumb";
  return {.color = mode == ColorMode::kAlways || (mode == ColorMode::kAuto && welcome),
          .utf8 = LocaleIsUtf8(getenv),
          .interactive = err_is_terminal};
}

}  // namespace foretoken::cli

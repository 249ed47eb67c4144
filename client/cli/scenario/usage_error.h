// Errors in the arguments of the command line.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_USAGE_ERROR_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_USAGE_ERROR_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

// For CLI::App::failure_message: names the unknown argument, the closest known one, and the command whose --help to
// read.
std::string UsageError(const CLI::App* app, const CLI::Error& error);

// Throw a CLI::ParseError for arguments that CLI11 accepts by mistake. Before parsing: "--etag=", because CLI11 would
// take the next argument as the value. After parsing: an empty value, because the commands would treat the flag as
// absent (`--etag "$UNSET"` would delete unconditionally); an argument given both by place and by flag with two values.
void CheckNoEmptyValue(const std::vector<std::string>& arguments);
void CheckResults(const CLI::App& app);

// Translates a name to its value; any other name is refused with the allowed names.
template <typename Value>
CLI::Validator OneOf(std::vector<std::pair<std::string, Value>> choices) {
  const auto transform = [choices = std::move(choices)](std::string& text) {
    std::string allowed;
    for (const auto& [name, value] : choices) {
      if (text == name) {
        text = absl::StrCat(static_cast<int>(value));
        return std::string();
      }
      absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", name);
    }
    return absl::StrCat("\"", text, "\"; allowed: ", allowed);
  };
  return CLI::Validator(transform, "");
}

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_USAGE_ERROR_H_

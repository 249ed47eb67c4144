// What is wrong with the arguments of a command line, in one line, and values that are one of a few names.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_USAGE_ERROR_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_USAGE_ERROR_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

// For CLI::App::failure_message: names what is not known, what comes closest, and whose --help tells more.
std::string UsageError(const CLI::App* app, const CLI::Error& error);

// Throw a CLI::ParseError for what CLI11 lets through. Before parsing: "--etag=", after which it takes the next
// argument for the value. After parsing: an empty value, which the commands would read as a flag that is not given, so
// that
// `--etag "$UNSET"` would delete unconditionally; and an argument that stands twice, by place and by flag, and differs.
void CheckNoEmptyValue(const std::vector<std::string>& arguments);
void CheckResults(const CLI::App& app);

// A value by its name; told of any other is what was asked and what is allowed.
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

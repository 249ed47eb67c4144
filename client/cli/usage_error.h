// What is wrong with the arguments of a command line, in one line, and values that are one of a few names.
#ifndef FORETOKEN_CLIENT_CLI_USAGE_ERROR_H_
#define FORETOKEN_CLIENT_CLI_USAGE_ERROR_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

// For CLI::App::failure_message: names what is not known, what comes closest, and whose --help tells more.
std::string UsageError(const CLI::App* app, const CLI::Error& error);

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

#endif  // FORETOKEN_CLIENT_CLI_USAGE_ERROR_H_

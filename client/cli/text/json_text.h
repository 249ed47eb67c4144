// Pieces of JSON for output that is streamed row by row.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_JSON_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace foretoken::cli {

// A quoted string.
std::string JsonString(std::string_view text);

// A number that reads back as the same double; null for NaN, which JSON cannot say, "Infinity" as a string.
std::string JsonNumber(double value);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_JSON_TEXT_H_

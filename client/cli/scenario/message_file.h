// Messages in files: textproto or JSON. The first character decides: '{' begins JSON.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_MESSAGE_FILE_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_MESSAGE_FILE_H_

#include <google/protobuf/message.h>

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace foretoken::cli {

// The whole file; for "-" all of `in`. Errors: INVALID_ARGUMENT: it cannot be read, or is longer than 64 MiB.
absl::StatusOr<std::string> ReadText(const std::string& file, std::istream& in);

// Writes a file whole, beside itself and then renamed, so that a kill leaves the old file or the new one. A pipe
// or terminal is written as it is. Errors: INVALID_ARGUMENT: it cannot be written.
absl::Status WriteText(const std::string& file, const std::string& text);

// Parses `text` into `message`. Errors: INVALID_ARGUMENT: a syntax error or unknown field, with file, line and column
// ("h100.textproto:3:5: ..."); all of them for a textproto, the first for JSON.
absl::Status ParseMessage(const std::string& text, const std::string& file, google::protobuf::Message& message);

// ReadText, then ParseMessage.
absl::Status ReadMessage(const std::string& file, std::istream& in, google::protobuf::Message& message);

// Whether the text is JSON.
bool LooksLikeJson(const std::string& text);

// Indented JSON with the field names of the .proto, and a newline.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_MESSAGE_FILE_H_

// Sets one field of a message from text, by its path: the bridge from flags to the API.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_FIELD_PATH_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_FIELD_PATH_H_

#include <google/protobuf/message.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace foretoken::cli {

// Sets the field at `path` ("workload.batch_size"). Numbers as C++ reads them (1e9 too where it is whole); enums as
// EnumText writes them; a field named "..._seconds" also with a unit ("200ms"); times after RFC 3339.
// Only a text that is not of the field's type is refused; the server checks the range.
// Errors: INVALID_ARGUMENT: the text is not of the field's kind; the message states what is allowed.
// REQUIRES: path names a singular field of the message.
absl::Status SetField(google::protobuf::Message& message, std::string_view path, std::string_view text);

// The descriptor of the field at `path`; null where there is none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& type, std::string_view path);

// "0.2", "200ms", "1.5s", "2m" as seconds. Errors: INVALID_ARGUMENT.
absl::StatusOr<double> ParseSeconds(std::string_view text);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_FIELD_PATH_H_

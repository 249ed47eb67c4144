// Enum values of the API as users write them: DTYPE_FP8_BLOCK is "fp8_block".
#ifndef FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <optional>
#include <string>
#include <string_view>

namespace foretoken::cli {

// The name of the value without the prefix of its enum, in lower case; "unspecified" for 0, the number of an unknown
// value.
std::string EnumText(const google::protobuf::EnumDescriptor& type, int number);

template <typename Enum>
std::string EnumText(Enum value) {
  return EnumText(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// The inverse; '-' equals '_', upper case equals lower case. Nothing for an unknown text.
std::optional<int> ParseEnum(const google::protobuf::EnumDescriptor& type, std::string_view text);

// All values except "unspecified", for help and errors: "fp32, bf16, ...".
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_

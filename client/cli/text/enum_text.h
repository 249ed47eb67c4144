// Values of the API's enums as people write them: DTYPE_FP8_BLOCK is "fp8_block".
#ifndef FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <optional>
#include <string>
#include <string_view>

namespace foretoken::cli {

// The value's name without its enum's prefix, in lower case; "unspecified" for 0, the number for one unknown here.
std::string EnumText(const google::protobuf::EnumDescriptor& type, int number);

template <typename Enum>
std::string EnumText(Enum value) {
  return EnumText(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// The inverse; '-' is read as '_', letters of any case. Nothing for an unknown text.
std::optional<int> ParseEnum(const google::protobuf::EnumDescriptor& type, std::string_view text);

// Every text but "unspecified", for help and errors: "fp32, bf16, ...".
std::string EnumChoices(const google::protobuf::EnumDescriptor& type);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_ENUM_TEXT_H_

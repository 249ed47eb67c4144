#include "client/cli/text/enum_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace foretoken::cli {
namespace {

using google::protobuf::EnumDescriptor;

// "DTYPE_": what stands before UNSPECIFIED in the value 0.
std::string Prefix(const EnumDescriptor& type) {
  return std::string(absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED"));
}

}  // namespace

std::string EnumText(const EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return std::to_string(number);
  return absl::AsciiStrToLower(absl::StripPrefix(value->name(), Prefix(type)));
}

std::optional<int> ParseEnum(const EnumDescriptor& type, std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
  const std::string name = absl::StrReplaceAll(lower, {{"-", "_"}});
  for (int i = 0; i < type.value_count(); ++i) {
    if (EnumText(type, type.value(i)->number()) == name) return type.value(i)->number();
  }
  return std::nullopt;
}

std::string EnumChoices(const EnumDescriptor& type) {
  std::vector<std::string> choices;
  for (int i = 1; i < type.value_count(); ++i) choices.push_back(EnumText(type, type.value(i)->number()));
  return absl::StrJoin(choices, ", ");
}

}  // namespace foretoken::cli

#include "client/request_text.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace foretoken::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kShown = 64;

// The bytes of the character that begins at `at`; 0: none does.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  const unsigned second = byte(at + 1);
  // Neither more bytes than needed, nor surrogates, nor beyond U+10FFFF.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

std::string FaultOf(const Message& message, const std::string& prefix);

// Item `index` of a list; -1: the field is none.
std::string FaultOfItem(const Message& message, const FieldDescriptor& field, int index, const std::string& path) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return FaultOf(
        index < 0 ? reflection.GetMessage(message, &field) : reflection.GetRepeatedMessage(message, &field, index),
        path + ".");
  }
  if (field.type() != FieldDescriptor::TYPE_STRING) return "";
  const std::string text =
      index < 0 ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, index);
  if (IsUtf8(text)) return "";
  return absl::StrCat(path, " \"", absl::CHexEscape(text.substr(0, kShown)), "\" is not UTF-8");
}

std::string FaultOf(const Message& message, const std::string& prefix) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    const int items = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < items; ++i) {
      const bool list = field->is_repeated();
      std::string fault = FaultOfItem(message, *field, list ? i : -1, list ? absl::StrCat(path, "[", i, "]") : path);
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = CharacterBytes(text, at);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

absl::Status NameUnsendable(const absl::Status& status, const Message& request) {
  if (!absl::IsUnimplemented(status) || !status.message().empty()) return status;
  const std::string fault = FaultOf(request, "");
  return fault.empty() ? status : absl::InvalidArgumentError(fault);
}

}  // namespace foretoken::client

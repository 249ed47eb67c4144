#include "server/catalog/spec/text_limits.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "foretoken/v1/source.pb.h"
#include "google/protobuf/descriptor.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::catalog {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsText(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING; }

bool IsCounted(const FieldDescriptor& field) {
  return field.is_repeated() && (IsText(field) || field.message_type() == v1::Source::descriptor());
}

void CheckText(FieldChecker& checks, const std::string& path, const std::string& text) {
  if (text.size() <= kMaxTextBytes) return;
  checks.Fault(path, absl::StrCat(" has ", text.size(), " bytes; allowed up to ", kMaxTextBytes));
}

void CheckMessage(FieldChecker& checks, const std::string& prefix, const Message& message);

// Item `index` of a list; -1: the field is none.
void CheckItem(FieldChecker& checks, const std::string& path, const Message& message, const FieldDescriptor& field,
               int index) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (IsText(field)) {
    std::string scratch;
    CheckText(checks, path,
              index < 0 ? reflection.GetStringReference(message, &field, &scratch)
                        : reflection.GetRepeatedStringReference(message, &field, index, &scratch));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    CheckMessage(
        checks, path + ".",
        index < 0 ? reflection.GetMessage(message, &field) : reflection.GetRepeatedMessage(message, &field, index));
  }
}

void CheckMessage(FieldChecker& checks, const std::string& prefix, const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    if (!field->is_repeated()) {
      CheckItem(checks, path, message, *field, -1);
      continue;
    }
    const int size = reflection.FieldSize(message, field);
    if (IsCounted(*field) && !checks.Size(path, size, kMaxSources)) continue;
    for (int i = 0; i < size; ++i) CheckItem(checks, absl::StrCat(path, "[", i, "]"), message, *field, i);
  }
}

}  // namespace

absl::Status CheckTexts(const Message& spec) {
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  CheckMessage(checks, "", spec);
  return InvalidFields(violations);
}

}  // namespace foretoken::catalog

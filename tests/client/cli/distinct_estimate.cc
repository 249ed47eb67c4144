#include "tests/client/cli/distinct_estimate.h"

#include <google/protobuf/duration.pb.h>

#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Duration;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool IsLeaf(const FieldDescriptor& field) {
  return field.message_type() == nullptr || field.is_map() || field.message_type() == Duration::descriptor();
}

// A value of the enum other than 0.
int EnumNumber(const FieldDescriptor& field, int number) {
  const auto& type = *field.enum_type();
  return type.value(1 + number % (type.value_count() - 1))->number();
}

void SetScalar(Message& message, const FieldDescriptor& field, int number) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&message, &field, number);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, number);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, number);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, EnumNumber(field, number));
    default:
      return reflection.SetString(&message, &field, "text-" + std::to_string(number));
  }
}

void Fill(Message& message, int& number);

void FillField(Message& message, const FieldDescriptor& field, int& number) {
  const auto& reflection = *message.GetReflection();
  if (field.message_type() == Duration::descriptor()) {
    dynamic_cast<Duration*>(reflection.MutableMessage(&message, &field))->set_seconds(number++);
  } else if (field.message_type() != nullptr) {
    Fill(field.is_repeated() ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field),
         number);
  } else if (field.is_repeated()) {
    reflection.AddDouble(&message, &field, number++);
  } else {
    SetScalar(message, field, number++);
  }
}

void Fill(Message& message, int& number) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    FillField(message, *message.GetDescriptor()->field(i), number);
  }
}

void Visit(Message& message, const std::string& prefix, const std::function<void(const Leaf&)>& visit) {
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const std::string path = prefix + field.name();
    if (IsLeaf(field)) {
      visit({path, message, field});
    } else {
      Visit(field.is_repeated() ? *reflection.MutableRepeatedMessage(&message, &field, 0)
                                : *reflection.MutableMessage(&message, &field),
            path + ".", visit);
    }
  }
}

}  // namespace

void FillDistinct(Message& message) {
  int number = 101;
  Fill(message, number);
}

v1::Estimate DistinctEstimate() {
  v1::Estimate estimate;
  FillDistinct(estimate);
  estimate.set_tpot_is_next_step(false);  // there are decode steps
  estimate.mutable_prefill()->set_provenance(v1::PROVENANCE_CALIBRATED);
  estimate.mutable_decode()->set_provenance(v1::PROVENANCE_TRANSFERRED);
  return estimate;
}

void ForEachLeaf(Message& message, const std::function<void(const Leaf&)>& visit) { Visit(message, "", visit); }

void Change(const Leaf& leaf) {
  constexpr int kOther = 9999;
  const auto& reflection = *leaf.owner.GetReflection();
  const FieldDescriptor& field = leaf.field;
  if (field.is_repeated()) {
    reflection.ClearField(&leaf.owner, &field);
  } else if (field.message_type() != nullptr) {
    dynamic_cast<Duration*>(reflection.MutableMessage(&leaf.owner, &field))->set_seconds(kOther);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    reflection.SetBool(&leaf.owner, &field, !reflection.GetBool(leaf.owner, &field));
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    reflection.SetEnumValue(&leaf.owner, &field,
                            EnumNumber(field, reflection.GetEnumValue(leaf.owner, &field)));  // the next value
  } else {
    SetScalar(leaf.owner, field, kOther);
  }
}

std::string ExactText(const Leaf& leaf) {
  const auto& reflection = *leaf.owner.GetReflection();
  const FieldDescriptor& field = leaf.field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FormatExact(reflection.GetDouble(leaf.owner, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(reflection.GetInt32(leaf.owner, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(leaf.owner, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumText(*field.enum_type(), reflection.GetEnumValue(leaf.owner, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return std::to_string(dynamic_cast<const Duration&>(reflection.GetMessage(leaf.owner, &field)).seconds());
    default:
      return reflection.GetString(leaf.owner, &field);
  }
}

}  // namespace foretoken::cli

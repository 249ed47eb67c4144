#include "client/cli/scenario/field_path.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Wrong(std::string_view text, std::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat("\"", View(text), "\"; allowed: ", View(allowed)));
}

template <typename Int>
std::optional<Int> ParseWhole(std::string_view text) {
  Int whole;
  if (absl::SimpleAtoi(View(text), &whole)) return whole;
  double number;
  if (!absl::SimpleAtod(View(text), &number) || number != std::floor(number)) return std::nullopt;
  if (std::fabs(number) >= static_cast<double>(std::numeric_limits<Int>::max())) return std::nullopt;
  return static_cast<Int>(number);
}

absl::StatusOr<double> ParseDouble(const FieldDescriptor& field, std::string_view text) {
  if (absl::EndsWith(field.name(), "_seconds")) return ParseSeconds(text);
  double number;
  if (!absl::SimpleAtod(View(text), &number)) return Wrong(text, "a number");
  return number;
}

absl::Status SetEnum(Message& message, const FieldDescriptor& field, std::string_view text) {
  const std::optional<int> value = ParseEnum(*field.enum_type(), text);
  if (!value.has_value()) return Wrong(text, EnumChoices(*field.enum_type()));
  message.GetReflection()->SetEnumValue(&message, &field, *value);
  return absl::OkStatus();
}

absl::Status SetTime(Message& message, const FieldDescriptor& field, std::string_view text) {
  google::protobuf::Timestamp time;
  if (!google::protobuf::util::TimeUtil::FromString(std::string(text), &time)) {
    return Wrong(text, "a time after RFC 3339, as 2026-01-31T12:00:00Z");
  }
  message.GetReflection()->MutableMessage(&message, &field)->CopyFrom(time);
  return absl::OkStatus();
}

absl::Status SetBool(Message& message, const FieldDescriptor& field, std::string_view text) {
  if (text != "true" && text != "false") return Wrong(text, "true, false");
  message.GetReflection()->SetBool(&message, &field, text == "true");
  return absl::OkStatus();
}

template <typename Int, typename Setter>
absl::Status SetWhole(std::string_view text, Setter set) {
  const std::optional<Int> whole = ParseWhole<Int>(text);
  if (!whole.has_value()) {
    using Limits = std::numeric_limits<Int>;
    return Wrong(text, absl::StrCat("a whole number from ", Limits::min(), " to ", Limits::max()));
  }
  set(*whole);
  return absl::OkStatus();
}

absl::Status SetScalar(Message& message, const FieldDescriptor& field, std::string_view text) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return SetWhole<int32_t>(text, [&](int32_t whole) { reflection.SetInt32(&message, &field, whole); });
    case FieldDescriptor::CPPTYPE_INT64:
      return SetWhole<int64_t>(text, [&](int64_t whole) { reflection.SetInt64(&message, &field, whole); });
    case FieldDescriptor::CPPTYPE_UINT64:
      return SetWhole<uint64_t>(text, [&](uint64_t whole) { reflection.SetUInt64(&message, &field, whole); });
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const absl::StatusOr<double> number = ParseDouble(field, text);
      if (number.ok()) reflection.SetDouble(&message, &field, *number);
      return number.status();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return SetBool(message, field, text);
    case FieldDescriptor::CPPTYPE_ENUM:
      return SetEnum(message, field, text);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return SetTime(message, field, text);
    default:
      reflection.SetString(&message, &field, std::string(text));
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<double> ParseSeconds(std::string_view text) {
  double number;
  if (absl::SimpleAtod(View(text), &number)) return number;
  absl::Duration duration;
  if (absl::ParseDuration(View(text), &duration)) return absl::ToDoubleSeconds(duration);
  return Wrong(text, "seconds, or a number with ns, us, ms, s, m or h");
}

const FieldDescriptor* FindField(const google::protobuf::Descriptor& type, std::string_view path) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = type.FindFieldByName(std::string(path.substr(0, dot)));
  if (dot == std::string_view::npos || field == nullptr) return field;
  if (field->message_type() == nullptr || field->is_repeated()) return nullptr;
  return FindField(*field->message_type(), path.substr(dot + 1));
}

absl::Status SetField(Message& message, std::string_view path, std::string_view text) {
  const size_t dot = path.find('.');
  const FieldDescriptor& field = *message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (dot == std::string_view::npos) return SetScalar(message, field, text);
  return SetField(*message.GetReflection()->MutableMessage(&message, &field), path.substr(dot + 1), text);
}

}  // namespace foretoken::cli

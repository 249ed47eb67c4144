#include "server/rpc/sweep/field_path.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::rpc {
namespace {

using google::protobuf::FieldDescriptor;

constexpr char kFalse[] = "false";
constexpr char kTrue[] = "true";
constexpr std::string_view kTexts[] = {"model_id", "hardware_id", "deployment.engine",
                                       "speculative_decoding.draft_model_id", "disaggregated_prefill.hardware_id"};

std::optional<FieldKind> KindOf(const FieldDescriptor& field, std::string_view path) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      return FieldKind::kInteger;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FieldKind::kNumber;
    case FieldDescriptor::CPPTYPE_ENUM:
      return FieldKind::kEnum;
    case FieldDescriptor::CPPTYPE_BOOL:
      return FieldKind::kBool;
    case FieldDescriptor::CPPTYPE_STRING:
      for (const std::string_view text : kTexts) {
        if (path == text) return FieldKind::kText;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

absl::Status NoField(std::string_view path, std::string_view why) {
  const auto view = [](std::string_view text) { return absl::string_view(text.data(), text.size()); };
  return absl::InvalidArgumentError(absl::StrCat(catalog::Quoted(path), ": ", view(why),
                                                 "; allowed: a number, an enum or a bool of the scenario, the id of a "
                                                 "model or hardware, or deployment.engine"));
}

}  // namespace

absl::StatusOr<FieldPath> FieldPath::Resolve(std::string_view path) {
  FieldPath result;
  result.text_ = path;
  const google::protobuf::Descriptor* message = v1::Scenario::descriptor();
  for (const absl::string_view name : absl::StrSplit(result.text_, '.')) {
    if (message == nullptr) return NoField(path, "goes past a field that is not a message");
    const FieldDescriptor* field = message->FindFieldByName(std::string(name));
    if (field == nullptr) {
      return NoField(path, absl::StrCat("no field ", catalog::Quoted(std::string_view(name.data(), name.size())),
                                        " in ", message->name()));
    }
    if (field->is_repeated()) return NoField(path, absl::StrCat("\"", name, "\" is repeated"));
    if (result.field_ != nullptr) result.parents_.push_back(result.field_);
    result.field_ = field;
    const bool ours = field->message_type() != nullptr && field->message_type()->file()->package() == "foretoken.v1";
    message = ours ? field->message_type() : nullptr;
  }
  const std::optional<FieldKind> kind = KindOf(*result.field_, path);
  if (!kind) return NoField(path, "its kind cannot be varied");
  result.kind_ = *kind;
  result.part_ = PartOf(path);
  return result;
}

bool FieldPath::IsDtype() const { return kind_ == FieldKind::kEnum && field_->enum_type() == v1::Dtype_descriptor(); }

bool FieldPath::Holds(double value) const {
  if (kind_ == FieldKind::kNumber) return !std::isnan(value);
  if (kind_ == FieldKind::kBool) return value == 0 || value == 1;
  return std::abs(value) <= static_cast<double>(LargestInteger()) && std::floor(value) == value;
}

std::string FieldPath::AllowedNumbers() const {
  if (kind_ == FieldKind::kNumber) return "numbers";
  if (kind_ == FieldKind::kBool) return "0 (false) or 1 (true)";
  return absl::StrCat("whole numbers from ", -LargestInteger(), " to ", LargestInteger());
}

std::optional<int> FieldPath::NumberOf(const std::string& name) const {
  if (kind_ == FieldKind::kBool) {
    if (name == kTrue) return 1;
    return name == kFalse ? std::optional(0) : std::nullopt;
  }
  const google::protobuf::EnumValueDescriptor* value = field_->enum_type()->FindValueByName(name);
  return value == nullptr ? std::nullopt : std::optional(value->number());
}

std::string FieldPath::NameOf(int number) const {
  if (kind_ == FieldKind::kBool) return std::string(number == 0 ? kFalse : kTrue);
  return field_->enum_type()->FindValueByNumber(number)->name();
}

std::string FieldPath::AllowedNames() const {
  if (kind_ == FieldKind::kBool) return absl::StrCat(kFalse, " or ", kTrue);
  const google::protobuf::EnumDescriptor& type = *field_->enum_type();
  std::string names = "one of ";
  for (int i = 0; i < type.value_count(); ++i) absl::StrAppend(&names, i == 0 ? "" : ", ", type.value(i)->name());
  return names;
}

int64_t FieldPath::LargestInteger() const {
  constexpr int64_t kExact = int64_t{1} << 53;  // past it a double no longer names one integer
  return field_->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ? std::numeric_limits<int32_t>::max() : kExact;
}

google::protobuf::Message& FieldPath::Parent(v1::Scenario& scenario) const {
  google::protobuf::Message* message = &scenario;
  for (const FieldDescriptor* parent : parents_) message = message->GetReflection()->MutableMessage(message, parent);
  return *message;
}

void FieldPath::SetNumber(double value, v1::Scenario& scenario) const {
  google::protobuf::Message& message = Parent(scenario);
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  switch (field_->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, field_, static_cast<int32_t>(value));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, field_, static_cast<int64_t>(value));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, field_, static_cast<int>(value));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, field_, value != 0);
    default:
      return reflection.SetDouble(&message, field_, value);
  }
}

void FieldPath::SetText(const std::string& value, v1::Scenario& scenario) const {
  google::protobuf::Message& message = Parent(scenario);
  message.GetReflection()->SetString(&message, field_, value);
}

}  // namespace foretoken::rpc

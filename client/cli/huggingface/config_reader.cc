#include "client/cli/huggingface/config_reader.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Value;

bool IsOff(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNullValue:
      return true;
    case Value::kBoolValue:
      return !value.bool_value();
    case Value::kNumberValue:
      return value.number_value() == 0;
    case Value::kStringValue:
      return value.string_value().empty();
    case Value::kListValue:
      return value.list_value().values().empty();
    default:
      return false;
  }
}

}  // namespace

const Value* ConfigReader::Read(const std::string& name) {
  read_.insert(name);
  const auto field = config_.fields().find(name);
  const bool there = field != config_.fields().end() && field->second.kind_case() != Value::kNullValue;
  return there ? &field->second : nullptr;
}

bool ConfigReader::Has(const std::string& name) const {
  const auto field = config_.fields().find(name);
  return field != config_.fields().end() && field->second.kind_case() != Value::kNullValue;
}

void ConfigReader::Fault(const std::string& name, const std::string& what) {
  faults_.push_back(absl::StrCat(prefix_, name, ": ", what));
}

std::optional<int32_t> ConfigReader::MaybeInt(const std::string& name) {
  const Value* value = Read(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->number_value();
  const bool whole =
      value->kind_case() == Value::kNumberValue && number == std::floor(number) && std::fabs(number) < 2e9;
  if (whole) return static_cast<int32_t>(number);
  Fault(name, "a whole number is needed");
  return std::nullopt;
}

int32_t ConfigReader::FirstInt(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (Has(name)) return MaybeInt(name).value_or(0);
  }
  Fault(absl::StrJoin(names, " or "), "is missing");
  return 0;
}

bool ConfigReader::Bool(const std::string& name, bool when_absent) {
  const Value* value = Read(name);
  if (value == nullptr) return when_absent;
  if (value->kind_case() != Value::kBoolValue) Fault(name, "true or false is needed");
  return value->bool_value();
}

std::string ConfigReader::Text(const std::string& name) {
  const Value* value = Read(name);
  if (value == nullptr) return "";
  if (value->kind_case() != Value::kStringValue) Fault(name, "a text is needed");
  return value->string_value();
}

std::vector<std::string> ConfigReader::Texts(const std::string& name) {
  std::vector<std::string> texts;
  const Value* value = Read(name);
  if (value == nullptr) return texts;
  for (const Value& one : value->list_value().values()) texts.push_back(one.string_value());
  return texts;
}

std::vector<double> ConfigReader::Numbers(const std::string& name) {
  std::vector<double> numbers;
  const Value* value = Read(name);
  if (value == nullptr) return numbers;
  for (const Value& one : value->list_value().values()) numbers.push_back(one.number_value());
  return numbers;
}

const google::protobuf::Struct* ConfigReader::Object(const std::string& name) {
  const Value* value = Read(name);
  if (value == nullptr) return nullptr;
  if (value->kind_case() == Value::kStructValue) return &value->struct_value();
  Fault(name, "an object is needed");
  return nullptr;
}

void ConfigReader::MustBeOff(const std::string& name) {
  const Value* value = Read(name);
  if (value != nullptr && !IsOff(*value)) Fault(name, absl::StrCat(value->ShortDebugString(), " is not modelled"));
}

void ConfigReader::MustBeInt(const std::string& name, int32_t allowed) {
  const std::optional<int32_t> value = MaybeInt(name);
  if (value.value_or(allowed) != allowed) Fault(name, absl::StrCat(*value, "; allowed ", allowed));
}

std::vector<std::string> ConfigReader::Unread(const std::vector<std::string>& ignore) const {
  std::vector<std::string> unread = unread_;
  for (const auto& [name, value] : config_.fields()) {
    if (!read_.contains(name) && !IsOff(value)) unread.push_back(prefix_ + name);
  }
  std::erase_if(unread,
                [&](const std::string& name) { return std::find(ignore.begin(), ignore.end(), name) != ignore.end(); });
  return unread;
}

void ConfigReader::Take(const ConfigReader& object) {
  faults_.insert(faults_.end(), object.faults_.begin(), object.faults_.end());
  const std::vector<std::string> unread = object.Unread({});
  unread_.insert(unread_.end(), unread.begin(), unread.end());
}

absl::Status ConfigReader::Finish(const std::string& file, const std::vector<std::string>& ignore) const {
  std::vector<std::string> faults = faults_;
  std::vector<std::string> unread = Unread(ignore);
  std::sort(unread.begin(), unread.end());
  for (const std::string& name : unread) faults.push_back(absl::StrCat(name, ": is not understood"));
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", absl::StrJoin(faults, "; ")));
}

}  // namespace foretoken::cli

#include "client/cli/scenario/axis.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/scenario/field_path.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

using google::protobuf::FieldDescriptor;

constexpr char kForm[] = "FIELD=V,V,... or FIELD=FIRST..LAST or FIELD=FIRST..LAST:log:COUNT (or :lin:)";

absl::Status WrongAxis(std::string_view what, std::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("--axis \"", std::string(what), "\"; allowed: ", std::string(allowed)));
}

// How the values of a field travel. A path that the client does not know is sent as numbers, for the server to check.
enum class AxisKind { kNumbers, kTexts, kDtypes, kEnum, kBool };

AxisKind KindOf(const FieldDescriptor* field) {
  if (field == nullptr) return AxisKind::kNumbers;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return AxisKind::kTexts;
    case FieldDescriptor::CPPTYPE_BOOL:
      return AxisKind::kBool;
    case FieldDescriptor::CPPTYPE_ENUM:
      return field->enum_type() == v1::Dtype_descriptor() ? AxisKind::kDtypes : AxisKind::kEnum;
    default:
      return AxisKind::kNumbers;
  }
}

absl::Status AddEnum(const std::string& value, const google::protobuf::EnumDescriptor& type, v1::SweepAxis& axis) {
  const std::optional<int> number = ParseEnum(type, value);
  if (!number.has_value()) return WrongAxis(value, EnumChoices(type));
  if (&type == v1::Dtype_descriptor()) {
    axis.mutable_dtypes()->add_values(static_cast<v1::Dtype>(*number));
  } else {
    axis.mutable_texts()->add_values(type.FindValueByNumber(*number)->name());
  }
  return absl::OkStatus();
}

absl::Status AddValue(const std::string& value, const FieldDescriptor* field, v1::SweepAxis& axis) {
  double number;
  switch (KindOf(field)) {
    case AxisKind::kDtypes:
    case AxisKind::kEnum:
      return AddEnum(value, *field->enum_type(), axis);
    case AxisKind::kBool:
      if (value != "true" && value != "false") return WrongAxis(value, "true, false");
      [[fallthrough]];
    case AxisKind::kTexts:
      axis.mutable_texts()->add_values(value);
      return absl::OkStatus();
    case AxisKind::kNumbers:
      if (!absl::SimpleAtod(value, &number)) return WrongAxis(value, absl::StrCat("numbers, as ", kForm));
      axis.mutable_numbers()->add_values(number);
  }
  return absl::OkStatus();
}

// "1..256:log:9" split up; nothing when the text is no range.
struct RangeText {
  v1::Range range;
  bool logarithmic = false;
};

std::optional<RangeText> ParseRange(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  const std::vector<std::string> ends = absl::StrSplit(parts[0], absl::MaxSplits("..", 1));
  double first, last;
  if (ends.size() != 2 || !absl::SimpleAtod(ends[0], &first) || !absl::SimpleAtod(ends[1], &last)) return std::nullopt;
  RangeText parsed;
  parsed.range.set_start(first);
  parsed.range.set_stop(last);
  int32_t count = 0;
  if (parts.size() == 1 && last >= first && last - first < 1e7) {
    parsed.range.set_count(static_cast<int32_t>(last - first) + 1);
    parsed.range.set_stop(first + std::floor(last - first));
    return parsed;
  }
  const bool known = parts.size() == 3 && (parts[1] == "log" || parts[1] == "lin");
  if (!known || !absl::SimpleAtoi(parts[2], &count)) return std::nullopt;
  parsed.range.set_count(count);
  parsed.logarithmic = parts[1] == "log";
  return parsed;
}

}  // namespace

absl::StatusOr<v1::SweepAxis> ParseAxis(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) return WrongAxis(text, kForm);
  v1::SweepAxis axis;
  const std::string called(text.substr(0, equals));
  const std::optional<ScenarioFlag> flag = FindScenarioFlag(called);
  axis.set_field(flag ? flag->path : called);
  const std::string values(text.substr(equals + 1));
  const FieldDescriptor* field = FindField(*v1::Scenario::descriptor(), axis.field());
  if (KindOf(field) == AxisKind::kNumbers && absl::StrContains(values, "..")) {
    const std::optional<RangeText> range = ParseRange(values);
    if (!range.has_value()) return WrongAxis(text, kForm);
    *(range->logarithmic ? axis.mutable_logarithmic() : axis.mutable_linear()) = range->range;
    return axis;
  }
  for (const absl::string_view value : absl::StrSplit(values, ',')) {
    const absl::Status status = AddValue(std::string(value), field, axis);
    if (!status.ok()) return status;
  }
  return axis;
}

}  // namespace foretoken::cli

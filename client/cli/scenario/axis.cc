#include "client/cli/scenario/axis.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

constexpr char kForm[] = "FIELD=V,V,... or FIELD=FIRST..LAST or FIELD=FIRST..LAST:log:COUNT (or :lin:)";

absl::Status Wrong(std::string_view what, std::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("--axis \"", std::string(what), "\"; allowed: ", std::string(allowed)));
}

bool IsText(const std::string& field) {
  return field == "deployment.engine" || absl::EndsWith(field, "model_id") || absl::EndsWith(field, "hardware_id");
}

absl::Status AddValues(const std::vector<std::string>& values, v1::SweepAxis& axis) {
  for (const std::string& value : values) {
    double number;
    if (IsText(axis.field())) {
      axis.mutable_texts()->add_values(value);
    } else if (absl::EndsWith(axis.field(), "_dtype")) {
      const std::optional<int> dtype = ParseEnum(*v1::Dtype_descriptor(), value);
      if (!dtype.has_value()) return Wrong(value, EnumChoices(*v1::Dtype_descriptor()));
      axis.mutable_dtypes()->add_values(static_cast<v1::Dtype>(*dtype));
    } else if (absl::SimpleAtod(value, &number)) {
      axis.mutable_numbers()->add_values(number);
    } else {
      return Wrong(value, absl::StrCat("numbers, as ", kForm));
    }
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
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) return Wrong(text, kForm);
  v1::SweepAxis axis;
  const std::string called(text.substr(0, equals));
  const std::optional<ScenarioFlag> flag = FindScenarioFlag(called);
  axis.set_field(flag ? flag->path : called);
  const std::string values(text.substr(equals + 1));
  if (!IsText(axis.field()) && absl::StrContains(values, "..")) {
    const std::optional<RangeText> range = ParseRange(values);
    if (!range.has_value()) return Wrong(text, kForm);
    *(range->logarithmic ? axis.mutable_logarithmic() : axis.mutable_linear()) = range->range;
    return axis;
  }
  const absl::Status status = AddValues(absl::StrSplit(values, ','), axis);
  if (!status.ok()) return status;
  return axis;
}

}  // namespace foretoken::cli

#include "client/cli/import/field_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr size_t kLongestShown = 60;
constexpr const char* kSteps[] = {".", "["};  // from a path to one below it

const Value* FieldOf(const Struct& fields, const std::string& name) {
  const auto field = fields.fields().find(name);
  return field == fields.fields().end() ? nullptr : &field->second;
}

// "phases[1]" is the name and 1; "phases" is the name and nothing.
struct PathPart {
  std::string name;
  std::optional<int> index;
};

PathPart PartOf(absl::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == absl::string_view::npos) return {.name = std::string(text), .index = std::nullopt};
  int index = 0;
  const bool number = absl::SimpleAtoi(text.substr(bracket + 1, text.size() - bracket - 2), &index);
  return {.name = std::string(text.substr(0, bracket)), .index = number ? index : 0};
}

const Value* ElementOf(const Value& value, int index) {
  return index < value.list_value().values_size() ? &value.list_value().values(index) : nullptr;
}

bool SaysNothing(const Value& value) {
  switch (value.kind_case()) {
    case Value::kBoolValue:
      return !value.bool_value();
    case Value::kNumberValue:
      return value.number_value() == 0;
    case Value::kStringValue:
      return value.string_value().empty() || absl::EqualsIgnoreCase(value.string_value(), "false") ||
             absl::EqualsIgnoreCase(value.string_value(), "none");
    case Value::kListValue:
      return value.list_value().values().empty();
    case Value::kStructValue:
      return value.struct_value().fields().empty();
    default:
      return true;
  }
}

std::string ShownValue(const Value& value) {
  switch (value.kind_case()) {
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kNumberValue:
      return FormatExact(value.number_value());
    case Value::kStringValue: {
      const std::string& text = value.string_value();
      return absl::StrCat("\"", text.substr(0, kLongestShown), text.size() > kLongestShown ? "..." : "", "\"");
    }
    case Value::kListValue:
      return "an array";
    case Value::kStructValue:
      return "an object";
    default:
      return "null";
  }
}

}  // namespace

const Value* FieldReader::Find(const std::string& path) const { return Ignored(path) ? nullptr : FindAll(path); }

const Value* FieldReader::FindAll(const std::string& path) const {
  const Struct* fields = &fields_;
  const Value* value = nullptr;
  for (const absl::string_view text : absl::StrSplit(path, '.')) {
    if (fields == nullptr) return nullptr;
    const PathPart part = PartOf(text);
    value = FieldOf(*fields, part.name);
    if (value != nullptr && part.index) value = ElementOf(*value, *part.index);
    if (value == nullptr) return nullptr;
    fields = value->has_struct_value() ? &value->struct_value() : nullptr;
  }
  const bool empty = value->kind_case() == Value::kStringValue && value->string_value().empty();
  return empty || value->has_null_value() || value->kind_case() == Value::KIND_NOT_SET ? nullptr : value;
}

const Value* FieldReader::Read(const std::string& path) {
  read_.insert(path);
  return Find(path);
}

std::string FieldReader::Shown(const std::string& path) const {
  const Value* value = Find(path);
  return value == nullptr ? "nothing" : ShownValue(*value);
}

std::string FieldReader::Text(const std::string& path) {
  const Value* value = Read(path);
  if (value == nullptr) return "";
  if (value->kind_case() != Value::kStringValue) AddFault(path, absl::StrCat(ShownValue(*value), "; allowed: a text"));
  return value->string_value();
}

bool FieldReader::Is(const std::string& path, const std::string& text) {
  const Value* value = Find(path);
  const bool equal = value != nullptr && value->kind_case() == Value::kStringValue &&
                     absl::EqualsIgnoreCase(value->string_value(), text);
  if (equal) read_.insert(path);
  return equal;
}

std::optional<double> FieldReader::Number(const std::string& path) {
  const Value* value = Read(path);
  if (value == nullptr) return std::nullopt;
  if (value->kind_case() == Value::kNumberValue && std::isfinite(value->number_value())) return value->number_value();
  AddFault(path, absl::StrCat(ShownValue(*value), "; allowed: a finite number"));
  return std::nullopt;
}

std::optional<int32_t> FieldReader::Count(const std::string& path, int32_t least) {
  const std::optional<double> number = Number(path);
  if (!number) return std::nullopt;
  const bool whole =
      *number == std::floor(*number) && *number >= least && *number <= std::numeric_limits<int32_t>::max();
  if (whole) return static_cast<int32_t>(*number);
  AddFault(path, absl::StrCat(FormatExact(*number), "; allowed: a whole number of ", least, " to ",
                              std::numeric_limits<int32_t>::max()));
  return std::nullopt;
}

std::optional<double> FieldReader::Positive(const std::string& path) {
  const std::optional<double> number = Number(path);
  if (!number || *number > 0) return number;
  AddFault(path, absl::StrCat(FormatExact(*number), "; allowed: a finite number above 0"));
  return std::nullopt;
}

std::optional<double> FieldReader::Seconds(const std::string& path, double per_second) {
  const std::optional<double> number = Number(path);
  if (!number || *number == 0) return std::nullopt;
  if (*number > 0 && *number / per_second > 0) return *number / per_second;
  AddFault(path, absl::StrCat(FormatExact(*number), "; allowed: a finite time of at least 0"));
  return std::nullopt;
}

int FieldReader::Size(const std::string& path) {
  const Value* value = Find(path);
  return value == nullptr ? 0 : value->list_value().values_size();
}

void FieldReader::MustBeOff(const std::string& path, const std::string& why) {
  const Value* value = Read(path);
  if (value == nullptr || SaysNothing(*value)) return;
  AddFault(path,
           absl::StrCat(ShownValue(*value), "; ", why, "; --ignore-field ", path, " imports the run all the same"));
}

bool FieldReader::ReadBelow(const std::string& path) const {
  return std::any_of(std::begin(kSteps), std::end(kSteps), [&](const char* step) {
    const std::string below = path + step;
    const auto first = read_.lower_bound(below);
    return first != read_.end() && absl::StartsWith(*first, below);
  });
}

bool FieldReader::Ignored(const std::string& path) const {
  return std::any_of(ignored_.begin(), ignored_.end(), [&path](const std::string& ignored) {
    return path == ignored || absl::StartsWith(path, ignored + ".");
  });
}

std::vector<std::string> FieldReader::IgnoredHere() const {
  std::vector<std::string> here;
  for (const std::string& path : ignored_) {
    if (FindAll(path) != nullptr) here.push_back(path);
  }
  return here;
}

void FieldReader::AddUnread(const Struct& fields, const std::string& prefix, std::vector<std::string>& unread) const {
  for (const auto& [name, value] : fields.fields()) {
    const std::string path = prefix + name;
    if (read_.contains(path) || Ignored(path) || SaysNothing(value)) continue;
    if (value.has_struct_value() && ReadBelow(path)) {
      AddUnread(value.struct_value(), path + ".", unread);
    } else if (!ReadBelow(path)) {
      unread.push_back(path);
    }
  }
}

std::vector<std::string> FieldReader::Unread() const {
  std::vector<std::string> unread;
  AddUnread(fields_, "", unread);
  std::sort(unread.begin(), unread.end());
  return unread;
}

}  // namespace foretoken::cli

#include "client/cli/import/json_records.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Value;

// One past the string that opens at `from`; the end of the text if it never closes.
size_t EndOfString(std::string_view text, size_t from) {
  for (size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

// "-Infinity", "Infinity" or "NaN" at `from`; empty: none of them.
std::string_view NonFiniteAt(std::string_view text, size_t from) {
  for (const std::string_view name : {"-Infinity", "Infinity", "NaN"}) {
    if (text[from] == name[0] && text.substr(from, name.size()) == name) return name;
  }
  return {};
}

// Puts quotes around them where they stand outside of strings.
std::string QuoteNonFinite(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  size_t done = 0;
  for (size_t i = 0; i < text.size();) {
    const std::string_view name = NonFiniteAt(text, i);
    if (name.empty()) {
      i = text[i] == '"' ? EndOfString(text, i) : i + 1;
      continue;
    }
    quoted.append(text.substr(done, i - done)).append("\"").append(name).append("\"");
    i += name.size();
    done = i;
  }
  return quoted.append(text.substr(done));
}

// Objects and arrays that are open at once at most.
int DepthOf(std::string_view text) {
  int depth = 0;
  int most = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '{' || text[i] == '[') most = std::max(most, ++depth);
    if (text[i] == '}' || text[i] == ']') --depth;
    i = text[i] == '"' ? EndOfString(text, i) : i + 1;
  }
  return most;
}

absl::Status Fault(const std::string& file, int line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, line > 0 ? absl::StrCat(":", line) : "", ": ", what));
}

absl::StatusOr<Value> Parse(const std::string& file, int line, const std::string& text) {
  Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &value);
  if (!status.ok()) return Fault(file, line, absl::StrCat("is no JSON: ", std::string(status.message())));
  return value;
}

absl::Status CheckCount(const std::string& file, size_t count) {
  if (count <= kMostRecords) return absl::OkStatus();
  return Fault(file, 0, absl::StrCat(count, " records; allowed: at most ", kMostRecords));
}

std::vector<absl::string_view> LinesOf(const std::string& text) { return absl::StrSplit(text, '\n'); }

bool IsBlank(absl::string_view line) { return absl::StripAsciiWhitespace(line).empty(); }

bool HasObjectOnEachLine(const std::string& text) {
  const std::vector<absl::string_view> lines = LinesOf(text);
  return std::all_of(lines.begin(), lines.end(), [](absl::string_view line) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    return bare.empty() || (absl::StartsWith(bare, "{") && absl::EndsWith(bare, "}"));
  });
}

absl::StatusOr<std::vector<JsonRecord>> ReadLines(const std::string& file, const std::string& text) {
  std::vector<JsonRecord> records;
  int number = 0;
  for (const absl::string_view line : LinesOf(text)) {
    ++number;
    if (IsBlank(line)) continue;
    if (absl::Status status = CheckCount(file, records.size() + 1); !status.ok()) return status;
    absl::StatusOr<Value> value = Parse(file, number, std::string(line));
    if (!value.ok()) return value.status();
    JsonRecord record{.fields = {}, .line = number, .root = "", .text = std::make_shared<const std::string>()};
    record.fields = std::move(*value->mutable_struct_value());
    records.push_back(std::move(record));
  }
  return records;
}

absl::StatusOr<std::vector<JsonRecord>> ReadDocument(const std::string& file, const std::string& text) {
  absl::StatusOr<Value> value = Parse(file, 0, text);
  if (!value.ok()) return value.status();
  const auto shared = std::make_shared<const std::string>(text);
  std::vector<JsonRecord> records;
  if (value->has_struct_value()) {
    records.push_back({.fields = std::move(*value->mutable_struct_value()), .line = 1, .root = "", .text = shared});
    return records;
  }
  if (!value->has_list_value()) return Fault(file, 1, "allowed: a JSON object, or an array of objects");
  auto& values = *value->mutable_list_value()->mutable_values();
  if (absl::Status status = CheckCount(file, values.size()); !status.ok()) return status;
  for (Value& one : values) {
    const std::string root = absl::StrCat("[", records.size(), "]");
    if (!one.has_struct_value()) return Fault(file, 0, absl::StrCat(root, " is no object"));
    records.push_back({.fields = std::move(*one.mutable_struct_value()), .line = 1, .root = root, .text = shared});
  }
  if (records.empty()) return Fault(file, 1, "is an empty array");
  return records;
}

// Where a walk through JSON is: the object or array that is open, its key or index, and whether a key comes next.
struct Level {
  bool is_array = false;
  int index = 0;
  std::string key;
  bool key_next = true;
};

std::string PathOf(const std::vector<Level>& levels) {
  std::string path;
  for (const Level& level : levels) {
    if (level.is_array) {
      absl::StrAppend(&path, "[", level.index, "]");
    } else {
      absl::StrAppend(&path, path.empty() ? "" : ".", level.key);
    }
  }
  return path;
}

// What a character other than a string's does to the open levels.
void Step(char c, std::vector<Level>& levels) {
  if (c == '{' || c == '[') levels.push_back({.is_array = c == '[', .index = 0, .key = "", .key_next = true});
  if (levels.empty()) return;
  if (c == '}' || c == ']') levels.pop_back();
  if (c == ':') levels.back().key_next = false;
  if (c == ',') {
    ++levels.back().index;
    levels.back().key_next = true;
  }
}

// Lines down from the first of `text`, which is JSON; nothing if no field is at `path`.
std::optional<int> LinesDown(std::string_view text, std::string_view path) {
  std::vector<Level> levels;
  int line = 0;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text[i] == '"') {
      end = EndOfString(text, i);
      if (!levels.empty() && !levels.back().is_array && levels.back().key_next) {
        levels.back().key = std::string(text.substr(i + 1, end - i - 2));
        if (PathOf(levels) == path) return line;
      }
    } else if (text[i] == '\n') {
      ++line;
    } else {
      Step(text[i], levels);
    }
    i = end;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<JsonRecord>> ReadJsonRecords(const std::string& file, const std::string& text) {
  if (IsBlank(text)) return Fault(file, 0, "is empty");
  if (text.size() > kMostImportBytes) {
    return Fault(file, 0, absl::StrCat(text.size(), " bytes; allowed: at most ", kMostImportBytes));
  }
  if (const int depth = DepthOf(text); depth > kMostDepth) {
    return Fault(file, 0, absl::StrCat("nested ", depth, " deep; allowed: at most ", kMostDepth));
  }
  const std::string json = QuoteNonFinite(text);
  return HasObjectOnEachLine(json) ? ReadLines(file, json) : ReadDocument(file, json);
}

int LineOf(const JsonRecord& record, std::string_view path) {
  const std::string whole = absl::StrCat(record.root, record.root.empty() || path.empty() ? "" : ".",
                                         absl::string_view(path.data(), path.size()));
  return record.line + LinesDown(*record.text, whole).value_or(0);
}

}  // namespace foretoken::cli

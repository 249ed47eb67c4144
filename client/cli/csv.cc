#include "client/cli/csv.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace foretoken::cli {
namespace {

// Splits a line into cells; true when a quoted cell is still open at its end.
bool Split(std::string_view line, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return quoted;
}

void StripCarriageReturn(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

}  // namespace

std::optional<CsvRecord> CsvReader::Next() {
  std::string text;
  CsvRecord record;
  while (std::getline(in_, text)) {
    record.line = ++line_;
    if (line_ == 1 && text.rfind("\xEF\xBB\xBF", 0) == 0) text.erase(0, 3);
    StripCarriageReturn(text);
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    std::string more;
    while (Split(text, record.cells) && std::getline(in_, more)) {
      ++line_;
      StripCarriageReturn(more);
      text += "\n" + more;
    }
    return record;
  }
  return std::nullopt;
}

std::string CsvCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return "\"" + absl::StrReplaceAll(absl::string_view(text.data(), text.size()), {{"\"", "\"\""}}) + "\"";
}

std::string CsvLine(const std::vector<std::string>& cells) {
  return absl::StrJoin(cells, ",", [](std::string* out, const std::string& cell) { *out += CsvCell(cell); }) + "\n";
}

}  // namespace foretoken::cli

#include "client/cli/text/csv.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

// Adds the cells of the next line to a record, and the line of a quote that stays open.
void AddLine(std::string_view text, int line, CsvRecord& record) {
  std::vector<std::string>& cells = record.cells;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool quoted = record.open_quote_line != 0;
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cells.back() += text[++i];
    } else if (c == '"') {
      record.open_quote_line = quoted ? 0 : line;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
}

void StripCarriageReturn(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

std::string CsvCell(std::string_view cell) {
  const std::string text = client::Printable(cell);
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return text;
  return "\"" + absl::StrReplaceAll(text, {{"\"", "\"\""}}) + "\"";
}

}  // namespace

std::optional<CsvRecord> CsvReader::Next() {
  std::string text;
  while (std::getline(in_, text)) {
    CsvRecord record{.line = ++line_, .cells = {""}};
    if (line_ == 1 && text.rfind("\xEF\xBB\xBF", 0) == 0) text.erase(0, 3);
    StripCarriageReturn(text);
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    AddLine(text, line_, record);
    while (record.open_quote_line != 0 && std::getline(in_, text)) {
      StripCarriageReturn(text);
      record.cells.back() += '\n';
      AddLine(text, ++line_, record);
    }
    return record;
  }
  return std::nullopt;
}

absl::Status CheckQuotes(const CsvRecord& record) {
  if (record.open_quote_line == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the quote that opens in line ", record.open_quote_line, " is never closed"));
}

void Append(const std::vector<std::string>& more, std::vector<std::string>& cells) {
  cells.insert(cells.end(), more.begin(), more.end());
}

std::string CsvLine(const std::vector<std::string>& cells) {
  return absl::StrJoin(cells, ",", [](std::string* out, const std::string& cell) { *out += CsvCell(cell); }) + "\n";
}

}  // namespace foretoken::cli

#include "client/cli/text/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

size_t DisplayWidth(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.name));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
  }
  return widths;
}

std::string Table::Line(const std::vector<Cell>& row, const std::vector<size_t>& widths, const Terminal& terminal,
                        int indent) const {
  std::string line(indent, ' ');
  std::string gap;  // kept back until something follows it
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string pad(widths[i] - DisplayWidth(row[i].text), ' ');
    if (columns_[i].align == Align::kRight) gap += pad;
    if (!row[i].text.empty()) absl::StrAppend(&line, gap, terminal.Paint(row[i].text, row[i].look));
    if (!row[i].text.empty()) gap.clear();
    if (columns_[i].align == Align::kLeft) gap += pad;
    gap += "  ";
  }
  return line + "\n";
}

std::string Table::Render(const Terminal& terminal, int indent) const {
  const std::vector<size_t> widths = Widths();
  std::string text;
  const bool named = std::any_of(columns_.begin(), columns_.end(), [](const Column& c) { return !c.name.empty(); });
  if (named) {
    std::vector<Cell> header;
    for (const Column& column : columns_) header.emplace_back(column.name, Look::kDim);
    text += Line(header, widths, terminal, indent);
  }
  for (const auto& row : rows_) text += Line(row, widths, terminal, indent);
  return text;
}

}  // namespace foretoken::cli

// Text tables with aligned columns.
//
//   Table table({{"hardware"}, {"E2E", Align::kRight}});
//   table.AddRow({"nvidia-h100-sxm-80gb", "3.21 s"});
//   out << table.Render(terminal, 2);
#ifndef FORETOKEN_CLIENT_CLI_TEXT_TABLE_H_
#define FORETOKEN_CLIENT_CLI_TEXT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/terminal/terminal.h"
#include "client/printable.h"

namespace foretoken::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string name;
  Align align = Align::kLeft;
};

// One cell: its text, made printable, and its style.
struct Cell {
  Cell(const std::string& text, Look look = Look::kPlain) : text(client::Printable(text)), look(look) {}
  Cell(const char* text) : text(text) {}
  std::string text;
  Look look = Look::kPlain;
};

class Table {
 public:
  // Names are made printable.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (Column& column : columns_) column.name = client::Printable(column.name);
  }

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  // The table with `indent` spaces before each line and none at its end. A header line is printed if any column has a
  // name.
  std::string Render(const Terminal& terminal, int indent = 0) const;

 private:
  std::vector<size_t> Widths() const;
  std::string Line(const std::vector<Cell>& row, const std::vector<size_t>& widths, const Terminal& terminal,
                   int indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Width of a UTF-8 text on a terminal: its code points.
size_t DisplayWidth(std::string_view text);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_TABLE_H_

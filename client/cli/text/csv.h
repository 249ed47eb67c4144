// Comma-separated values after RFC 4180: quoted cells may hold commas, quotes ("") and line breaks.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_CSV_H_
#define FORETOKEN_CLIENT_CLI_TEXT_CSV_H_

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace foretoken::cli {

// One record and the line where it begins, 1 for the first.
struct CsvRecord {
  int line = 0;
  std::vector<std::string> cells;
  int open_quote_line = 0;  // line of a quote that is never closed; 0: none
};

// Reads records one after the other. Blank lines are skipped, "\r\n" also ends a line, a leading byte order mark is
// dropped. A quote that is never closed extends to the end of the input, and the record says where it opens.
class CsvReader {
 public:
  explicit CsvReader(std::istream& in) : in_(in) {}

  // The next record; nothing at the end.
  std::optional<CsvRecord> Next();

 private:
  std::istream& in_;
  int line_ = 0;
};

// INVALID_ARGUMENT if a quote of the record is never closed, because its cells are then unreliable.
absl::Status CheckQuotes(const CsvRecord& record);

// Adds cells to a record.
void Append(const std::vector<std::string>& more, std::vector<std::string>& cells);

// Cells joined by commas, quoted where necessary, with a newline.
std::string CsvLine(const std::vector<std::string>& cells);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_CSV_H_

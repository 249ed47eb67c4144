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
  int open_quote_line = 0;  // where a quote opens that the input never closes; 0: there is none
};

// Reads records one after the other; blank lines are skipped, "\r\n" ends a line too, a leading byte order mark is
// dropped. A quote that is never closed ends at the end of the input, and the record says so.
class CsvReader {
 public:
  explicit CsvReader(std::istream& in) : in_(in) {}

  // The next record; nothing at the end.
  std::optional<CsvRecord> Next();

 private:
  std::istream& in_;
  int line_ = 0;
};

// OK, or INVALID_ARGUMENT where a quote of the record is never closed: what its cells hold is then anybody's guess.
absl::Status CheckQuotes(const CsvRecord& record);

// Cells joined by commas, quoted where they must be, with a newline.
std::string CsvLine(const std::vector<std::string>& cells);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_CSV_H_

// What the statements of the SQLite store have in common: values that may be absent, and checksums beside a row.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_SQLITE_ROW_H_
#define FORETOKEN_SERVER_CATALOG_STORE_SQLITE_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/catalog/store/sqlite.h"

namespace foretoken::catalog {

// The text of a column that says how a row stands with its checksum in `c`: 0: it has one; 1: none was made yet; 2: its
// row is gone.
inline constexpr char kChecksumState[] =
    "CASE WHEN c.revision IS NULL THEN 2 WHEN c.entry_checksum IS NULL THEN 1 ELSE 0 END";

// Whether the checksum in column `column` is this one, or none was made yet. `state_column` holds kChecksumState;
// `column` is the next one unless it is given.
inline bool AgreesWith(const SqliteStatement& row, int state_column, uint64_t checksum, int column = -1) {
  if (column < 0) column = state_column + 1;
  const int64_t state = row.Int(state_column);
  return state == 1 || (state == 0 && row.Int(column) == static_cast<int64_t>(checksum));
}

// The value in `column`, absent where `null_column` says so.
inline std::optional<std::string> SqliteValue(const SqliteStatement& row, int null_column, int column) {
  return row.Int(null_column) != 0 ? std::nullopt : std::optional(row.Bytes(column));
}

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_SQLITE_ROW_H_

// SQLite's C API as two small owners: a database and a statement. Every error is kStoreUnavailable with SQLite's own
// message.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_SQLITE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sqlite3.h"

namespace foretoken::catalog {

// A prepared statement: bind from 1, step, read columns from 0. Not thread-safe.
class SqliteStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) : statement_(statement, &sqlite3_finalize) {}

  SqliteStatement& Bind(int index, int64_t value);
  SqliteStatement& Bind(int index, std::string_view value);  // text
  SqliteStatement& BindBlob(int index, std::string_view value);

  // True: a row is there. False: done.
  absl::StatusOr<bool> Step();

  int64_t Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string Bytes(int column) const;  // text or blob

 private:
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
};

// An open database file. Thread-compatible.
class SqliteDatabase {
 public:
  static absl::StatusOr<SqliteDatabase> Open(const std::string& path, int busy_timeout_ms);

  absl::StatusOr<SqliteStatement> Prepare(std::string_view sql);
  // Runs statements that give no rows.
  absl::Status Execute(const std::string& sql);
  // The first column of the first row; 0 where there is none.
  absl::StatusOr<int64_t> OneNumber(std::string_view sql);
  // What SQLite finds wrong with the file's structure, the first of it; empty: nothing. Reads all of the file. More
  // than quick_check, which finds neither keys out of order nor rows that an index has lost.
  absl::StatusOr<std::string> CheckIntegrity();

  // OK unless the file is not empty and shorter than a page: SQLite takes that for an empty database.
  absl::Status CheckNotCut();

  // How long a statement waits for a lock of another connection.
  void SetBusyTimeout(int milliseconds) { sqlite3_busy_timeout(database_.get(), milliseconds); }
  // OK while the file is still the one at its path. What is written to a file that was removed or replaced is lost
  // with this process, and SQLite itself does not notice.
  absl::Status CheckInPlace() const;
  // Whether the last failure was one that surely left the file as it was: a lock not got, a full disk, a file that
  // may not be written.
  bool FailedCleanly() const;
  // Whether the last failure was that the file is damaged.
  bool IsDamaged() const;

 private:
  explicit SqliteDatabase(sqlite3* database) : database_(database, &sqlite3_close) {}

  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
};

// A write transaction, taken at once; rolled back unless committed.
class SqliteTransaction {
 public:
  static absl::StatusOr<SqliteTransaction> Begin(SqliteDatabase& database);
  SqliteTransaction(SqliteTransaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ~SqliteTransaction();

  absl::Status Commit();

 private:
  explicit SqliteTransaction(SqliteDatabase* database) : database_(database) {}

  SqliteDatabase* database_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_SQLITE_H_

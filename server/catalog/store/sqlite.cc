#include "server/catalog/store/sqlite.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/catalog/store/store_fault.h"

namespace foretoken::catalog {
namespace {

// What an operator can do about the commonest faults.
std::string_view Advice(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return " (another process holds its lock)";
    case SQLITE_FULL:
      return " (free some space beside it)";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return " (this user must be able to write the file and its folder)";
    default:
      return "";
  }
}

absl::Status Error(sqlite3* database, std::string_view doing) {
  const char* file = sqlite3_db_filename(database, "main");
  return StoreFault(
      absl::StrCat(std::string(doing), ": ", sqlite3_errmsg(database), std::string(Advice(sqlite3_errcode(database)))),
      file == nullptr ? "" : file);
}

}  // namespace

SqliteStatement& SqliteStatement::Bind(int index, int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(int index, std::string_view value) {
  // SQLite takes a null pointer as NULL, which an empty value is not.
  sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int rc = sqlite3_step(statement_.get());
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  return Error(sqlite3_db_handle(statement_.get()), sqlite3_stmt_readonly(statement_.get()) ? "read" : "write");
}

std::string SqliteStatement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

absl::StatusOr<SqliteDatabase> SqliteDatabase::Open(const std::string& path, int busy_timeout_ms) {
  sqlite3* raw = nullptr;
  const int rc =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  SqliteDatabase database(raw);
  if (rc != SQLITE_OK) return WithInsideOf(Error(raw, "open"), StoreFault("", path));
  sqlite3_busy_timeout(raw, busy_timeout_ms);
  // What the file says is not trusted: pages are checked as they are read, and its schema calls no functions with
  // effects.
  sqlite3_exec(raw, "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF", nullptr, nullptr, nullptr);
  return database;
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int rc = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (rc != SQLITE_OK) return Error(database_.get(), "read");
  return SqliteStatement(statement);
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Error(database_.get(), sql);
}

absl::StatusOr<int64_t> SqliteDatabase::OneNumber(std::string_view sql) {
  absl::StatusOr<SqliteStatement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Int(0) : 0;
}

absl::Status SqliteDatabase::CheckInPlace() const {
  int moved = 0;
  sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return absl::OkStatus();
  return StoreFault("the file was removed or replaced while it was open; restart the server to use what is there now",
                    sqlite3_db_filename(database_.get(), "main"));
}

absl::Status SqliteDatabase::CheckNotCut() {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(sqlite3_db_filename(database_.get(), "main"), error);
  // In this order: a file that another process makes just now has pages as soon as they can be counted.
  const absl::StatusOr<int64_t> pages = OneNumber("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  if (error || bytes == 0 || *pages > 0) return absl::OkStatus();
  return StoreFault(absl::StrCat("the file has ", bytes, " bytes, less than a page: it was cut"),
                    sqlite3_db_filename(database_.get(), "main"));
}

bool SqliteDatabase::FailedCleanly() const {
  const int code = sqlite3_errcode(database_.get()) & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_FULL || code == SQLITE_READONLY;
}

bool SqliteDatabase::IsDamaged() const { return (sqlite3_errcode(database_.get()) & 0xff) == SQLITE_CORRUPT; }

absl::StatusOr<std::string> SqliteDatabase::CheckIntegrity() {
  const auto damage_or = [this](const absl::Status& status) -> absl::StatusOr<std::string> {
    if (IsDamaged()) return std::string(status.message());
    return status;
  };
  absl::StatusOr<SqliteStatement> check = Prepare("PRAGMA integrity_check(1)");
  if (!check.ok()) return damage_or(check.status());
  const absl::StatusOr<bool> row = check->Step();
  if (!row.ok()) return damage_or(row.status());
  const std::string told = *row ? check->Bytes(0) : "no answer";
  return told == "ok" ? "" : absl::StrCat("integrity_check: ", told);
}

absl::StatusOr<SqliteTransaction> SqliteTransaction::Begin(SqliteDatabase& database) {
  if (absl::Status status = database.Execute("BEGIN IMMEDIATE"); !status.ok()) return status;
  return SqliteTransaction(&database);
}

SqliteTransaction::~SqliteTransaction() {
  if (database_ != nullptr) database_->Execute("ROLLBACK").IgnoreError();
}

absl::Status SqliteTransaction::Commit() {
  absl::Status status = database_->Execute("COMMIT");
  if (status.ok()) database_ = nullptr;
  return status;
}

}  // namespace foretoken::catalog

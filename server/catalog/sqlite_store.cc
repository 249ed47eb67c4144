#include "server/catalog/sqlite_store.h"

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"

namespace foretoken::catalog {
namespace {

constexpr int kBusyTimeoutMs = 5000;
constexpr int64_t kSchemaVersion = 1;

constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS revision(only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision INTEGER NOT NULL);
INSERT OR IGNORE INTO revision VALUES(1, 0);
CREATE TABLE IF NOT EXISTS entries(
  kind INTEGER NOT NULL, id TEXT NOT NULL, value BLOB NOT NULL, etag TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, PRIMARY KEY(kind, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS requests(
  request_id TEXT PRIMARY KEY, payload_digest TEXT NOT NULL, etag TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_by_time ON requests(update_time_us);
PRAGMA user_version = 1;
)";

absl::StatusOr<int64_t> OneNumber(SqliteDatabase& database, std::string_view sql) {
  absl::StatusOr<SqliteStatement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Int(0) : 0;
}

absl::Status Run(SqliteStatement& statement) { return statement.Step().status(); }

absl::Status Prepare(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> version = OneNumber(database, "PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kSchemaVersion) {
    return Refusal(Reason::kStoreUnavailable, "",
                   absl::StrCat("catalog store: the file has version ", *version,
                                " of a newer program; this one knows ", kSchemaVersion));
  }
  if (absl::Status status = database.Execute("PRAGMA journal_mode = WAL"); !status.ok()) return status;
  if (absl::Status status = database.Execute("PRAGMA synchronous = FULL"); !status.ok()) return status;
  if (*version == kSchemaVersion) return absl::OkStatus();
  absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = database.Execute(kSchema); !status.ok()) return status;
  return transaction->Commit();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(path, kBusyTimeoutMs);
  if (!database.ok()) return database.status();
  if (absl::Status status = Prepare(*database); !status.ok()) return status;
  return std::unique_ptr<SqliteStore>(new SqliteStore(*std::move(database)));
}

absl::StatusOr<int64_t> SqliteStore::ReadRevision() {
  absl::MutexLock lock(&mutex_);
  return OneNumber(database_, "SELECT revision FROM revision");
}

// One statement reads the revision beside every entry, so both are of one moment.
absl::StatusOr<StoreContents> SqliteStore::ReadAll() {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SqliteStatement> rows = database_.Prepare(
      "SELECT r.revision, e.kind, e.id, e.value, e.etag, e.revision, e.update_time_us "
      "FROM revision r LEFT JOIN entries e ON 1");
  if (!rows.ok()) return rows.status();
  StoreContents contents;
  for (;;) {
    const absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return contents;
    contents.revision = rows->Int(0);
    if (rows->Bytes(2).empty()) continue;  // no entry at all
    contents.entries.push_back({static_cast<EntryKind>(rows->Int(1)), rows->Bytes(2), rows->Bytes(3), rows->Bytes(4),
                                rows->Int(5), absl::FromUnixMicros(rows->Int(6))});
  }
}

absl::StatusOr<StoreWriteResult> SqliteStore::Write(const StoreWrite& write) {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(database_);
  if (!transaction.ok()) return transaction.status();
  absl::StatusOr<std::optional<StoreWriteResult>> replay = FindReplay(write);
  if (!replay.ok()) return replay.status();
  if (*replay) return **std::move(replay);
  if (absl::Status status = CheckEntry(write); !status.ok()) return status;
  const absl::StatusOr<int64_t> revision = NextRevision();
  if (!revision.ok()) return revision.status();
  const StoreWriteResult result{.etag = write.value ? EtagOf(*revision) : "",
                                .revision = *revision,
                                .update_time = absl::FromUnixMicros(absl::ToUnixMicros(write.now)),
                                .value = write.value.value_or("")};
  if (absl::Status status = write.value ? PutEntry(write, result) : DeleteEntry(write); !status.ok()) return status;
  if (absl::Status status = RememberRequest(write, result); !status.ok()) return status;
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  return result;
}

absl::StatusOr<std::optional<StoreWriteResult>> SqliteStore::FindReplay(const StoreWrite& write) {
  if (write.request_id.empty()) return std::nullopt;
  auto row = database_.Prepare(
      "SELECT payload_digest, etag, revision, update_time_us, value FROM requests "
      "WHERE request_id = ? AND update_time_us >= ?");
  if (!row.ok()) return row.status();
  row->Bind(1, write.request_id).Bind(2, absl::ToUnixMicros(write.now - kRequestIdLifetime));
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  if (!*found) return std::nullopt;
  if (absl::Status status = CheckReplay(write, row->Bytes(0)); !status.ok()) return status;
  return StoreWriteResult{row->Bytes(1), row->Int(2), absl::FromUnixMicros(row->Int(3)), row->Bytes(4)};
}

absl::Status SqliteStore::CheckEntry(const StoreWrite& write) {
  auto row = database_.Prepare("SELECT etag FROM entries WHERE kind = ? AND id = ?");
  if (!row.ok()) return row.status();
  row->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id);
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  return CheckPrecondition(write, *found ? std::optional(row->Bytes(0)) : std::nullopt);
}

absl::StatusOr<int64_t> SqliteStore::NextRevision() {
  return OneNumber(database_, "UPDATE revision SET revision = revision + 1 RETURNING revision");
}

absl::Status SqliteStore::PutEntry(const StoreWrite& write, const StoreWriteResult& result) {
  auto put = database_.Prepare("INSERT OR REPLACE INTO entries VALUES(?, ?, ?, ?, ?, ?)");
  if (!put.ok()) return put.status();
  put->Bind(1, static_cast<int64_t>(write.kind))
      .Bind(2, write.id)
      .BindBlob(3, result.value)
      .Bind(4, result.etag)
      .Bind(5, result.revision)
      .Bind(6, absl::ToUnixMicros(result.update_time));
  return Run(*put);
}

absl::Status SqliteStore::DeleteEntry(const StoreWrite& write) {
  auto erase = database_.Prepare("DELETE FROM entries WHERE kind = ? AND id = ?");
  if (!erase.ok()) return erase.status();
  return Run(erase->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id));
}

absl::Status SqliteStore::RememberRequest(const StoreWrite& write, const StoreWriteResult& result) {
  auto prune = database_.Prepare("DELETE FROM requests WHERE update_time_us < ?");
  if (!prune.ok()) return prune.status();
  prune->Bind(1, absl::ToUnixMicros(write.now - kRequestIdLifetime));
  if (absl::Status status = Run(*prune); !status.ok() || write.request_id.empty()) return status;
  auto put = database_.Prepare("INSERT INTO requests VALUES(?, ?, ?, ?, ?, ?)");
  if (!put.ok()) return put.status();
  put->Bind(1, write.request_id)
      .Bind(2, write.payload_digest)
      .Bind(3, result.etag)
      .Bind(4, result.revision)
      .Bind(5, absl::ToUnixMicros(result.update_time))
      .BindBlob(6, result.value);
  return Run(*put);
}

}  // namespace foretoken::catalog

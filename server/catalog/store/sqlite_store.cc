#include "server/catalog/store/sqlite_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/sqlite_schema.h"

namespace foretoken::catalog {
namespace {

constexpr int kReadTimeoutMs = 1000;

absl::Status Run(SqliteStatement& statement) { return statement.Step().status(); }

// What a column of a nullable value says.
std::optional<std::string> Value(const SqliteStatement& row, int null_column, int column) {
  return row.Int(null_column) != 0 ? std::nullopt : std::optional(row.Bytes(column));
}

// A row of: store's revision, store_id, kind, id, revision, update_time_us, value IS NULL, value.
StoredEntry EntryOf(const SqliteStatement& row) {
  const int64_t kind = row.Int(2);
  StoredEntry entry{.kind = static_cast<EntryKind>(kind),
                    .id = row.Bytes(3),
                    .value = Value(row, 6, 7),
                    .etag = EtagOf(row.Bytes(1), row.Int(4)),
                    .revision = row.Int(4),
                    .update_time = absl::FromUnixMicros(row.Int(5)),
                    .fault = ""};
  if (entry.kind == EntryKind::kHardware || entry.kind == EntryKind::kModel) return entry;
  entry.kind = EntryKind::kUnknown;
  entry.id = absl::StrCat(kind, "/", entry.id);
  entry.fault = absl::StrCat("kind ", kind, "; this program knows 0 (hardware) and 1 (model)");
  return entry;
}

// The rows of either reading; one statement reads the store's revision beside every row, so both are of one moment.
template <typename Contents>
absl::Status ReadRows(SqliteStatement& rows, Contents& contents) {
  for (;;) {
    const absl::StatusOr<bool> row = rows.Step();
    if (!row.ok()) return row.status();
    if (!*row) return absl::OkStatus();
    contents.revision = rows.Int(0);
    if (!rows.Bytes(3).empty()) contents.entries.push_back(EntryOf(rows));  // else there is no entry at all
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  absl::StatusOr<SqliteDatabase> writer =
      SqliteDatabase::Open(path, static_cast<int>(absl::ToInt64Milliseconds(kWriteTimeout)));
  if (!writer.ok()) return writer.status();
  if (absl::Status status = PrepareSchema(*writer); !status.ok()) return status;
  absl::StatusOr<SqliteDatabase> reader = SqliteDatabase::Open(path, kReadTimeoutMs);
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<SqliteStore>(new SqliteStore(*std::move(reader), *std::move(writer)));
}

absl::StatusOr<int64_t> SqliteStore::ReadRevision(absl::Time) {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  return reader_.OneNumber("SELECT revision FROM store");
}

absl::StatusOr<StoreContents> SqliteStore::ReadAll() {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(
      "SELECT s.revision, s.store_id, e.kind, e.id, e.revision, e.update_time_us, 0, e.value "
      "FROM store s LEFT JOIN entries e ON 1");
  if (!rows.ok()) return rows.status();
  StoreContents contents;
  if (absl::Status status = ReadRows(*rows, contents); !status.ok()) return status;
  return contents;
}

absl::StatusOr<std::optional<StoreChanges>> SqliteStore::ReadChanges(int64_t after, int64_t, absl::Time) {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(
      "SELECT s.revision, s.store_id, h.kind, h.id, h.revision, h.update_time_us, h.value IS NULL, h.value "
      "FROM store s LEFT JOIN history h ON h.revision > ? ORDER BY h.revision");
  if (!rows.ok()) return rows.status();
  rows->Bind(1, after);
  StoreChanges changes;
  if (absl::Status status = ReadRows(*rows, changes); !status.ok()) return status;
  if (changes.revision < after) return std::nullopt;  // the file was replaced by an older one
  return changes;
}

absl::StatusOr<std::vector<StoredRevision>> SqliteStore::ReadHistory(EntryKind kind, const std::string& id) {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(
      "SELECT revision, sequence, update_time_us, author, peer, action, value IS NULL, value, "
      "(SELECT store_id FROM store) FROM history WHERE kind = ? AND id = ? ORDER BY sequence DESC");
  if (!rows.ok()) return rows.status();
  rows->Bind(1, static_cast<int64_t>(kind)).Bind(2, id);
  std::vector<StoredRevision> history;
  for (;;) {
    const absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return history;
    StoredRevision one{rows->Int(0),
                       rows->Int(1),
                       absl::FromUnixMicros(rows->Int(2)),
                       rows->Bytes(3),
                       rows->Bytes(4),
                       static_cast<WriteAction>(rows->Int(5)),
                       Value(*rows, 6, 7),
                       ""};
    if (one.value) one.etag = EtagOf(rows->Bytes(8), one.revision);
    history.push_back(std::move(one));
  }
}

absl::StatusOr<StoreWriteResult> SqliteStore::Write(const StoreWrite& write) {
  absl::MutexLock lock(&write_mutex_);
  const absl::Duration left = std::min(write.deadline - absl::Now(), kWriteTimeout);
  writer_.SetBusyTimeout(static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(left))));
  if (left <= absl::ZeroDuration()) {
    return WithOutcome(Refusal(Reason::kStoreUnavailable, "", "catalog store: busy with writes before this one"),
                       kNothingWritten);
  }
  absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(writer_);
  if (!transaction.ok()) return WithOutcome(transaction.status(), kNothingWritten);
  if (absl::Status status = writer_.CheckInPlace(); !status.ok()) return WithOutcome(status, kNothingWritten);
  absl::StatusOr<StoreWriteResult> result = WriteInside(write);
  if (!result.ok()) return WithOutcome(result.status(), kNothingWritten);
  if (write.dry_run) return result;
  const absl::Status committed = transaction->Commit();
  if (!committed.ok()) return WithOutcome(committed, writer_.FailedCleanly() ? kNothingWritten : kMayBeWritten);
  // Again: it may have been moved between the first look and the commit.
  if (absl::Status status = writer_.CheckInPlace(); !status.ok()) return WithOutcome(status, kMayBeWritten);
  return result;
}

absl::StatusOr<StoreWriteResult> SqliteStore::WriteInside(const StoreWrite& write) {
  absl::StatusOr<std::optional<StoreWriteResult>> replay = FindReplay(write);
  if (!replay.ok()) return replay.status();
  if (*replay) return **std::move(replay);
  if (absl::Status status = CheckEntry(write); !status.ok()) return status;
  if (write.dry_run) return StoreWriteResult{"", 0, write.now, write.value};
  absl::StatusOr<StoreWriteResult> result = NextRevision(write);
  if (!result.ok()) return result.status();
  if (absl::Status status = StoreEntry(write, *result); !status.ok()) return status;
  if (absl::Status status = StoreHistory(write, *result); !status.ok()) return status;
  if (absl::Status status = RememberRequest(write, *result); !status.ok()) return status;
  return result;
}

absl::StatusOr<std::optional<StoreWriteResult>> SqliteStore::FindReplay(const StoreWrite& write) {
  if (write.request_id.empty()) return std::nullopt;
  auto row = writer_.Prepare(
      "SELECT payload_digest, revision, update_time_us, value IS NULL, value, (SELECT store_id FROM store) "
      "FROM requests WHERE request_id = ? AND update_time_us >= ?");
  if (!row.ok()) return row.status();
  row->Bind(1, write.request_id).Bind(2, absl::ToUnixMicros(write.now - kRequestIdLifetime));
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  if (!*found) return std::nullopt;
  if (absl::Status status = CheckReplay(write, row->Bytes(0)); !status.ok()) return status;
  StoreWriteResult first{"", row->Int(1), absl::FromUnixMicros(row->Int(2)), Value(*row, 3, 4)};
  if (first.value) first.etag = EtagOf(row->Bytes(5), first.revision);
  return first;
}

absl::Status SqliteStore::CheckEntry(const StoreWrite& write) {
  auto row = writer_.Prepare("SELECT revision, (SELECT store_id FROM store) FROM entries WHERE kind = ? AND id = ?");
  if (!row.ok()) return row.status();
  row->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id);
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  return CheckPrecondition(write, *found ? std::optional(EtagOf(row->Bytes(1), row->Int(0))) : std::nullopt);
}

absl::StatusOr<StoreWriteResult> SqliteStore::NextRevision(const StoreWrite& write) {
  auto row = writer_.Prepare("UPDATE store SET revision = revision + 1 RETURNING revision, store_id");
  if (!row.ok()) return row.status();
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  return StoreWriteResult{.etag = write.value ? EtagOf(row->Bytes(1), row->Int(0)) : "",
                          .revision = row->Int(0),
                          .update_time = absl::FromUnixMicros(absl::ToUnixMicros(write.now)),
                          .value = write.value};
}

absl::Status SqliteStore::StoreEntry(const StoreWrite& write, const StoreWriteResult& result) {
  auto statement = writer_.Prepare(write.value ? "INSERT OR REPLACE INTO entries VALUES(?, ?, ?, ?, ?)"
                                               : "DELETE FROM entries WHERE kind = ? AND id = ?");
  if (!statement.ok()) return statement.status();
  statement->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id);
  if (write.value) {
    statement->BindBlob(3, *write.value).Bind(4, result.revision).Bind(5, absl::ToUnixMicros(result.update_time));
  }
  return Run(*statement);
}

absl::Status SqliteStore::StoreHistory(const StoreWrite& write, const StoreWriteResult& result) {
  auto put = writer_.Prepare(
      "INSERT INTO history SELECT ?1, ?2, ifnull(max(sequence), 0) + 1, ?3, ?4, ?5, ?6, ?7, ?8 "
      "FROM history WHERE kind = ?1 AND id = ?2");
  if (!put.ok()) return put.status();
  put->Bind(1, static_cast<int64_t>(write.kind))
      .Bind(2, write.id)
      .Bind(3, result.revision)
      .Bind(4, absl::ToUnixMicros(result.update_time))
      .Bind(5, write.author)
      .Bind(6, write.peer)
      .Bind(7, static_cast<int64_t>(write.action));
  if (write.value) put->BindBlob(8, *write.value);
  if (absl::Status status = Run(*put); !status.ok()) return status;
  auto prune = writer_.Prepare(
      "DELETE FROM history WHERE kind = ?1 AND id = ?2 AND sequence <= "
      "(SELECT max(sequence) FROM history WHERE kind = ?1 AND id = ?2) - ?3");
  if (!prune.ok()) return prune.status();
  return Run(prune->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id).Bind(3, kKeptRevisions));
}

absl::Status SqliteStore::RememberRequest(const StoreWrite& write, const StoreWriteResult& result) {
  auto prune = writer_.Prepare("DELETE FROM requests WHERE update_time_us < ?");
  if (!prune.ok()) return prune.status();
  prune->Bind(1, absl::ToUnixMicros(write.now - kRequestIdLifetime));
  if (absl::Status status = Run(*prune); !status.ok() || write.request_id.empty()) return status;
  auto put = writer_.Prepare("INSERT INTO requests VALUES(?, ?, ?, ?, ?)");
  if (!put.ok()) return put.status();
  put->Bind(1, write.request_id)
      .Bind(2, write.payload_digest)
      .Bind(3, result.revision)
      .Bind(4, absl::ToUnixMicros(result.update_time));
  if (result.value) put->BindBlob(5, *result.value);
  return Run(*put);
}

}  // namespace foretoken::catalog

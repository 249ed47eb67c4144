// Writing to the SQLite store: one transaction, with the checksum and the room that is left.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/sqlite_row.h"
#include "server/catalog/store/sqlite_store.h"

namespace foretoken::catalog {
namespace {

absl::Status Run(SqliteStatement& statement) { return statement.Step().status(); }

}  // namespace

absl::StatusOr<StoreWriteResult> SqliteStore::Write(const StoreWrite& write) {
  absl::MutexLock lock(&write_mutex_);
  const absl::Duration left = std::min(write.deadline - absl::Now(), kWriteTimeout);
  writer_.SetBusyTimeout(static_cast<int>(std::max<int64_t>(1, absl::ToInt64Milliseconds(left))));
  if (left <= absl::ZeroDuration()) {
    return WithOutcome(Refusal(Reason::kStoreUnavailable, "", "catalog store: busy with writes before this one"),
                       kNothingWritten);
  }
  if (!damage_.empty()) {
    return WithOutcome(Refusal(Reason::kStoreUnavailable, "", absl::StrCat("catalog store: ", damage_)),
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
  const absl::StatusOr<StoreUsage> before = ReadUsage();
  if (!before.ok()) return before.status();
  absl::StatusOr<StoreWriteResult> result = NextRevision(write);
  if (!result.ok()) return result.status();
  if (absl::Status status = StoreEntry(write, *result); !status.ok()) return status;
  if (absl::Status status = StoreHistory(write, *result); !status.ok()) return status;
  if (absl::Status status = RememberRequest(write, *result); !status.ok()) return status;
  const absl::StatusOr<StoreUsage> after = ReadUsage();
  if (!after.ok()) return after.status();
  if (absl::Status status = CheckRoom(write, *before, *after, limits_); !status.ok()) return status;
  if (write.dry_run) return StoreWriteResult{"", 0, write.now, write.value};
  return result;
}

absl::StatusOr<std::optional<StoreWriteResult>> SqliteStore::FindReplay(const StoreWrite& write) {
  if (write.request_id.empty()) return std::nullopt;
  auto row = writer_.Prepare(absl::StrCat(
      "SELECT r.payload_digest, r.revision, r.update_time_us, r.value IS NULL, r.value, (SELECT store_id FROM store), ",
      kChecksumState,
      ", c.entry_checksum FROM requests r LEFT JOIN checksums c ON c.revision = r.revision "
      "WHERE r.request_id = ? AND r.update_time_us >= ?"));
  if (!row.ok()) return row.status();
  row->Bind(1, write.request_id).Bind(2, absl::ToUnixMicros(write.now - kRequestIdLifetime));
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  if (!*found) return std::nullopt;
  if (absl::Status status = CheckReplay(write, row->Bytes(0)); !status.ok()) return status;
  StoreWriteResult first{"", row->Int(1), absl::FromUnixMicros(row->Int(2)), SqliteValue(*row, 3, 4)};
  const EntryContents contents{write.kind, write.id, first.revision, row->Int(2), first.value};
  if (!AgreesWith(*row, 6, ChecksumOf(contents))) return DamagedAnswer(write);
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

// Before the history: a revision that was given before, as after damage to the table store, fails here.
absl::Status SqliteStore::StoreChecksum(const StoreWrite& write, const StoreWriteResult& result, int64_t sequence) {
  auto put = writer_.Prepare("INSERT INTO checksums VALUES(?, ?, ?)");
  if (!put.ok()) return put.status();
  const EntryContents entry{write.kind, write.id, result.revision, absl::ToUnixMicros(result.update_time), write.value};
  const WriteContents rest{sequence, write.author, write.peer, static_cast<int64_t>(write.action)};
  put->Bind(1, result.revision).Bind(2, static_cast<int64_t>(ChecksumOf(entry)));
  return Run(put->Bind(3, static_cast<int64_t>(ChecksumOf(rest))));
}

absl::StatusOr<int64_t> SqliteStore::NextSequence(const StoreWrite& write) {
  auto row = writer_.Prepare("SELECT ifnull(max(sequence), 0) + 1 FROM history WHERE kind = ? AND id = ?");
  if (!row.ok()) return row.status();
  row->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id);
  const absl::StatusOr<bool> found = row->Step();
  if (!found.ok()) return found.status();
  return row->Int(0);
}

absl::Status SqliteStore::StoreHistory(const StoreWrite& write, const StoreWriteResult& result) {
  const absl::StatusOr<int64_t> sequence = NextSequence(write);
  if (!sequence.ok()) return sequence.status();
  if (absl::Status status = StoreChecksum(write, result, *sequence); !status.ok()) return status;
  auto put = writer_.Prepare("INSERT INTO history VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  if (!put.ok()) return put.status();
  put->Bind(1, static_cast<int64_t>(write.kind))
      .Bind(2, write.id)
      .Bind(3, *sequence)
      .Bind(4, result.revision)
      .Bind(5, absl::ToUnixMicros(result.update_time))
      .Bind(6, write.author)
      .Bind(7, write.peer)
      .Bind(8, static_cast<int64_t>(write.action));
  if (write.value) put->BindBlob(9, *write.value);
  if (absl::Status status = Run(*put); !status.ok()) return status;
  auto prune = writer_.Prepare(
      "DELETE FROM history WHERE kind = ?1 AND id = ?2 AND sequence <= "
      "(SELECT max(sequence) FROM history WHERE kind = ?1 AND id = ?2) - ?3");
  if (!prune.ok()) return prune.status();
  return Run(prune->Bind(1, static_cast<int64_t>(write.kind)).Bind(2, write.id).Bind(3, kKeptRevisions));
}

// Of the file's pages those that hold something, so that what overhead the tables have counts too.
absl::StatusOr<StoreUsage> SqliteStore::ReadUsage() {
  const absl::StatusOr<int64_t> entries = writer_.OneNumber("SELECT count(*) FROM entries");
  if (!entries.ok()) return entries.status();
  const absl::StatusOr<int64_t> bytes = writer_.OneNumber(
      "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, "
      "pragma_page_size");
  if (!bytes.ok()) return bytes.status();
  return StoreUsage{*entries, *bytes};
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

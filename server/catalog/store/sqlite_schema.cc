#include "server/catalog/store/sqlite_schema.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {
namespace {

constexpr int64_t kSchemaVersion = 2;
constexpr int64_t kApplicationId = 0x666f7265;  // "fore"

// `entries` is what is registered, `history` every write that is kept, also of what was deleted.
constexpr char kTables[] = R"(
CREATE TABLE store(
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1), store_id TEXT NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE history(
  kind INTEGER NOT NULL, id TEXT NOT NULL, sequence INTEGER NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, author TEXT NOT NULL, peer TEXT NOT NULL, action INTEGER NOT NULL, value BLOB,
  PRIMARY KEY(kind, id, sequence)) WITHOUT ROWID;
CREATE INDEX history_by_revision ON history(revision);
)";

constexpr char kEmpty[] = R"(
CREATE TABLE entries(
  kind INTEGER NOT NULL, id TEXT NOT NULL, value BLOB NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, PRIMARY KEY(kind, id)) WITHOUT ROWID;
CREATE TABLE requests(
  request_id TEXT PRIMARY KEY, payload_digest TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, value BLOB) WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests(update_time_us);
)";

// Version 1 kept etags beside the entries and no history. What is registered becomes the first revision of each.
constexpr char kFromVersion1[] = R"(
ALTER TABLE entries DROP COLUMN etag;
CREATE TABLE new_requests(
  request_id TEXT PRIMARY KEY, payload_digest TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, value BLOB) WITHOUT ROWID;
INSERT INTO new_requests SELECT request_id, payload_digest, revision, update_time_us, CASE etag WHEN '' THEN NULL ELSE value END FROM requests;
DROP TABLE requests;
ALTER TABLE new_requests RENAME TO requests;
CREATE INDEX requests_by_time ON requests(update_time_us);
INSERT INTO history SELECT kind, id, 1, revision, update_time_us, '', '', 1, value FROM entries;
)";

// A revision without a row here is damage; NULL: nobody has made the checksum yet. entries_by_revision also makes
// counting entries cheap.
constexpr char kChecksums[] = R"(
CREATE TABLE checksums(revision INTEGER PRIMARY KEY, entry_checksum INTEGER, write_checksum INTEGER);
CREATE INDEX entries_by_revision ON entries(revision);
CREATE INDEX requests_by_revision ON requests(revision);
CREATE TRIGGER history_unchecked AFTER INSERT ON history
  BEGIN INSERT OR IGNORE INTO checksums VALUES(NEW.revision, NULL, NULL); END;
CREATE TRIGGER history_forgotten AFTER DELETE ON history
  WHEN NOT EXISTS (SELECT 1 FROM requests WHERE revision = OLD.revision)
  BEGIN DELETE FROM checksums WHERE revision = OLD.revision; END;
CREATE TRIGGER request_forgotten AFTER DELETE ON requests
  WHEN NOT EXISTS (SELECT 1 FROM history WHERE revision = OLD.revision)
  BEGIN DELETE FROM checksums WHERE revision = OLD.revision; END;
INSERT OR IGNORE INTO checksums SELECT revision, NULL, NULL FROM history;
INSERT OR IGNORE INTO checksums SELECT revision, NULL, NULL FROM requests;
)";

// Revisions whose checksum is still to be made. An answer to a request id whose revision is no longer kept stays
// unchecked: the row does not say of which entry it is.
constexpr char kUnchecked[] =
    "FROM checksums c JOIN history h ON h.revision = c.revision WHERE c.entry_checksum IS NULL";

absl::Status Refuse(const std::string& why) {
  return Refusal(Reason::kStoreUnavailable, "", absl::StrCat("catalog store: ", why));
}

// The version of the file's tables; 0: it is empty.
absl::StatusOr<int64_t> VersionOf(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> version = database.OneNumber("PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kSchemaVersion) {
    return Refuse(
        absl::StrCat("the file has version ", *version, " of a newer program; this one knows ", kSchemaVersion));
  }
  const absl::StatusOr<int64_t> application = database.OneNumber("PRAGMA application_id");
  if (!application.ok()) return application.status();
  const absl::StatusOr<int64_t> tables =
      database.OneNumber(*version == 1 ? "SELECT 3 - count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                                         "('revision', 'entries', 'requests')"
                                       : "SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.status();
  const bool ours = *version == kSchemaVersion ? *application == kApplicationId : *application == 0 && *tables == 0;
  if (!ours) return Refuse("the file is a SQLite database of another program; give a path of its own");
  return version;
}

absl::Status Upgrade(SqliteDatabase& database) {
  absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<int64_t> version = VersionOf(database);  // again: another process may have been faster
  if (!version.ok()) return version.status();
  if (*version == kSchemaVersion) return absl::OkStatus();
  const std::string revision = *version == 1 ? "(SELECT revision FROM revision)" : "0";
  const std::string sql =
      absl::StrCat(kTables, "INSERT INTO store VALUES(1, '", RandomStoreId(), "', ", revision, ");",
                   *version == 1 ? kFromVersion1 : kEmpty, *version == 1 ? "DROP TABLE revision;" : "",
                   "PRAGMA application_id = ", kApplicationId, "; PRAGMA user_version = ", kSchemaVersion, ";");
  if (absl::Status status = database.Execute(sql); !status.ok()) return status;
  return transaction->Commit();
}

bool HasChecksums(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> tables =
      database.OneNumber("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'checksums'");
  return tables.ok() && *tables > 0;
}

absl::Status MakeChecksum(SqliteDatabase& database, const SqliteStatement& row) {
  const std::string id = row.Bytes(1), value = row.Bytes(5), author = row.Bytes(7), peer = row.Bytes(8);
  const EntryContents entry{static_cast<EntryKind>(row.Int(0)), id, row.Int(2), row.Int(3),
                            row.Int(4) != 0 ? std::nullopt : std::optional<std::string_view>(value)};
  const WriteContents write{row.Int(6), author, peer, row.Int(9)};
  auto put = database.Prepare("UPDATE checksums SET entry_checksum = ?, write_checksum = ? WHERE revision = ?");
  if (!put.ok()) return put.status();
  put->Bind(1, static_cast<int64_t>(ChecksumOf(entry))).Bind(2, static_cast<int64_t>(ChecksumOf(write)));
  return put->Bind(3, row.Int(2)).Step().status();
}

// In one transaction: another process may be at it too.
absl::Status MakeChecksums(SqliteDatabase& database, bool tables) {
  absl::StatusOr<SqliteTransaction> transaction = SqliteTransaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  if (tables && !HasChecksums(database)) {
    if (absl::Status status = database.Execute(kChecksums); !status.ok()) return status;
  }
  auto rows = database.Prepare(absl::StrCat(
      "SELECT h.kind, h.id, h.revision, h.update_time_us, h.value IS NULL, h.value, h.sequence, h.author, h.peer, "
      "h.action ",
      kUnchecked));
  if (!rows.ok()) return rows.status();
  for (absl::StatusOr<bool> row = rows->Step();; row = rows->Step()) {
    if (!row.ok()) return row.status();
    if (!*row) break;
    if (absl::Status status = MakeChecksum(database, *rows); !status.ok()) return status;
  }
  return transaction->Commit();
}

absl::Status PrepareSoundFile(SqliteDatabase& database, int64_t version) {
  if (absl::Status status = database.Execute("PRAGMA journal_mode = WAL"); !status.ok()) return status;
  if (absl::Status status = database.Execute("PRAGMA synchronous = FULL"); !status.ok()) return status;
  if (version != kSchemaVersion) {
    if (absl::Status status = Upgrade(database); !status.ok()) return status;
  }
  if (!HasChecksums(database)) return MakeChecksums(database, /*tables=*/true);
  const absl::StatusOr<int64_t> unchecked =
      database.OneNumber(absl::StrCat("SELECT EXISTS (SELECT 1 ", kUnchecked, ")"));
  if (!unchecked.ok()) return unchecked.status();
  // Where it cannot be written now, what older programs wrote stays unchecked.
  if (*unchecked != 0) MakeChecksums(database, /*tables=*/false).IgnoreError();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> PrepareSchema(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> version = VersionOf(database);
  if (!version.ok()) {
    if (database.IsDamaged()) return std::string(version.status().message());
    return version.status();
  }
  if (absl::Status status = database.CheckNotCut(); !status.ok()) return status;
  absl::StatusOr<std::string> damage = database.CheckIntegrity();
  if (!damage.ok() || !damage->empty()) return damage;
  if (absl::Status status = PrepareSoundFile(database, *version); !status.ok()) return status;
  return "";
}

}  // namespace foretoken::catalog

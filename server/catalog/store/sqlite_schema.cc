#include "server/catalog/store/sqlite_schema.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
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

}  // namespace

absl::Status PrepareSchema(SqliteDatabase& database) {
  const absl::StatusOr<int64_t> version = VersionOf(database);
  if (!version.ok()) return version.status();
  if (absl::Status status = database.Execute("PRAGMA journal_mode = WAL"); !status.ok()) return status;
  if (absl::Status status = database.Execute("PRAGMA synchronous = FULL"); !status.ok()) return status;
  return *version == kSchemaVersion ? absl::OkStatus() : Upgrade(database);
}

}  // namespace foretoken::catalog

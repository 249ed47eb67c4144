#include "server/catalog/store/sqlite_store.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/sqlite_row.h"
#include "server/catalog/store/sqlite_schema.h"

namespace foretoken::catalog {
namespace {

constexpr int kReadTimeoutMs = 1000;
constexpr char kNoStoreRow[] = "catalog store: the SQLite file has no row in its table store: it is damaged";

// What both readings of entries ask for: the columns that EntryOf and ReadRows take, of a table `e` with `value`. One
// statement reads the store's revision beside every row, so both are of one moment.
std::string RowsOf(const std::string& table, const std::string& rest) {
  return absl::StrCat(
      "SELECT s.revision, s.store_id, e.kind, e.id, e.revision, e.update_time_us, e.value IS NULL, e.value, "
      "e.present, ",
      kChecksumState, ", c.entry_checksum FROM store s LEFT JOIN (SELECT 1 AS present, * FROM ", table,
      ") e ON 1 LEFT JOIN checksums c ON c.revision = e.revision", rest);
}

StoredEntry EntryOf(const SqliteStatement& row) {
  const int64_t kind = row.Int(2);
  StoredEntry entry{.kind = static_cast<EntryKind>(kind),
                    .id = row.Bytes(3),
                    .value = SqliteValue(row, 6, 7),
                    .etag = EtagOf(row.Bytes(1), row.Int(4)),
                    .revision = row.Int(4),
                    .update_time = absl::FromUnixMicros(row.Int(5)),
                    .fault = ""};
  if (entry.kind != EntryKind::kHardware && entry.kind != EntryKind::kModel) {
    entry.kind = EntryKind::kUnknown;
    entry.id = absl::StrCat(kind, "/", PrintableName(entry.id));
    entry.fault = absl::StrCat("kind ", kind, "; this program knows 0 (hardware) and 1 (model)");
    return entry;
  }
  const EntryContents contents{entry.kind, entry.id, entry.revision, row.Int(5), entry.value};
  if (!AgreesWith(row, 9, ChecksumOf(contents))) MarkUnreadable(kChecksumDiffers, entry);
  return entry;
}

// A row of ReadHistory.
StoredRevision RevisionOf(const SqliteStatement& row, EntryKind kind, const std::string& id) {
  StoredRevision one{.revision = row.Int(0),
                     .sequence = row.Int(1),
                     .update_time = absl::FromUnixMicros(row.Int(2)),
                     .author = row.Bytes(3),
                     .peer = row.Bytes(4),
                     .action = static_cast<WriteAction>(row.Int(5)),
                     .value = SqliteValue(row, 6, 7),
                     .etag = "",
                     .fault = ""};
  const EntryContents entry{kind, id, one.revision, row.Int(2), one.value};
  const WriteContents write{one.sequence, one.author, one.peer, row.Int(5)};
  if (!AgreesWith(row, 9, ChecksumOf(entry)) || !AgreesWith(row, 9, ChecksumOf(write), 11)) {
    return UnreadableRevision(one.revision, one.sequence, kChecksumDiffers);
  }
  if (one.value) one.etag = EtagOf(row.Bytes(8), one.revision);
  return one;
}

template <typename Contents>
absl::Status ReadRows(SqliteStatement& rows, Contents& contents) {
  for (bool first = true;; first = false) {
    const absl::StatusOr<bool> row = rows.Step();
    if (!row.ok()) return row.status();
    if (!*row) return first ? Refusal(Reason::kStoreUnavailable, "", kNoStoreRow) : absl::OkStatus();
    contents.revision = rows.Int(0);
    if (rows.Int(8) != 0) contents.entries.push_back(EntryOf(rows));  // else there is no entry at all
  }
}

// The damage of a file, in the place of the entries that cannot be read for it.
StoredEntry DamageOf(const std::string& damage) {
  StoredEntry entry{.kind = EntryKind::kUnknown, .id = "sqlite-file", .value = {}, .etag = "damaged", .fault = ""};
  entry.fault = absl::StrCat(damage, "; entries may be missing, nothing is written: restore a backup");
  return entry;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, const StoreLimits& limits) {
  absl::StatusOr<SqliteDatabase> writer =
      SqliteDatabase::Open(path, static_cast<int>(absl::ToInt64Milliseconds(kWriteTimeout)));
  if (!writer.ok()) return writer.status();
  absl::StatusOr<std::string> damage = PrepareSchema(*writer);
  if (!damage.ok()) return damage.status();
  absl::StatusOr<SqliteDatabase> reader = SqliteDatabase::Open(path, kReadTimeoutMs);
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(*std::move(reader), *std::move(writer), *std::move(damage), limits));
}

absl::StatusOr<int64_t> SqliteStore::ReadRevision(absl::Time) {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  return reader_.OneNumber("SELECT revision FROM store");
}

absl::StatusOr<StoreContents> SqliteStore::ReadAll() {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  StoreContents contents;
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(RowsOf("entries NOT INDEXED", ""));
  const absl::Status read = rows.ok() ? ReadRows(*rows, contents) : rows.status();
  if (!damage_.empty()) {
    contents.entries.push_back(DamageOf(damage_));
    return contents;
  }
  if (!read.ok()) return read;
  if (absl::Status status = CheckNoneVanished(contents); !status.ok()) return status;
  return contents;
}

absl::Status SqliteStore::CheckNoneVanished(const StoreContents& contents) {
  if (contents.revision == read_revision_ && contents.entries.size() < read_entries_) {
    const absl::StatusOr<std::string> damage = reader_.CheckIntegrity();
    if (!damage.ok()) return damage.status();
    if (!damage->empty()) return Refusal(Reason::kStoreUnavailable, "", absl::StrCat("catalog store: ", *damage));
  }
  read_revision_ = contents.revision;
  read_entries_ = contents.entries.size();
  return absl::OkStatus();
}

absl::StatusOr<std::optional<StoreChanges>> SqliteStore::ReadChanges(int64_t after, int64_t, absl::Time) {
  absl::MutexLock lock(&read_mutex_);
  if (absl::Status status = reader_.CheckInPlace(); !status.ok()) return status;
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(RowsOf("history WHERE revision > ?", " ORDER BY e.revision"));
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
  absl::StatusOr<SqliteStatement> rows = reader_.Prepare(absl::StrCat(
      "SELECT h.revision, h.sequence, h.update_time_us, h.author, h.peer, h.action, h.value IS NULL, h.value, "
      "(SELECT store_id FROM store), ",
      kChecksumState,
      ", c.entry_checksum, c.write_checksum FROM history h LEFT JOIN checksums c ON c.revision = h.revision "
      "WHERE h.kind = ? AND h.id = ? ORDER BY h.sequence DESC"));
  if (!rows.ok()) return rows.status();
  rows->Bind(1, static_cast<int64_t>(kind)).Bind(2, id);
  std::vector<StoredRevision> history;
  for (;;) {
    const absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return history;
    history.push_back(RevisionOf(*rows, kind, id));
  }
}

}  // namespace foretoken::catalog

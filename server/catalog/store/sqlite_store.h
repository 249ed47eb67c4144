// The embedded store: one SQLite file, which several processes of one host may share.
//
// Write-ahead log with full synchronisation: what Write acknowledged survives kill -9 and a power cut. A database
// that another process holds locked until the write's deadline, a full disk or a read-only file is kStoreUnavailable;
// nothing of that write is then stored. A file that was removed or replaced is kStoreUnavailable to every call: what is
// at its path then is not what is open. Reads have a connection of their own and wait for no writer.
//
// What is read is compared with its checksum. A file whose structure is found damaged when it is opened is not written
// any more; what can be read of it, and agrees with its checksum, is.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_SQLITE_STORE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/catalog/store/sqlite.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

class SqliteStore : public CatalogStore {
 public:
  // Opens or creates the file; its folder must be there.
  // Errors: kStoreUnavailable, also for a file of a newer version of this program, or of another program.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path, const StoreLimits& limits = {});

  std::string_view kind() const override { return "sqlite"; }
  absl::StatusOr<StoreContents> ReadAll() override;
  absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) override;
  absl::StatusOr<std::optional<StoreChanges>> ReadChanges(int64_t after, int64_t reach, absl::Time deadline) override;
  absl::StatusOr<std::vector<StoredRevision>> ReadHistory(EntryKind kind, const std::string& id) override;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override;

 private:
  SqliteStore(SqliteDatabase reader, SqliteDatabase writer, std::string damage, const StoreLimits& limits)
      : limits_(limits), damage_(std::move(damage)), reader_(std::move(reader)), writer_(std::move(writer)) {}

  // Entries that are gone although nothing was written are damage, which is looked for then.
  absl::Status CheckNoneVanished(const StoreContents& contents) ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mutex_);

  // Steps of Write, inside its transaction.
  absl::StatusOr<std::optional<StoreWriteResult>> FindReplay(const StoreWrite& write)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status CheckEntry(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // The answer to the write, still to be stored.
  absl::StatusOr<StoreWriteResult> NextRevision(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status StoreEntry(const StoreWrite& write, const StoreWriteResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status StoreHistory(const StoreWrite& write, const StoreWriteResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status RememberRequest(const StoreWrite& write, const StoreWriteResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status StoreChecksum(const StoreWrite& write, const StoreWriteResult& result, int64_t sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::StatusOr<int64_t> NextSequence(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::StatusOr<StoreUsage> ReadUsage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::StatusOr<StoreWriteResult> WriteInside(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);

  const StoreLimits limits_;
  const std::string damage_;  // found when the file was opened; empty: none
  absl::Mutex read_mutex_;
  int64_t read_revision_ ABSL_GUARDED_BY(read_mutex_) = -1;  // of the last full reading
  size_t read_entries_ ABSL_GUARDED_BY(read_mutex_) = 0;
  SqliteDatabase reader_ ABSL_GUARDED_BY(read_mutex_);
  absl::Mutex write_mutex_;
  SqliteDatabase writer_ ABSL_GUARDED_BY(write_mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_SQLITE_STORE_H_

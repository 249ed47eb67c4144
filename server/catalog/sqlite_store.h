// The embedded store: one SQLite file, which several processes of one host may share.
//
// Write-ahead log with full synchronisation: what Write acknowledged survives kill -9 and a power cut. A database
// that another process holds locked for more than 5 s, a full disk or a read-only file is kStoreUnavailable; nothing
// of that write is then stored.
#ifndef FORETOKEN_SERVER_CATALOG_SQLITE_STORE_H_
#define FORETOKEN_SERVER_CATALOG_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/catalog/sqlite.h"
#include "server/catalog/store.h"

namespace foretoken::catalog {

class SqliteStore : public CatalogStore {
 public:
  // Opens or creates the file; its folder must be there.
  // Errors: kStoreUnavailable, also for a file of a newer version of this program.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path);

  absl::StatusOr<StoreContents> ReadAll() override;
  absl::StatusOr<int64_t> ReadRevision() override;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override;

 private:
  explicit SqliteStore(SqliteDatabase database) : database_(std::move(database)) {}

  // Steps of Write, inside its transaction.
  absl::StatusOr<std::optional<StoreWriteResult>> FindReplay(const StoreWrite& write)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckEntry(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<int64_t> NextRevision() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PutEntry(const StoreWrite& write, const StoreWriteResult& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status DeleteEntry(const StoreWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RememberRequest(const StoreWrite& write, const StoreWriteResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  SqliteDatabase database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SQLITE_STORE_H_

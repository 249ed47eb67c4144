// A store that forgets: for tests, and for a server that is to keep nothing.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_MEMORY_STORE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_MEMORY_STORE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

class MemoryStore : public CatalogStore {
 public:
  explicit MemoryStore(const StoreLimits& limits = {}) : limits_(limits) {}

  std::string_view kind() const override { return "memory"; }
  absl::StatusOr<StoreContents> ReadAll() override;
  absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) override;
  absl::StatusOr<std::optional<StoreChanges>> ReadChanges(int64_t after, int64_t reach, absl::Time deadline) override;
  absl::StatusOr<std::vector<StoredRevision>> ReadHistory(EntryKind kind, const std::string& id) override;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override;

 private:
  struct Answer {
    std::string payload_digest;
    StoreWriteResult result;
  };
  using Key = std::pair<EntryKind, std::string>;

  static StoredEntry EntryOf(const Key& key, const StoredRevision& revision);
  StoredRevision Next(const StoreWrite& write, const std::vector<StoredRevision>& history)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StoreUsage UsageAfter(const StoreWrite& write, bool registered) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoreLimits limits_;
  const std::string store_id_ = RandomStoreId();
  absl::Mutex mutex_;
  int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  StoreUsage usage_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, std::vector<StoredRevision>> history_ ABSL_GUARDED_BY(mutex_);  // newest first, never empty
  std::map<std::string, Answer> requests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_MEMORY_STORE_H_

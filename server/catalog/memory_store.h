// A store that forgets: for tests, and for a server that is to keep nothing.
#ifndef FORETOKEN_SERVER_CATALOG_MEMORY_STORE_H_
#define FORETOKEN_SERVER_CATALOG_MEMORY_STORE_H_

#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/catalog/store.h"

namespace foretoken::catalog {

class MemoryStore : public CatalogStore {
 public:
  absl::StatusOr<StoreContents> ReadAll() override;
  absl::StatusOr<int64_t> ReadRevision() override;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override;

 private:
  struct Answer {
    std::string payload_digest;
    StoreWriteResult result;
  };

  absl::Mutex mutex_;
  int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::pair<EntryKind, std::string>, StoredEntry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Answer> requests_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_MEMORY_STORE_H_

// The live catalog: bundled files, a store of registered entries, and the current snapshot of both.
#ifndef FORETOKEN_SERVER_CATALOG_CATALOG_H_
#define FORETOKEN_SERVER_CATALOG_CATALOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/catalog/bundle.h"
#include "server/catalog/snapshot.h"
#include "server/catalog/store.h"

namespace foretoken::catalog {

// How a write reaches the catalog; meanings as in foretoken.v1.CatalogService.
struct WriteOptions {
  std::optional<std::string> etag;
  std::string request_id;
  std::string payload_digest;  // of the whole request, for request_id
  bool validate_only = false;
};

// Copies the linear profiles and the calibrations of the entry that `spec` replaces, unless it lists its own: they
// outlive a change of the figures.
void KeepProfiles(const Snapshot& snapshot, v1::HardwareSpec& spec);

// Thread-safe. Snapshots that a call holds stay valid; a thread keeps the last one it asked for alive until it asks
// again.
class Catalog {
 public:
  using Clock = std::function<absl::Time()>;

  // Overlays the store's entries on the bundle. An entry of the store that cannot be read is skipped and counted.
  // Errors: kStoreUnavailable.
  static absl::StatusOr<std::unique_ptr<Catalog>> Open(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock);

  // The current snapshot; never null. Takes no lock unless it changed since this thread last asked.
  std::shared_ptr<const Snapshot> snapshot() const;

  // Checks and stores an entry, and swaps the snapshot before it returns. The etag of a bundled entry stands for it
  // while nothing is registered under its id. A dry run checks the etag against the store as it is now, and so needs
  // it; it does not look at request_id. Field paths are relative to the request ("spec.id", "etag").
  // Errors: kInvalidField, and those of CatalogStore::Write.
  absl::StatusOr<v1::HardwareEntry> PutHardware(const v1::HardwareSpec& spec, const WriteOptions& options);
  absl::StatusOr<v1::ModelEntry> PutModel(const v1::ModelSpec& spec, const WriteOptions& options);

  // Deletes a registered entry. Errors: kUnknownId, kInvalidField, kBundledEntry, and those of CatalogStore::Write.
  absl::Status DeleteHardware(const std::string& id, const WriteOptions& options);
  absl::Status DeleteModel(const std::string& id, const WriteOptions& options);

  // Reads the store again if its revision moved. The server calls it about once a second, for writes of other
  // processes. Errors: kStoreUnavailable; the last snapshot stays.
  absl::Status Refresh();

  // Entries of the store that the last read had to skip.
  int skipped_entries() const { return skipped_.load(std::memory_order_relaxed); }

 private:
  Catalog(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock);

  // Reads the store and swaps the snapshot.
  absl::Status Reload() ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  // The same, where the store's revision moved.
  absl::Status ReloadIfMoved() ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  void Swap(StoreContents contents) ABSL_EXCLUSIVE_LOCKS_REQUIRED(store_mutex_);
  std::shared_ptr<const Snapshot> Current() const;
  template <typename Kind>
  absl::StatusOr<typename Kind::Entry> Put(const typename Kind::Spec& spec, const WriteOptions& options);
  template <typename Kind>
  absl::Status Delete(const std::string& id, const WriteOptions& options);

  const Bundle bundle_;
  const std::unique_ptr<CatalogStore> store_;
  const Clock clock_;
  std::atomic<int> skipped_{0};
  // Changes with every snapshot, and never repeats in this process.
  std::atomic<uint64_t> generation_{0};
  // Orders this process's writes and reloads. Held while the store is waited for, so readers never take it.
  absl::Mutex store_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable absl::Mutex mutex_;  // of current_ alone; readers take it only when generation_ moved
  std::shared_ptr<const Snapshot> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_CATALOG_H_

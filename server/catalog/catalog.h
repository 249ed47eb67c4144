// The live catalog: bundled files, a store of registered entries, and the current snapshot of both.
#ifndef FORETOKEN_SERVER_CATALOG_CATALOG_H_
#define FORETOKEN_SERVER_CATALOG_CATALOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/catalog/entries/bundle.h"
#include "server/catalog/entries/hardware_draft.h"
#include "server/catalog/entries/overlay.h"
#include "server/catalog/entries/snapshot.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

// How a write reaches the catalog; meanings as in foretoken.v1.CatalogService.
struct WriteOptions {
  std::optional<std::string> etag;
  std::string request_id;
  std::string payload_digest;  // of the whole request, for request_id
  bool validate_only = false;
  std::string author;
  std::string peer;
  absl::Time deadline = absl::InfiniteFuture();  // by the system's clock
};

// Replies and metrics name up to so many unreadable entries of the store.
inline constexpr int kMaxNamedEntries = 100;

// How the catalog stands with its store.
struct CatalogStatus {
  absl::Time agreed;  // when the snapshot was last known to agree with the store
  bool stale = false;
  std::string last_error;  // empty: none since the start
  absl::Time last_error_time = absl::InfinitePast();
  int64_t errors = 0;         // times that the store could not be asked
  int64_t full_readings = 0;  // times that all of it was read
  std::vector<v1::SkippedEntry> skipped;
};

// Thread-safe. Snapshots that a call holds stay valid; a thread keeps the last one it asked for alive until it asks
// again. No lock is held while the store is waited for.
class Catalog {
 public:
  using Clock = std::function<absl::Time()>;

  // Without an answer of the store for this long, the snapshot is marked as stale.
  static constexpr absl::Duration kStaleAfter = absl::Seconds(3);
  // How often all of the store is read, whether or not it reported changes.
  static constexpr absl::Duration kFullReadingInterval = absl::Seconds(30);

  // Overlays the store's entries on the bundle. An entry of the store that cannot be read is skipped and listed by
  // status(). Errors: kStoreUnavailable.
  static absl::StatusOr<std::unique_ptr<Catalog>> Open(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock);

  // The current snapshot; never null. Takes no lock unless it changed since this thread last asked.
  std::shared_ptr<const Snapshot> snapshot() const;

  // Checks and stores an entry, and swaps the snapshot before it returns. The etag of a bundled entry stands for it
  // while nothing is registered under its id. A dry run checks etag and request_id against the store as it is now, and
  // so needs it. Field paths are relative to the request ("spec.id", "etag").
  // Errors: kInvalidField, also where another entry has its id or one of its aliases as a name; and those of
  // CatalogStore::Write.
  absl::StatusOr<v1::HardwareEntry> PutHardware(const v1::HardwareSpec& spec, const WriteOptions& options);
  // The same for a spec that was parsed before. Catches up with the store unless the draft has inherited already.
  absl::StatusOr<v1::HardwareEntry> PutHardware(HardwareDraft draft, const WriteOptions& options);
  absl::StatusOr<v1::ModelEntry> PutModel(const v1::ModelSpec& spec, const WriteOptions& options);

  // Here and below an alias stands for the id that has it now. Deletes a registered entry. Errors: kUnknownId,
  // kInvalidField, kBundledEntry, and those of CatalogStore::Write.
  absl::Status DeleteHardware(const std::string& id, const WriteOptions& options);
  absl::Status DeleteModel(const std::string& id, const WriteOptions& options);

  // An entry as it was at a revision of the store; a bundled one as it is now, where nothing was registered then.
  // Errors: kInvalidField (a revision that the store has not reached), kUnknownId, kRevisionNotKept, kStoreUnavailable.
  absl::StatusOr<v1::HardwareEntry> HardwareAt(const std::string& id, int64_t revision);
  absl::StatusOr<v1::ModelEntry> ModelAt(const std::string& id, int64_t revision);

  // Writes the entry as it was then. Nothing: nothing was registered then, so it is deleted.
  // Errors: those of HardwareAt and CatalogStore::Write.
  absl::StatusOr<std::optional<v1::HardwareEntry>> RollbackHardware(const std::string& id, int64_t revision,
                                                                    const WriteOptions& options);
  absl::StatusOr<std::optional<v1::ModelEntry>> RollbackModel(const std::string& id, int64_t revision,
                                                              const WriteOptions& options);

  // Kept revisions of an entry, the newest first. Errors: kUnknownId: never registered; kStoreUnavailable.
  absl::StatusOr<std::vector<StoredRevision>> History(EntryKind kind, const std::string& name);

  // Follows the store where it moved, and reads all of it now and then. The server calls it after each
  // WaitForChange. Errors: kStoreUnavailable; the last snapshot stays, and is marked as stale in the end.
  absl::Status Refresh();

  // Follows the store to where it is now: what a write adds to must not be an older version of it.
  // Errors: kStoreUnavailable: nothing was written, and should not be.
  absl::Status CatchUp(absl::Time deadline);

  // Returns when the store has changed, after Wake, or after `timeout`.
  void WaitForChange(absl::Duration timeout);
  void Wake();

  CatalogStatus status() const;
  std::string_view store_kind() const { return store_->kind(); }

 private:
  Catalog(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock);

  // Both ask the store; no lock is held meanwhile.
  absl::Status ReadWhole();
  absl::Status Follow(int64_t reach);
  // Asks the store for its revision, until `deadline`, and follows it there; `full`: reads it all.
  absl::Status Agree(bool full, absl::Time deadline);
  int64_t Revision() const;
  bool FullReadingIsDue() const;
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_mutex_);
  std::shared_ptr<const Snapshot> Current() const;

  template <typename Kind>
  absl::Status Delete(const std::string& id, WriteAction action, const WriteOptions& options);
  template <typename Kind>
  absl::StatusOr<typename Kind::Entry> Commit(StoreWrite write);
  template <typename Kind>
  absl::StatusOr<std::optional<StoredRevision>> RevisionAt(const std::string& id, int64_t revision);
  template <typename Kind>
  absl::StatusOr<typename Kind::Entry> EntryAt(const std::string& id, int64_t revision);
  template <typename Kind>
  absl::StatusOr<std::optional<typename Kind::Entry>> Rollback(const std::string& id, int64_t revision,
                                                               const WriteOptions& options);
  StoreWrite WriteOf(EntryKind kind, const std::string& id, std::optional<std::string> value, WriteAction action,
                     const WriteOptions& options) const;

  // Changes with every snapshot, and never repeats in this process.
  std::atomic<uint64_t> generation_{0};
  absl::Mutex changed_mutex_;
  bool changed_ ABSL_GUARDED_BY(changed_mutex_) = false;
  const Clock clock_;

  mutable absl::Mutex state_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  Overlay overlay_ ABSL_GUARDED_BY(state_mutex_);
  CatalogStatus status_ ABSL_GUARDED_BY(state_mutex_);
  absl::Time full_reading_ ABSL_GUARDED_BY(state_mutex_) = absl::InfinitePast();

  mutable absl::Mutex mutex_;  // of current_ alone; readers take it only when generation_ moved
  std::shared_ptr<const Snapshot> current_ ABSL_GUARDED_BY(mutex_);

  const std::unique_ptr<CatalogStore> store_;  // last: its threads end before what they call
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_CATALOG_H_

// The live catalog: bundled files, a store of registered entries, and the current snapshot of both.
#ifndef FORETOKEN_SERVER_CATALOG_CATALOG_H_
#define FORETOKEN_SERVER_CATALOG_CATALOG_H_

#include <atomic>
#include <functional>
#include <memory>
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

class Catalog {
 public:
  using Clock = std::function<absl::Time()>;

  // Overlays the store's entries on the bundle. An entry of the store that cannot be read is skipped and counted.
  // Errors: kStoreUnavailable.
  static absl::StatusOr<std::unique_ptr<Catalog>> Open(Bundle bundle, std::unique_ptr<CatalogStore> store,
                                                       Clock clock);

  // The current snapshot; never null. Takes no lock unless it changed since this thread last asked.
  std::shared_ptr<const Snapshot> snapshot() const;

  // Checks and stores an entry, and swaps the snapshot before it returns.
  // Errors: kInvalidField, and those of CatalogStore::Write.
  absl::StatusOr<v1::HardwareEntry> PutHardware(const v1::HardwareSpec& spec, const WriteOptions& options);
  absl::StatusOr<v1::ModelEntry> PutModel(const v1::ModelSpec& spec, const WriteOptions& options);

  // Deletes a registered entry. Errors: kUnknownId, kBundledEntry, and those of CatalogStore::Write.
  absl::Status DeleteHardware(const std::string& id, const WriteOptions& options);
  absl::Status DeleteModel(const std::string& id, const WriteOptions& options);

  // Reads the store again if its revision moved. The server calls it about once a second, for writes of other
  // processes. Errors: kStoreUnavailable; the last snapshot stays.
  absl::Status Refresh();

  // Entries of the store that the last read had to skip.
  int skipped_entries() const;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_CATALOG_H_

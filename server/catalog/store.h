// Where registered entries live. A store keeps small opaque values under (kind, id) with one revision that only
// grows; the catalog gives them meaning. Implementations: memory_store.h (tests), sqlite_store.h.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace foretoken::catalog {

enum class EntryKind { kHardware, kModel };

// One registered entry as stored.
struct StoredEntry {
  EntryKind kind = EntryKind::kHardware;
  std::string id;
  std::string value;  // a serialised HardwareSpec or ModelSpec
  std::string etag;
  int64_t revision = 0;  // of the write that made it
  absl::Time update_time;
};

// Everything registered, at one revision.
struct StoreContents {
  std::vector<StoredEntry> entries;
  int64_t revision = 0;
};

// One write: a put where `value` is set, else a delete.
struct StoreWrite {
  EntryKind kind = EntryKind::kHardware;
  std::string id;
  std::optional<std::string> value;
  // What must be registered for the write to happen. Absent: nothing, for a put; anything, for a delete.
  // "*": anything or nothing. Else: exactly the entry with this etag.
  std::optional<std::string> etag;
  // Empty: none. A repeated id with the same payload_digest gives the first answer again.
  std::string request_id;
  std::string payload_digest;
  absl::Time now;
};

struct StoreWriteResult {
  std::string etag;  // empty after a delete
  int64_t revision = 0;
  absl::Time update_time;
  std::string value;  // what is stored; of a repeated request, what the first one stored
};

// Thread-safe. A write that returned OK survives a crash of the process and of the machine.
class CatalogStore {
 public:
  virtual ~CatalogStore() = default;

  // Errors: kStoreUnavailable.
  virtual absl::StatusOr<StoreContents> ReadAll() = 0;

  // The revision alone, cheaply, to see whether ReadAll would tell something new. Errors: kStoreUnavailable.
  virtual absl::StatusOr<int64_t> ReadRevision() = 0;

  // Errors: kAlreadyExists, kEtagMismatch (with the current etag), kRequestIdReused, kUnknownId (a delete of what is
  // not registered), kStoreUnavailable.
  virtual absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) = 0;
};

// What all stores decide alike.

// Whether `write` may happen to an entry with this etag (absent: nothing is registered).
// Errors: kAlreadyExists, kEtagMismatch, kUnknownId.
absl::Status CheckPrecondition(const StoreWrite& write, const std::optional<std::string>& current_etag);

// Whether a repeated request_id repeats the payload too. Errors: kRequestIdReused.
absl::Status CheckReplay(const StoreWrite& write, const std::string& first_digest);

// The etag of the write that made `revision`: as unique as the revision.
std::string EtagOf(int64_t revision);

// How long a request_id is remembered.
inline constexpr absl::Duration kRequestIdLifetime = absl::Hours(25);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_H_

// Keeps registered entries: small opaque values under (kind, id), with one revision that only grows. The catalog gives
// them meaning. Implementations: sqlite_store.h (one host), etcd/etcd_store.h (many hosts),
// memory_store.h (tests). tests/catalog/store_test.cc holds all of them to what stands here.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_STORE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace foretoken::catalog {

// kUnknown: an entry of a newer program, or a foreign key. Only read, never written.
enum class EntryKind { kHardware, kModel, kUnknown };

// Same numbers as foretoken.v1.WriteAction.
enum class WriteAction { kRegister = 1, kDelete = 2, kRollback = 3 };

// One registered entry as stored, or the record that it was deleted.
struct StoredEntry {
  EntryKind kind = EntryKind::kHardware;
  std::string id;                    // of an unknown kind: the store's own name for it
  std::optional<std::string> value;  // a serialised HardwareSpec or ModelSpec; absent: deleted
  std::string etag;
  int64_t revision = 0;  // of the write that made it
  absl::Time update_time;
  std::string fault;  // not empty: why the store cannot read the entry
};

// All registered entries, at one revision.
struct StoreContents {
  std::vector<StoredEntry> entries;
  int64_t revision = 0;
};

// The changes after some revision up to `revision`, in order of revisions: at least the last change of each entry.
struct StoreChanges {
  std::vector<StoredEntry> entries;
  int64_t revision = 0;
};

// One write: a put where `value` is set, else a delete.
struct StoreWrite {
  EntryKind kind = EntryKind::kHardware;
  std::string id;
  std::optional<std::string> value;
  // The condition of the write. Absent: a put needs that nothing is registered, a delete that anything is. "*": none.
  // Otherwise the registered entry must have this etag.
  std::optional<std::string> etag;
  // Empty: none. A repeated id with the same payload_digest gives the first answer again.
  std::string request_id;
  std::string payload_digest;
  WriteAction action = WriteAction::kRegister;
  std::string author;  // who
  std::string peer;    // the address it calls from
  absl::Time now;
  // When the store stops trying, by the system's clock.
  absl::Time deadline = absl::InfiniteFuture();
  // The store checks everything and writes nothing.
  bool dry_run = false;
};

// The most that a store takes; what it holds beyond that, as by an older program, stays and is read.
struct StoreLimits {
  // Every replica keeps every entry in memory, about 2.9 kB for one of 1 kB: 145 MB at this many.
  int64_t max_entries = 50'000;
  // Of what is registered, its kept revisions and the answers to request ids, as the store keeps them. Of large entries
  // it is at most a third that a replica has in memory, at 2.4 times its size: 0.9 GB.
  int64_t max_bytes = int64_t{1} << 30;
};

// The largest entry that can be written, serialised. The largest of the catalog that ships has 4 kB; a write stores an
// entry three times, which etcd by default refuses above 1.5 MiB; and sixteen fit into a gRPC message of 4 MiB.
inline constexpr int64_t kMaxEntryBytes = 256'000;

struct StoreWriteResult {
  std::string etag;  // empty after a delete and a dry run
  int64_t revision = 0;
  absl::Time update_time;
  std::optional<std::string> value;  // what is stored; of a repeated request, what the first one stored
};

// One kept revision of an entry.
struct StoredRevision {
  int64_t revision = 0;
  int64_t sequence = 0;  // of this entry's writes: 1 for the first
  absl::Time update_time;
  std::string author;
  std::string peer;
  WriteAction action = WriteAction::kRegister;
  std::optional<std::string> value;  // absent: it was deleted
  std::string etag;                  // empty: it was deleted
  std::string fault;                 // not empty: it cannot be read, and nothing but revision and sequence is known
};

// Thread-safe. A write that returned OK survives a crash of the process and of the machine. No call waits for longer
// than a few seconds, nor past its deadline.
class CatalogStore {
 public:
  virtual ~CatalogStore() = default;

  // "sqlite", "etcd", "memory".
  virtual std::string_view kind() const = 0;

  // Errors: kStoreUnavailable.
  virtual absl::StatusOr<StoreContents> ReadAll() = 0;

  // The revision alone, cheaply, as it is now. Errors: kStoreUnavailable.
  virtual absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) = 0;

  // The changes after revision `after`. Waits until they reach revision `reach`, which a read or a write returned
  // before, or until `deadline`. Nothing: the store no longer has them all, and the caller must use ReadAll. Errors:
  // kStoreUnavailable.
  virtual absl::StatusOr<std::optional<StoreChanges>> ReadChanges(int64_t after, int64_t reach,
                                                                  absl::Time deadline) = 0;

  // The last kKeptRevisions revisions of an entry, also of a deleted one, the newest first; empty: never registered.
  // Errors: kStoreUnavailable.
  virtual absl::StatusOr<std::vector<StoredRevision>> ReadHistory(EntryKind kind, const std::string& id) = 0;

  // Errors: kAlreadyExists, kEtagMismatch (with the current etag), kRequestIdReused, kUnknownId (a delete of what is
  // not registered), kLimitExceeded (a put for which the store has no room), kStoreUnavailable, whose message ends in
  // kNothingWritten or kMayBeWritten.
  virtual absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) = 0;

  // Calls `changed` from a thread of the store soon after another process wrote. A store that is not notified of writes
  // never calls it, and has to be asked. REQUIRES: called at most once, before other calls; `changed` is quick and
  // outlives the store.
  virtual void OnChange(std::function<void()> changed);
};

// What all stores decide alike.

// Whether `write` may happen to an entry with this etag (absent: nothing is registered).
// Errors: kAlreadyExists, kEtagMismatch, kUnknownId.
absl::Status CheckPrecondition(const StoreWrite& write, const std::optional<std::string>& current_etag);

// What a store holds by the measure of StoreLimits.
struct StoreUsage {
  int64_t entries = 0;
  int64_t bytes = 0;
};

// Whether `write` may take the store from one usage to the other. A delete always may, so that a full store can be
// emptied. Errors: kLimitExceeded.
absl::Status CheckRoom(const StoreWrite& write, const StoreUsage& before, const StoreUsage& after,
                       const StoreLimits& limits);

// Whether a repeated request_id repeats the payload too. Errors: kRequestIdReused.
absl::Status CheckReplay(const StoreWrite& write, const std::string& first_digest);

// The etag of the write that made `revision` in the store of this id: as unique as both.
std::string EtagOf(const std::string& store_id, int64_t revision);

// A new store's id: eight random hexadecimal digits, so that etags do not repeat when a store is made anew.
std::string RandomStoreId();

// "hardware", "model", "unknown".
std::string_view KindName(EntryKind kind);

// A name that a store holds and that is no catalog id, for people to read: printable and short.
std::string PrintableName(std::string_view name);

// Leaves of `entry` what tells that it cannot be read, and why. A name that is no text makes its kind unknown.
void MarkUnreadable(std::string fault, StoredEntry& entry);

inline constexpr char kNothingWritten[] = "; nothing was written";
inline constexpr char kMayBeWritten[] =
    "; it may have been written: repeat it with the same request_id, or read the entry, to learn";

// A revision of which nothing else can be read.
StoredRevision UnreadableRevision(int64_t revision, int64_t sequence, std::string_view fault);

// The refusal of a repeated request whose first answer is damaged: to write again could write twice.
absl::Status DamagedAnswer(const StoreWrite& write);

// `status` with kNothingWritten or kMayBeWritten at its end, where it is kStoreUnavailable.
absl::Status WithOutcome(const absl::Status& status, std::string_view outcome);

// How long a request_id is remembered.
inline constexpr absl::Duration kRequestIdLifetime = absl::Hours(25);

// How many revisions of an entry are kept.
inline constexpr int64_t kKeptRevisions = 10;

// The longest that a write waits for its store.
inline constexpr absl::Duration kWriteTimeout = absl::Seconds(5);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_STORE_H_

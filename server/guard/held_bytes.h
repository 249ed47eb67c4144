// What the process holds for callers who have not taken it yet: replies that wait to be read, and open sweeps. A caller
// who asks and does not read is refused once what waits for it reaches its share, and what waits for too long ends
// where others need the room.
//
//   absl::Status status = held.Hold({.call = context, .caller = "10.0.0.7", .bytes = 3 << 20, .cancel = ...});
//   ...
//   held.Release(context);
//
// Thread-safe.
#ifndef FORETOKEN_SERVER_GUARD_HELD_BYTES_H_
#define FORETOKEN_SERVER_GUARD_HELD_BYTES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace foretoken::guard {

class HeldBytes {
 public:
  // What one call holds.
  struct Item {
    const void* call = nullptr;  // names it
    std::string caller;
    int64_t bytes = 0;
    absl::Duration patience;       // after which it may be cancelled to make room
    std::function<void()> cancel;  // ends the call; calls Release later, not at once
  };

  // `most`: bytes of all callers together; one caller has half of them.
  explicit HeldBytes(int64_t most) : most_(most), most_of_caller_(most / 2) {}

  // OK while there is room for more of `caller`; what is in the way for too long is cancelled otherwise.
  // Errors: RESOURCE_EXHAUSTED with what is held, of whom, and what is allowed.
  absl::Status Check(const std::string& caller, absl::Time now);

  // Adds `item`, which is held until Release. A call may hold several. Errors: as Check.
  absl::Status Hold(Item item, absl::Time now);

  // Ends what `call` holds.
  void Release(const void* call);

  // While set, nothing more is held: the process is short of memory.
  void SetShort(bool is_short) { short_ = is_short; }

  // Cancels all that has waited for longer than its patience. Returns how many calls that ended.
  int CancelOverdue(absl::Time now);

  int64_t bytes() const;
  uint64_t refused() const { return refused_; }
  uint64_t cancelled() const { return cancelled_; }

 private:
  struct Held {
    Item item;
    absl::Time since;
    bool cancelled = false;
  };

  absl::Status CheckLocked(const std::string& caller, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int CancelOverdueLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t most_;
  const int64_t most_of_caller_;
  std::atomic<bool> short_ = false;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> cancelled_ = 0;
  mutable absl::Mutex mutex_;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, int64_t> bytes_of_caller_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const void*, Held> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace foretoken::guard

#endif  // FORETOKEN_SERVER_GUARD_HELD_BYTES_H_

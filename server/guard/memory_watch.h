// Keeps the process below a stated amount of memory. Looks at its resident memory 50 times a second, and as that nears
// the limit:
//
//   from kMeasure   it notes what each connection receives, so that the heaviest is known later.
//   from kShort     it refuses large calls and new connections, and ends calls whose caller does not read.
//   from kCut       it ends the connection that sent most since the last look, one every 100 ms.
//
// A process that stays at the limit for kGiveUpAfter is asked to end. Nothing else is left to do, and a supervisor
// starts it again with its memory free.
//
// The refusals hold while memory rises and for kPatience after that: memory that stays without a cause, as what gRPC
// keeps of calls that were reset, must not shut callers out for good.
//
// Freed memory is given back to the system, because the C library keeps it otherwise.
#ifndef FORETOKEN_SERVER_GUARD_MEMORY_WATCH_H_
#define FORETOKEN_SERVER_GUARD_MEMORY_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/guard/held_bytes.h"
#include "server/guard/listener.h"

namespace foretoken::guard {

// Shares of the limit. The rest is for what arrives between a look and its effect.
inline constexpr double kMeasure = 0.5;
inline constexpr double kShort = 0.65;
inline constexpr double kRelieved = 0.55;
inline constexpr double kCut = 0.7;
inline constexpr absl::Duration kPatience = absl::Seconds(5);
inline constexpr absl::Duration kGiveUpAfter = absl::Seconds(1);

// Resident memory of this process, bytes; 0 where /proc does not tell.
int64_t ResidentBytes();

class MemoryWatch {
 public:
  // Tells what happened: an event's name and its detail.
  using Tell = std::function<void(std::string_view event, const std::string& detail)>;

  struct Options {
    int64_t limit_bytes = int64_t{1} << 30;
    HeldBytes* held = nullptr;
    Listener* listener = nullptr;  // null: no connection is ended
    Tell tell = [](std::string_view, const std::string&) {};
    std::function<void()> give_up = [] {};  // called once
  };

  explicit MemoryWatch(Options options) : options_(std::move(options)) {}
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Looks from now on, on a thread of its own. REQUIRES: called once.
  void Start();

  // One look at a time, in order, for tests; Start's thread does the same.
  void Look(int64_t resident_bytes, absl::Time now);

  bool is_short() const { return short_; }
  uint64_t cut_connections() const { return cut_; }
  int64_t limit_bytes() const { return options_.limit_bytes; }

 private:
  bool Above(int64_t resident, double share) const;
  // Whether memory is short and rose lately.
  bool Rises(int64_t resident, absl::Time now);
  void SetShort(bool is_short, int64_t resident);
  void Cut(int64_t resident, absl::Time now);
  void GiveUp(int64_t resident, absl::Time now);
  void Trim(int64_t resident, absl::Time now);

  const Options options_;
  std::atomic<bool> short_ = false;
  std::atomic<uint64_t> cut_ = 0;
  int64_t highest_ = 0;  // resident, since it was last below kRelieved
  absl::Time rose_ = absl::InfinitePast();
  absl::Time below_limit_ = absl::InfiniteFuture();  // when it last was
  bool gave_up_ = false;
  int64_t free_bytes_ = 0;                     // of the heap, the least since the last trim
  absl::Time trimmed_ = absl::InfinitePast();  // or looked whether to
  absl::Time cut_at_ = absl::InfinitePast();
  absl::Time measured_ = absl::InfinitePast();
  absl::Notification end_;
  std::thread thread_;
};

}  // namespace foretoken::guard

#endif  // FORETOKEN_SERVER_GUARD_MEMORY_WATCH_H_

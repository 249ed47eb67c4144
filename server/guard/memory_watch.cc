#include "server/guard/memory_watch.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace foretoken::guard {
namespace {

constexpr auto kLookInterval = absl::Milliseconds(20);
constexpr auto kMeasureInterval = absl::Milliseconds(100);
// A connection that was ended needs some time until its memory is free: without a pause the next would follow it.
constexpr auto kCutInterval = absl::Milliseconds(100);
// Of a connection since it was measured, so that one which sends little is never ended for others' floods.
constexpr int64_t kLeastCutBytes = 64 << 10;
// Giving memory back takes milliseconds, in which threads that allocate may wait.
constexpr auto kTrimInterval = absl::Seconds(5);
constexpr auto kTrimIntervalWhenShort = absl::Milliseconds(200);
constexpr int64_t kWorthTrimming = 32 << 20;
constexpr int64_t kSmall = 64 << 20;  // twice an idle server: nothing to gain

}  // namespace

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  static const int64_t page = sysconf(_SC_PAGESIZE);
  return file >> size >> resident ? resident * page : 0;
}

MemoryWatch::~MemoryWatch() {
  if (!thread_.joinable()) return;
  end_.Notify();
  thread_.join();
}

void MemoryWatch::Start() {
  thread_ = std::thread([this] {
    while (!end_.WaitForNotificationWithTimeout(kLookInterval)) Look(ResidentBytes(), absl::Now());
  });
}

bool MemoryWatch::Above(int64_t resident, double share) const {
  return static_cast<double>(resident) >= share * static_cast<double>(options_.limit_bytes);
}

bool MemoryWatch::Rises(int64_t resident, absl::Time now) {
  if (!Above(resident, kRelieved)) highest_ = 0;
  if (Above(resident, kShort) && resident > highest_ + options_.limit_bytes / 100) {
    highest_ = resident;
    rose_ = now;
  }
  return now - rose_ < kPatience;
}

void MemoryWatch::SetShort(bool is_short, int64_t resident) {
  short_ = is_short;
  options_.held->SetShort(is_short);
  if (options_.listener != nullptr) options_.listener->SetShort(is_short);
  options_.tell(is_short ? "memory_short" : "memory_relieved",
                absl::StrCat(resident, " bytes; limit ", options_.limit_bytes));
}

void MemoryWatch::Look(int64_t resident, absl::Time now) {
  const bool rises = Rises(resident, now);
  if (!short_ && rises && Above(resident, kShort)) SetShort(true, resident);
  if (short_ && (!rises || !Above(resident, kRelieved))) SetShort(false, resident);
  if (short_) options_.held->CancelOverdue(now);
  if (short_ && Above(resident, kCut)) Cut(resident, now);
  GiveUp(resident, now);
  Trim(resident, now);
  if (options_.listener == nullptr || !Above(resident, kMeasure) || now - measured_ < kMeasureInterval) return;
  options_.listener->Measure();
  measured_ = now;
}

void MemoryWatch::Cut(int64_t resident, absl::Time now) {
  if (options_.listener == nullptr || now - cut_at_ < kCutInterval) return;
  const std::string host = options_.listener->CutHeaviest(kLeastCutBytes);
  if (host.empty()) return;
  cut_at_ = now;
  ++cut_;
  options_.tell("connection_cut", absl::StrCat(host, " sent most while memory was at ", resident, " bytes; limit ",
                                               options_.limit_bytes));
}

void MemoryWatch::GiveUp(int64_t resident, absl::Time now) {
  if (!Above(resident, 1)) below_limit_ = now;
  if (gave_up_ || now - below_limit_ < kGiveUpAfter) return;
  gave_up_ = true;
  options_.tell("memory_exhausted", absl::StrCat(resident, " bytes; limit ", options_.limit_bytes));
  options_.give_up();
}

void MemoryWatch::Trim(int64_t resident, absl::Time now) {
  const absl::Duration interval = short_ ? kTrimIntervalWhenShort : kTrimInterval;
  if (now - trimmed_ < interval || resident < kSmall) return;
  trimmed_ = now;
  const auto free_bytes = static_cast<int64_t>(mallinfo2().fordblks);  // counts what was given back, too
  free_bytes_ = std::min(free_bytes_, free_bytes);
  if (free_bytes < free_bytes_ + kWorthTrimming) return;
  malloc_trim(0);
  free_bytes_ = free_bytes;
}

}  // namespace foretoken::guard

#include "server/guard/held_bytes.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace foretoken::guard {

absl::Status HeldBytes::CheckLocked(const std::string& caller, absl::Time now) {
  const auto of_caller = bytes_of_caller_.find(caller);
  const int64_t callers = of_caller == bytes_of_caller_.end() ? 0 : of_caller->second;
  const bool full = bytes_ >= most_ || callers >= most_of_caller_;
  if (!full && !short_) return absl::OkStatus();
  CancelOverdueLocked(now);
  ++refused_;
  if (!full) return absl::ResourceExhaustedError("the server is short of memory and takes on no large call; try again");
  return absl::ResourceExhaustedError(absl::StrCat("replies and sweeps of ", callers, " bytes wait for ", caller, ", ",
                                                   bytes_, " for all callers; allowed ", most_of_caller_, " and ",
                                                   most_, "; read them, then try again"));
}

int HeldBytes::CancelOverdueLocked(absl::Time now) {
  int ended = 0;
  for (auto& [call, held] : held_) {
    if (held.cancelled || now - held.since < held.item.patience) continue;
    held.cancelled = true;
    held.item.cancel();
    ++ended;
  }
  cancelled_ += static_cast<uint64_t>(ended);
  return ended;
}

absl::Status HeldBytes::Check(const std::string& caller, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return CheckLocked(caller, now);
}

absl::Status HeldBytes::Hold(Item item, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = CheckLocked(item.caller, now); !status.ok()) return status;
  bytes_ += item.bytes;
  bytes_of_caller_[item.caller] += item.bytes;
  const void* const call = item.call;
  const auto [held, added] = held_.try_emplace(call, Held{item, now});
  if (!added) held->second.item.bytes += item.bytes;
  return absl::OkStatus();
}

void HeldBytes::Release(const void* call) {
  absl::MutexLock lock(&mutex_);
  const auto found = held_.find(call);
  if (found == held_.end()) return;
  const Item& item = found->second.item;
  bytes_ -= item.bytes;
  const auto caller = bytes_of_caller_.find(item.caller);
  caller->second -= item.bytes;
  if (caller->second == 0) bytes_of_caller_.erase(caller);
  held_.erase(found);
}

int HeldBytes::CancelOverdue(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  return CancelOverdueLocked(now);
}

int64_t HeldBytes::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace foretoken::guard

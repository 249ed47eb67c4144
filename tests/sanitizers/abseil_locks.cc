// Tells ThreadSanitizer of Abseil's locks. The system's Abseil is compiled without the sanitizer, which therefore does
// not see that an absl::Mutex orders two threads, and would report all that such a lock guards, in gRPC too.
//
// This library stands before Abseil's in the order in which a program's functions are looked up. Each function here
// tells the sanitizer which thread was before which, and calls Abseil's own. It tells nothing of cycles of locks,
// because Abseil itself finds those and ends the program.
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/sanitizers/own_function.h"

namespace {

// A condition runs with the lock held, on whatever thread lets go of it.
struct Watched {
  absl::Mutex* mutex;
  const absl::Condition* condition;

  static bool Holds(Watched* watched) {
    __tsan_acquire(watched->mutex);
    const bool holds = watched->condition->Eval();
    __tsan_release(watched->mutex);
    return holds;
  }
};

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

using foretoken::Own;

void Mutex::Lock() {
  static auto* const own = Own<void(Mutex*)>("_ZN4absl@5Mutex4LockEv");
  own(this);
  __tsan_acquire(this);
}

void Mutex::ReaderLock() {
  static auto* const own = Own<void(Mutex*)>("_ZN4absl@5Mutex10ReaderLockEv");
  own(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  static auto* const own = Own<bool(Mutex*)>("_ZN4absl@5Mutex7TryLockEv");
  const bool locked = own(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

bool Mutex::ReaderTryLock() {
  static auto* const own = Own<bool(Mutex*)>("_ZN4absl@5Mutex13ReaderTryLockEv");
  const bool locked = own(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  static auto* const own = Own<void(Mutex*)>("_ZN4absl@5Mutex6UnlockEv");
  __tsan_release(this);
  own(this);
}

void Mutex::ReaderUnlock() {
  static auto* const own = Own<void(Mutex*)>("_ZN4absl@5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  own(this);
}

void Mutex::Await(const Condition& condition) {
  static auto* const own = Own<void(Mutex*, const Condition&)>("_ZN4absl@5Mutex5AwaitERKNS0_9ConditionE");
  Watched watched{this, &condition};
  __tsan_release(this);
  own(this, Condition(&Watched::Holds, &watched));
  __tsan_acquire(this);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const own = Own<bool(Mutex*, const Condition&, Duration)>(
      "_ZN4absl@5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Watched watched{this, &condition};
  __tsan_release(this);
  const bool holds = own(this, Condition(&Watched::Holds, &watched), timeout);
  __tsan_acquire(this);
  return holds;
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const own =
      Own<bool(Mutex*, const Condition&, Time)>("_ZN4absl@5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  Watched watched{this, &condition};
  __tsan_release(this);
  const bool holds = own(this, Condition(&Watched::Holds, &watched), deadline);
  __tsan_acquire(this);
  return holds;
}

void Mutex::LockWhen(const Condition& condition) {
  static auto* const own = Own<void(Mutex*, const Condition&)>("_ZN4absl@5Mutex8LockWhenERKNS0_9ConditionE");
  Watched watched{this, &condition};
  own(this, Condition(&Watched::Holds, &watched));
  __tsan_acquire(this);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const own = Own<bool(Mutex*, const Condition&, Duration)>(
      "_ZN4absl@5Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  Watched watched{this, &condition};
  const bool holds = own(this, Condition(&Watched::Holds, &watched), timeout);
  __tsan_acquire(this);
  return holds;
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static auto* const own =
      Own<bool(Mutex*, const Condition&, Time)>("_ZN4absl@5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  Watched watched{this, &condition};
  const bool holds = own(this, Condition(&Watched::Holds, &watched), deadline);
  __tsan_acquire(this);
  return holds;
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const own = Own<void(CondVar*, Mutex*)>("_ZN4absl@7CondVar4WaitEPNS0_5MutexE");
  __tsan_release(mutex);
  own(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const own =
      Own<bool(CondVar*, Mutex*, Duration)>("_ZN4absl@7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  __tsan_release(mutex);
  const bool timed_out = own(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const own =
      Own<bool(CondVar*, Mutex*, Time)>("_ZN4absl@7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  __tsan_release(mutex);
  const bool timed_out = own(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

// HasBeenNotified reads this member without a call.
void Notification::Notify() {
  static auto* const own = Own<void(Notification*)>("_ZN4absl@12Notification6NotifyEv");
  __tsan_release(&notified_yet_);
  own(this);
}

void Notification::WaitForNotification() const {
  static auto* const own = Own<void(const Notification*)>("_ZNK4absl@12Notification19WaitForNotificationEv");
  own(this);
  __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  static auto* const own = Own<bool(const Notification*, Duration)>(
      "_ZNK4absl@12Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = own(this, timeout);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  static auto* const own =
      Own<bool(const Notification*, Time)>("_ZNK4absl@12Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
  const bool notified = own(this, deadline);
  if (notified) __tsan_acquire(const_cast<std::atomic<bool>*>(&notified_yet_));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  static auto* const own = Own<bool(BlockingCounter*)>("_ZN4absl@15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  return own(this);
}

void BlockingCounter::Wait() {
  static auto* const own = Own<void(BlockingCounter*)>("_ZN4absl@15BlockingCounter4WaitEv");
  own(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl

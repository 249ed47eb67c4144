#include "server/catalog/catalog.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/entries/entry_kind.h"
#include "server/catalog/store/store_fault.h"

namespace foretoken::catalog {
namespace {

// How long a store may take to list changes up to a revision that it has; after that all of the store is read.
constexpr absl::Duration kChangesTimeout = absl::Seconds(1);
// How long Refresh asks for the store's revision: shorter than kStaleAfter, so that a silent store is noticed in time.
constexpr absl::Duration kRefreshTimeout = absl::Seconds(2);

// Generations are drawn from one counter, so that no two snapshots of any catalog share one.
uint64_t NextGeneration() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Catalog::Catalog(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock)
    : clock_(std::move(clock)), overlay_(std::move(bundle)), store_(std::move(store)) {
  store_->OnChange([this] { Wake(); });
}

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::Open(Bundle bundle, std::unique_ptr<CatalogStore> store,
                                                       Clock clock) {
  auto catalog = std::unique_ptr<Catalog>(new Catalog(std::move(bundle), std::move(store), std::move(clock)));
  {
    absl::MutexLock lock(&catalog->state_mutex_);
    catalog->Publish();  // never null, whatever the store says
  }
  if (absl::Status status = catalog->Agree(true, absl::InfiniteFuture()); !status.ok()) return status;
  return catalog;
}

std::shared_ptr<const Snapshot> Catalog::Current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

std::shared_ptr<const Snapshot> Catalog::snapshot() const {
  struct Cached {
    uint64_t generation = 0;
    std::shared_ptr<const Snapshot> snapshot;
  };
  thread_local Cached cached;
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (cached.generation != generation) cached = {generation, Current()};
  return cached.snapshot;
}

int64_t Catalog::Revision() const {
  absl::MutexLock lock(&state_mutex_);
  return overlay_.revision();
}

CatalogStatus Catalog::status() const {
  absl::MutexLock lock(&state_mutex_);
  CatalogStatus status = status_;
  for (const auto& [name, skipped] : overlay_.skipped()) status.skipped.push_back(skipped);
  return status;
}

void Catalog::Publish() {
  std::shared_ptr<const Snapshot> next = overlay_.MakeSnapshot();
  if (status_.stale) {
    v1::CatalogRevision revision = next->revision();
    revision.mutable_stale_since()->set_seconds(absl::ToUnixSeconds(status_.agreed));
    next = next->WithRevision(std::move(revision));
  }
  absl::MutexLock lock(&mutex_);
  current_.swap(next);
  generation_.store(NextGeneration(), std::memory_order_release);
}

absl::Status Catalog::ReadWhole() {
  const int64_t before = Revision();
  absl::StatusOr<StoreContents> contents = store_->ReadAll();
  if (!contents.ok()) return contents.status();
  absl::MutexLock lock(&state_mutex_);
  full_reading_ = clock_();
  ++status_.full_readings;
  // A write that came meanwhile may be newer than what was read. Less than what was known before is another case: the
  // store was put back to a backup, and is right.
  if (contents->revision >= before && contents->revision < overlay_.revision()) return absl::OkStatus();
  if (overlay_.Reset(*std::move(contents))) Publish();
  return absl::OkStatus();
}

absl::Status Catalog::Follow(int64_t reach) {
  const int64_t after = Revision();
  if (after == reach) return absl::OkStatus();
  if (after > reach) return ReadWhole();  // the store was put back
  auto changes = store_->ReadChanges(after, reach, absl::Now() + kChangesTimeout);
  if (!changes.ok()) return changes.status();
  if (!*changes) return ReadWhole();
  absl::MutexLock lock(&state_mutex_);
  const int64_t known = overlay_.revision();
  // Others may have followed meanwhile, as far or farther.
  if (known < after || (*changes)->revision <= known) return absl::OkStatus();
  if (overlay_.Apply(**std::move(changes), known)) Publish();
  return absl::OkStatus();
}

absl::Status Catalog::Agree(bool full, absl::Time deadline) {
  const absl::Time began = clock_();
  absl::Status status;
  if (full) {
    status = ReadWhole();
  } else {
    const absl::StatusOr<int64_t> revision = store_->ReadRevision(deadline);
    status = revision.ok() ? Follow(*revision) : revision.status();
  }
  absl::MutexLock lock(&state_mutex_);
  if (status.ok()) {
    status_.agreed = std::max(status_.agreed, began);
  } else {
    ++status_.errors;
    status_.last_error = TextInside(status);
    status_.last_error_time = clock_();
  }
  const bool stale = clock_() - status_.agreed > kStaleAfter;
  if (std::exchange(status_.stale, stale) != stale) Publish();
  return status;
}

absl::Status Catalog::CatchUp(absl::Time deadline) { return WithOutcome(Agree(false, deadline), kNothingWritten); }

bool Catalog::FullReadingIsDue() const {
  absl::MutexLock lock(&state_mutex_);
  return clock_() - full_reading_ >= kFullReadingInterval;
}

absl::Status Catalog::Refresh() { return Agree(FullReadingIsDue(), absl::Now() + kRefreshTimeout); }

void Catalog::WaitForChange(absl::Duration timeout) {
  absl::MutexLock lock(&changed_mutex_);
  changed_mutex_.AwaitWithTimeout(absl::Condition(&changed_), timeout);
  changed_ = false;
}

void Catalog::Wake() {
  absl::MutexLock lock(&changed_mutex_);
  changed_ = true;
}

}  // namespace foretoken::catalog

// A catalog of one bundled entry over a store that the test holds, at a time that it sets; and stores that misbehave.
#ifndef FORETOKEN_TESTS_CATALOG_CATALOG_FIXTURE_H_
#define FORETOKEN_TESTS_CATALOG_CATALOG_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/catalog/catalog.h"
#include "server/catalog/store/memory_store.h"

namespace foretoken::catalog {

inline const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// A store whose owner is the test, so that two catalogs can share it.
class SharedStore : public CatalogStore {
 public:
  explicit SharedStore(CatalogStore& store) : store_(store) {}
  std::string_view kind() const override { return "shared"; }
  absl::StatusOr<StoreContents> ReadAll() override {
    if (!fault.ok()) return fault;
    return store_.ReadAll();
  }
  absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) override {
    if (!fault.ok()) return fault;
    return store_.ReadRevision(deadline);
  }
  absl::StatusOr<std::optional<StoreChanges>> ReadChanges(int64_t after, int64_t reach, absl::Time deadline) override {
    if (!fault.ok()) return fault;
    if (forgetful) return std::nullopt;
    return store_.ReadChanges(after, reach, deadline);
  }
  absl::StatusOr<std::vector<StoredRevision>> ReadHistory(EntryKind kind, const std::string& id) override {
    return store_.ReadHistory(kind, id);
  }
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override { return store_.Write(write); }

  absl::Status fault;      // what every reading answers
  bool forgetful = false;  // no change is told, as after a compaction

 private:
  CatalogStore& store_;
};

// One store, then another in its place, as after a backup was restored.
class SwitchedStore : public SharedStore {
 public:
  SwitchedStore(CatalogStore& store, CatalogStore& backup) : SharedStore(store), backup_(backup) {}
  absl::StatusOr<StoreContents> ReadAll() override { return to_backup ? backup_.ReadAll() : SharedStore::ReadAll(); }
  absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) override {
    return to_backup ? backup_.ReadRevision(deadline) : SharedStore::ReadRevision(deadline);
  }
  bool to_backup = false;

 private:
  CatalogStore& backup_;
};

// A store whose write does not return until the test lets it, as one that waits for another process's lock.
class SlowStore : public SharedStore {
 public:
  using SharedStore::SharedStore;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override {
    writing.Notify();
    go_on.WaitForNotification();
    return SharedStore::Write(write);
  }
  absl::Notification writing, go_on;
};

inline v1::HardwareSpec Hardware(const std::string& id, double bandwidth) {
  v1::HardwareSpec spec;
  spec.set_id(id);
  spec.set_memory_bandwidth_bytes_per_second(bandwidth);
  return spec;
}

inline Bundle OneEntry() {
  return *ParseBundle({{"hardware/chip-a.textproto",
                        "id: \"chip-a\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"}});
}

class CatalogTest : public testing::Test {
 protected:
  std::unique_ptr<Catalog> Open(SharedStore** store = nullptr) {
    auto owned = std::make_unique<SharedStore>(store_);
    if (store != nullptr) *store = owned.get();
    return *Catalog::Open(OneEntry(), std::move(owned), [this] { return now_; });
  }
  static double Bandwidth(const Catalog& catalog, const std::string& id) {
    const auto record = catalog.snapshot()->FindHardware(id, "hardware_id");
    return record.ok() ? (*record)->hardware.memory_bandwidth->value() : 0;
  }
  static v1::EntryOrigin Origin(const Catalog& catalog, const std::string& id) {
    return (*catalog.snapshot()->FindHardware(id, "hardware_id"))->entry.origin();
  }

  absl::Time now_ = kNow;
  MemoryStore store_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_TESTS_CATALOG_CATALOG_FIXTURE_H_

// A store of the kind that the parameter names: "memory", "sqlite" or "etcd".
#ifndef FORETOKEN_TESTS_CATALOG_STORE_FIXTURE_H_
#define FORETOKEN_TESTS_CATALOG_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/store.h"
#include "server/catalog/store/store_factory.h"
#include "tests/catalog/etcd_server.h"
#include "tests/catalog/temporary_folder.h"

namespace foretoken::catalog {

inline const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

inline StoreWrite Put(const std::string& id, const std::string& value) {
  return {.kind = EntryKind::kHardware, .id = id, .value = value, .now = kNow};
}

inline StoreWrite Erase(const std::string& id) {
  return {.kind = EntryKind::kHardware, .id = id, .value = {}, .action = WriteAction::kDelete, .now = kNow};
}

// One etcd for all tests of the process; each has a prefix of its own.
inline EtcdServer& Etcd() {
  static EtcdServer server;
  return server;
}

class StoreTest : public testing::TestWithParam<const char*> {
 protected:
  StoreTest() { store_ = Open(); }
  // The same store once more, as another process would; a memory store is another one.
  std::unique_ptr<CatalogStore> Open() {
    const std::string kind = GetParam();
    std::string name = "memory:";
    if (kind == "sqlite") name = "sqlite:" + folder_.File("state/catalog.db");
    if (kind == "etcd") name = "etcd:" + Etcd().address() + folder_.File("");
    auto store = *OpenStore(name);
    store->OnChange([this] { ++changed_; });
    EXPECT_TRUE(store->ReadAll().ok());  // a catalog begins so
    return store;
  }
  Reason ReasonOf(const StoreWrite& write) { return DetailOf(store_->Write(write).status()).reason; }
  StoreChanges ChangesAfter(CatalogStore& store, int64_t after, int64_t reach) {
    const auto changes = *store.ReadChanges(after, reach, absl::Now() + absl::Seconds(10));
    EXPECT_TRUE(changes.has_value());
    return changes.value_or(StoreChanges{});
  }

  TemporaryFolder folder_;
  std::atomic<int> changed_{0};
  std::unique_ptr<CatalogStore> store_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_TESTS_CATALOG_STORE_FIXTURE_H_

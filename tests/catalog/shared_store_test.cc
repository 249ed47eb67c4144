// What two processes on one store promise each other.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/catalog/store_fixture.h"

namespace foretoken::catalog {
namespace {

using SharedStoreTest = StoreTest;

TEST_P(SharedStoreTest, EachSeesWhatTheOtherWrites) {
  const auto other = Open();
  const int64_t written = store_->Write(Put("a", "1"))->revision;
  EXPECT_EQ(*other->ReadRevision(absl::InfiniteFuture()), written);
  const StoreChanges changes = ChangesAfter(*other, 0, written);
  ASSERT_EQ(changes.entries.size(), 1u);
  EXPECT_EQ(changes.entries[0].value, "1");
}

TEST_P(SharedStoreTest, EtagsAndRequestIdsHoldAcrossBoth) {
  const auto other = Open();
  StoreWrite write = Put("a", "1");
  write.request_id = "job-7";
  const std::string etag = store_->Write(write)->etag;
  EXPECT_EQ(other->Write(write)->etag, etag);
  StoreWrite swap = Put("a", "2");
  swap.etag = etag;
  EXPECT_TRUE(other->Write(swap).ok());
  EXPECT_EQ(ReasonOf(swap), Reason::kEtagMismatch);
}

TEST_P(SharedStoreTest, NothingIsLostWhereBothWrite) {
  const auto other = Open();
  std::vector<std::thread> writers;
  for (CatalogStore* store : {store_.get(), other.get()}) {
    writers.emplace_back([store, name = store == other.get() ? "other" : "one"] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(store->Write(Put(std::string(name) + "-" + std::to_string(i), "x")).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::set<std::string> etags;
  const StoreContents contents = *other->ReadAll();
  for (const StoredEntry& entry : contents.entries) etags.insert(entry.etag);
  EXPECT_EQ(etags.size(), 40u);
}

INSTANTIATE_TEST_SUITE_P(All, SharedStoreTest, testing::Values("sqlite", "etcd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace foretoken::catalog

// What a catalog reads of its store, and what its readers see.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "estimator/base/errors.h"
#include "tests/catalog/catalog_fixture.h"

namespace foretoken::catalog {
namespace {

TEST_F(CatalogTest, AnotherProcessSeesAWriteAtItsNextRefresh) {
  const auto here = Open();
  const auto there = Open();
  ASSERT_TRUE(here->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  EXPECT_EQ(Bandwidth(*here, "chip-b"), 2e12);
  EXPECT_EQ(Bandwidth(*there, "chip-b"), 0);
  ASSERT_TRUE(there->Refresh().ok());
  EXPECT_EQ(Bandwidth(*there, "chip-b"), 2e12);
  EXPECT_EQ(there->snapshot()->revision().store_revision(), 1);
}

TEST_F(CatalogTest, RefreshTellsThatTheSnapshotIsStillGood) {
  const auto catalog = Open();
  now_ += absl::Seconds(20);
  EXPECT_EQ(catalog->status().agreed, kNow);
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(catalog->status().agreed, now_);
}

TEST_F(CatalogTest, AStoreThatIsAwayIsToldOnceTheSnapshotIsOld) {
  SharedStore* store = nullptr;
  const auto catalog = Open(&store);
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  store->fault = Refusal(Reason::kStoreUnavailable, "", "away");
  now_ += absl::Seconds(2);
  EXPECT_FALSE(catalog->Refresh().ok());
  EXPECT_FALSE(catalog->snapshot()->revision().has_stale_since());
  now_ += absl::Seconds(2);
  EXPECT_FALSE(catalog->Refresh().ok());
  EXPECT_EQ(catalog->snapshot()->revision().stale_since().seconds(), absl::ToUnixSeconds(kNow));
  EXPECT_EQ(catalog->snapshot()->revision().store_revision(), 1);
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 2e12);
  EXPECT_EQ(catalog->status().last_error, "away");
  EXPECT_EQ(catalog->status().last_error_time, now_);
  EXPECT_EQ(catalog->status().errors, 2);
  const absl::Status write = catalog->PutHardware(Hardware("chip-c", 2e12), {}).status();
  EXPECT_EQ(DetailOf(write).reason, Reason::kStoreUnavailable);
  EXPECT_EQ(write.message(), "away; nothing was written");
  store->fault = absl::OkStatus();
  EXPECT_TRUE(catalog->Refresh().ok());
  EXPECT_FALSE(catalog->snapshot()->revision().has_stale_since());
}

TEST_F(CatalogTest, AStoreThatCannotTellItsChangesIsReadInFull) {
  SharedStore* store = nullptr;
  const auto there = Open(&store);
  store->forgetful = true;
  const int64_t before = there->status().full_readings;
  ASSERT_TRUE(Open()->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  ASSERT_TRUE(there->Refresh().ok());
  EXPECT_EQ(Bandwidth(*there, "chip-b"), 2e12);
  EXPECT_EQ(there->status().full_readings, before + 1);
}

TEST_F(CatalogTest, AllOfTheStoreIsReadNowAndThen) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(catalog->status().full_readings, 1);
  now_ += Catalog::kFullReadingInterval;
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(catalog->status().full_readings, 2);
}

TEST_F(CatalogTest, AStoreThatWasPutBackToABackupIsFollowed) {
  MemoryStore backup;
  ASSERT_TRUE(backup.Write({.id = "chip-b", .value = Hardware("chip-b", 5e12).SerializeAsString(), .now = kNow}).ok());
  auto owned = std::make_unique<SwitchedStore>(store_, backup);
  SwitchedStore& switched = *owned;
  const auto catalog = *Catalog::Open(OneEntry(), std::move(owned), [this] { return now_; });
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-c", 2e12), {}).ok());
  switched.to_backup = true;
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 5e12);
  EXPECT_EQ(Bandwidth(*catalog, "chip-c"), 0);
  EXPECT_EQ(catalog->snapshot()->revision().store_revision(), 1);
}

TEST_F(CatalogTest, AnEntryThatCannotBeReadIsSkippedAndNamed) {
  ASSERT_TRUE(store_.Write({.id = "broken", .value = "\xff\xff not a spec", .now = kNow}).ok());
  ASSERT_TRUE(store_.Write({.id = "other", .value = Hardware("mismatch", 1).SerializeAsString(), .now = kNow}).ok());
  const auto catalog = Open();
  const std::vector<v1::SkippedEntry> skipped = catalog->status().skipped;
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_EQ(skipped[0].name(), "hardware/broken");
  EXPECT_EQ(skipped[0].store_revision(), 1);
  EXPECT_EQ(skipped[1].reason(), "holds an entry of id \"mismatch\"");
  EXPECT_EQ(catalog->snapshot()->hardware().size(), 1u);
}

// Readers never see a snapshot that is half of one write and half of another, and see a thread's own writes.
TEST_F(CatalogTest, ReadersAndWritersDoNotDisturbEachOther) {
  const auto catalog = Open();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      int64_t last = 0;
      while (!done) {
        const int64_t revision = catalog->snapshot()->revision().store_revision();
        EXPECT_GE(revision, last);
        last = revision;
      }
    });
  }
  for (int i = 1; i <= 50; ++i) {
    ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", i), {.etag = "*"}).ok());
    EXPECT_EQ(Bandwidth(*catalog, "chip-b"), i);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(CatalogTest, TwoCatalogsInOneThreadKeepTheirOwnSnapshots) {
  MemoryStore empty;
  const auto one = Open();
  const auto two = *Catalog::Open({}, std::make_unique<SharedStore>(empty), [] { return kNow; });
  EXPECT_EQ(one->snapshot()->hardware().size(), 1u);
  EXPECT_EQ(two->snapshot()->hardware().size(), 0u);
  EXPECT_EQ(one->snapshot()->hardware().size(), 1u);
}

TEST_F(CatalogTest, ReadersDoNotWaitForASlowStore) {
  auto owned = std::make_unique<SlowStore>(store_);
  SlowStore& slow = *owned;
  const auto catalog = *Catalog::Open(OneEntry(), std::move(owned), [this] { return now_; });
  std::thread writer([&] { EXPECT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {}).ok()); });
  slow.writing.WaitForNotification();
  absl::Notification read;
  std::thread reader([&] {  // a thread that has never read has nothing cached
    catalog->snapshot();
    read.Notify();
  });
  EXPECT_TRUE(read.WaitForNotificationWithTimeout(absl::Seconds(5)));
  slow.go_on.Notify();
  writer.join();
  reader.join();
}

}  // namespace
}  // namespace foretoken::catalog

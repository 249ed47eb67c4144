#include "server/catalog/catalog.h"

#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "estimator/errors.h"
#include "server/catalog/memory_store.h"

namespace foretoken::catalog {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// A store whose owner is the test, so that two catalogs can share it.
class SharedStore : public CatalogStore {
 public:
  explicit SharedStore(CatalogStore& store) : store_(store) {}
  absl::StatusOr<StoreContents> ReadAll() override { return store_.ReadAll(); }
  absl::StatusOr<int64_t> ReadRevision() override { return store_.ReadRevision(); }
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override { return store_.Write(write); }

 private:
  CatalogStore& store_;
};

v1::HardwareSpec Hardware(const std::string& id, double bandwidth) {
  v1::HardwareSpec spec;
  spec.set_id(id);
  spec.set_memory_bandwidth_bytes_per_second(bandwidth);
  return spec;
}

Bundle OneEntry() {
  return *ParseBundle({{"hardware/chip-a.textproto",
                        "id: \"chip-a\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"}});
}

class CatalogTest : public testing::Test {
 protected:
  std::unique_ptr<Catalog> Open() {
    return *Catalog::Open(OneEntry(), std::make_unique<SharedStore>(store_), [this] { return now_; });
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

TEST_F(CatalogTest, ARegisteredEntryShadowsABundledOneUntilItIsDeleted) {
  const auto catalog = Open();
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  const v1::HardwareEntry entry = *catalog->PutHardware(Hardware("chip-a", 2e12), {});
  EXPECT_TRUE(entry.shadows_bundled());
  EXPECT_EQ(entry.update_time().seconds(), absl::ToUnixSeconds(kNow));
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 2e12);
  EXPECT_EQ(Origin(*catalog, "chip-a"), v1::ENTRY_ORIGIN_REGISTERED);
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-a", 3e12), {}).status()).reason, Reason::kAlreadyExists);
  ASSERT_TRUE(catalog->DeleteHardware("chip-a", {}).ok());
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  EXPECT_EQ(DetailOf(catalog->DeleteHardware("chip-a", {})).reason, Reason::kBundledEntry);
  EXPECT_EQ(DetailOf(catalog->DeleteHardware("chip-b", {})).reason, Reason::kUnknownId);
}

TEST_F(CatalogTest, TheEtagOfABundledEntryStandsForIt) {
  const auto catalog = Open();
  const std::string etag = (*catalog->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  EXPECT_TRUE(catalog->PutHardware(Hardware("chip-a", 2e12), {.etag = etag}).ok());
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-a", 3e12), {.etag = etag}).status()).reason,
            Reason::kEtagMismatch);
}

TEST_F(CatalogTest, ValidateOnlyChecksEverythingAndStoresNothing) {
  const auto catalog = Open();
  EXPECT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {.validate_only = true}).ok());
  EXPECT_EQ(*store_.ReadRevision(), 0);
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 0);
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-b", 2e12), {.validate_only = true}).status()).reason,
            Reason::kAlreadyExists);
  const absl::Status invalid = catalog->PutHardware(Hardware("chip-c", -1), {.validate_only = true}).status();
  ASSERT_EQ(DetailOf(invalid).violations.size(), 1u);
  EXPECT_EQ(DetailOf(invalid).violations[0].field, "spec.memory_bandwidth_bytes_per_second");
}

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
  now_ += absl::Minutes(1);
  EXPECT_EQ(catalog->snapshot()->loaded(), kNow);
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(catalog->snapshot()->loaded(), now_);
}

TEST_F(CatalogTest, AnEntryThatCannotBeReadIsSkippedAndCounted) {
  ASSERT_TRUE(store_.Write({.id = "broken", .value = "\xff\xff not a spec", .now = kNow}).ok());
  ASSERT_TRUE(store_.Write({.id = "other", .value = Hardware("mismatch", 1).SerializeAsString(), .now = kNow}).ok());
  const auto catalog = Open();
  EXPECT_EQ(catalog->skipped_entries(), 2);
  EXPECT_EQ(catalog->snapshot()->hardware().size(), 1u);
}

TEST_F(CatalogTest, ProfilesOutliveAChangeOfTheFigures) {
  const auto catalog = Open();
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  v1::LinearProfile& profile = *spec.add_linear_profiles();
  profile.set_model_id("m");
  profile.set_prefill_tokens_per_second(1000);
  ASSERT_TRUE(catalog->PutHardware(spec, {}).ok());
  const v1::HardwareEntry entry = *catalog->PutHardware(Hardware("chip-b", 3e12), {.etag = "*"});
  EXPECT_EQ(entry.spec().linear_profiles_size(), 1);
}

TEST_F(CatalogTest, UnknownIdsComeWithTheClosest) {
  const auto catalog = Open();
  const absl::Status status = catalog->snapshot()->FindHardware("chip-q", "scenario.hardware_id").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "unknown hardware \"chip-q\"; did you mean chip-a?");
  EXPECT_EQ(DetailOf(status).violations[0].field, "scenario.hardware_id");
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

TEST_F(CatalogTest, ARefusedEtagNamesTheBundledOneWhereNothingIsRegistered) {
  const auto catalog = Open();
  const std::string bundled = (*catalog->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  const absl::Status refused = catalog->PutHardware(Hardware("chip-a", 2e12), {.etag = "r99"}).status();
  EXPECT_EQ(DetailOf(refused).reason, Reason::kEtagMismatch);
  EXPECT_EQ(DetailOf(refused).current_etag, bundled);
}

TEST_F(CatalogTest, LosingARaceForABundledEntryIsAMismatchOfEtags) {
  const auto first = Open();
  const auto second = Open();  // as another process, which has not seen the first one's write yet
  const std::string bundled = (*first->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  const std::string won = first->PutHardware(Hardware("chip-a", 2e12), {.etag = bundled})->etag();
  const absl::Status lost = second->PutHardware(Hardware("chip-a", 3e12), {.etag = bundled}).status();
  EXPECT_EQ(DetailOf(lost).reason, Reason::kEtagMismatch);
  EXPECT_EQ(DetailOf(lost).current_etag, won);
}

TEST_F(CatalogTest, LosingARaceToDeleteIsNotAboutTheBundledEntry) {
  const auto first = Open();
  ASSERT_TRUE(first->PutHardware(Hardware("chip-a", 2e12), {}).ok());
  const auto second = Open();  // as another process
  ASSERT_TRUE(first->DeleteHardware("chip-a", {}).ok());
  const absl::Status lost = second->DeleteHardware("chip-a", {});
  EXPECT_EQ(DetailOf(lost).reason, Reason::kUnknownId) << lost;
  EXPECT_EQ(lost.message(), "\"chip-a\" is not registered any more: another call has deleted it");
  // It has learned of it: what is left is the bundled one.
  EXPECT_EQ(DetailOf(second->DeleteHardware("chip-a", {})).reason, Reason::kBundledEntry);
}

TEST_F(CatalogTest, ADryRunSeesWhatAnotherProcessRegistered) {
  const auto first = Open();
  const auto second = Open();
  ASSERT_TRUE(first->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  const auto dry = second->PutHardware(Hardware("chip-b", 3e12), {.validate_only = true});
  EXPECT_EQ(DetailOf(dry.status()).reason, Reason::kAlreadyExists);
}

}  // namespace
}  // namespace foretoken::catalog

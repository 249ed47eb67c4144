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
  EXPECT_EQ(*store_.ReadRevision(absl::InfiniteFuture()), 0);
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

TEST_F(CatalogTest, AnEntryIsReadAndPutBackAsItWas) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-a", 2e12), {.author = "me"}).ok());                  // revision 1
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-a", 9e12), {.etag = "*", .author = "you"}).ok());    // revision 2
  EXPECT_EQ(catalog->HardwareAt("chip-a", 0)->origin(), v1::ENTRY_ORIGIN_BUNDLED);
  EXPECT_EQ(catalog->HardwareAt("chip-a", 1)->spec().memory_bandwidth_bytes_per_second(), 2e12);
  EXPECT_EQ(catalog->HardwareAt("chip-a", 2)->spec().memory_bandwidth_bytes_per_second(), 9e12);
  EXPECT_EQ(DetailOf(catalog->HardwareAt("chip-a", 3).status()).reason, Reason::kInvalidField);
  EXPECT_EQ(DetailOf(catalog->HardwareAt("chip-b", 2).status()).reason, Reason::kUnknownId);
  EXPECT_EQ((*catalog->RollbackHardware("chip-a", 1, {}))->spec().memory_bandwidth_bytes_per_second(), 2e12);
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 2e12);
  const auto history = *catalog->History(EntryKind::kHardware, "chip-a");
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].action, WriteAction::kRollback);
  EXPECT_EQ(history[1].author, "you");
  EXPECT_FALSE(*catalog->RollbackHardware("chip-a", 0, {})) << "nothing was registered then";
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  EXPECT_EQ(DetailOf(catalog->History(EntryKind::kHardware, "chip-b").status()).reason, Reason::kUnknownId);
}

TEST_F(CatalogTest, ARollbackHeedsItsEtag) {
  const auto catalog = Open();
  const std::string first = catalog->PutHardware(Hardware("chip-b", 2e12), {})->etag();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 9e12), {.etag = "*"}).ok());
  const absl::Status late = catalog->RollbackHardware("chip-b", 1, {.etag = first}).status();
  EXPECT_EQ(DetailOf(late).reason, Reason::kEtagMismatch);
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 9e12);
}

TEST_F(CatalogTest, ARevisionThatIsNoLongerKeptIsRefused) {
  const auto catalog = Open();
  for (int i = 1; i <= kKeptRevisions + 1; ++i) {
    ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", i), {.etag = "*"}).ok());
  }
  const absl::Status status = catalog->HardwareAt("chip-b", 1).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kRevisionNotKept);
  EXPECT_EQ(status.message(),
            "store_revision 1; the history of \"chip-b\" begins at 2: the last 10 revisions are kept");
}

TEST_F(CatalogTest, ADryRunHeedsARequestIdThatWasUsed) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {.request_id = "job", .payload_digest = "1"}).ok());
  const absl::Status other =
      catalog->PutHardware(Hardware("chip-b", 3e12), {.request_id = "job", .payload_digest = "2", .validate_only = true})
          .status();
  EXPECT_EQ(DetailOf(other).reason, Reason::kRequestIdReused);
}

// A CI job on one replica replaces what another job just registered at another replica.
TEST_F(CatalogTest, AWriteKeepsTheProfilesOfTheVersionThatItReplaces) {
  const auto here = Open();
  const auto there = Open();
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  spec.add_linear_profiles()->set_model_id("m");
  spec.mutable_linear_profiles(0)->set_prefill_tokens_per_second(1000);
  const std::string etag = here->PutHardware(spec, {})->etag();
  EXPECT_EQ(there->PutHardware(Hardware("chip-b", 3e12), {.etag = etag})->spec().linear_profiles_size(), 1);
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

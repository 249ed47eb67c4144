// What every store must do, run over each of them.
#include "server/catalog/store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "estimator/errors.h"
#include "server/catalog/memory_store.h"
#include "server/catalog/sqlite_store.h"
#include "server/catalog/store_factory.h"

namespace foretoken::catalog {
namespace {

namespace fs = std::filesystem;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// A temporary folder of one test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "foretoken-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

StoreWrite Put(const std::string& id, const std::string& value) {
  return {.kind = EntryKind::kHardware, .id = id, .value = value, .now = kNow};
}

class StoreTest : public testing::TestWithParam<const char*> {
 protected:
  StoreTest() { Open(); }
  void Open() {
    const std::string name = GetParam();
    store_ = *OpenStore(name == "memory" ? "memory:" : "sqlite:" + folder_.File("state/catalog.db"));
  }
  Reason ReasonOf(const StoreWrite& write) { return DetailOf(store_->Write(write).status()).reason; }

  TemporaryFolder folder_;
  std::unique_ptr<CatalogStore> store_;
};

TEST_P(StoreTest, KeepsWhatWasWritten) {
  EXPECT_EQ(*store_->ReadRevision(), 0);
  const StoreWriteResult written = *store_->Write(Put("a", std::string("bytes\0and more", 14)));
  EXPECT_EQ(written.revision, 1);
  const StoreContents contents = *store_->ReadAll();
  EXPECT_EQ(contents.revision, 1);
  ASSERT_EQ(contents.entries.size(), 1u);
  EXPECT_EQ(contents.entries[0].id, "a");
  EXPECT_EQ(contents.entries[0].value, std::string("bytes\0and more", 14));
  EXPECT_EQ(contents.entries[0].etag, written.etag);
  EXPECT_EQ(contents.entries[0].update_time, kNow);
}

TEST_P(StoreTest, KindsDoNotMeet) {
  StoreWrite model = Put("a", "model");
  model.kind = EntryKind::kModel;
  ASSERT_TRUE(store_->Write(Put("a", "hardware")).ok());
  ASSERT_TRUE(store_->Write(model).ok());
  EXPECT_EQ(store_->ReadAll()->entries.size(), 2u);
}

TEST_P(StoreTest, EtagsDecide) {
  const std::string first = store_->Write(Put("a", "1"))->etag;
  EXPECT_EQ(ReasonOf(Put("a", "2")), Reason::kAlreadyExists);
  StoreWrite swap = Put("a", "2");
  swap.etag = "stale";
  EXPECT_EQ(ReasonOf(swap), Reason::kEtagMismatch);
  EXPECT_EQ(DetailOf(store_->Write(swap).status()).current_etag, first);
  swap.etag = first;
  const std::string second = store_->Write(swap)->etag;
  EXPECT_NE(first, second);
  EXPECT_EQ(ReasonOf(swap), Reason::kEtagMismatch);
  StoreWrite replace = Put("a", "3");
  replace.etag = "*";
  EXPECT_TRUE(store_->Write(replace).ok());
  StoreWrite nothing = Put("b", "1");
  nothing.etag = second;
  EXPECT_EQ(ReasonOf(nothing), Reason::kEtagMismatch);
}

TEST_P(StoreTest, TheRevisionOnlyGrowsAndARefusedWriteLeavesIt) {
  ASSERT_TRUE(store_->Write(Put("a", "1")).ok());
  EXPECT_EQ(ReasonOf(Put("a", "2")), Reason::kAlreadyExists);
  EXPECT_EQ(*store_->ReadRevision(), 1);
  StoreWrite erase = Put("a", "");
  erase.value.reset();
  EXPECT_EQ(store_->Write(erase)->revision, 2);
  EXPECT_EQ(ReasonOf(erase), Reason::kUnknownId);
  EXPECT_EQ(*store_->ReadRevision(), 2);
  EXPECT_TRUE(store_->ReadAll()->entries.empty());
  EXPECT_EQ(store_->ReadAll()->revision, 2);
}

TEST_P(StoreTest, ARepeatedRequestGetsTheFirstAnswer) {
  StoreWrite write = Put("a", "1");
  write.request_id = "job-7";
  write.payload_digest = "d1";
  const StoreWriteResult first = *store_->Write(write);
  const StoreWriteResult again = *store_->Write(write);
  EXPECT_EQ(again.etag, first.etag);
  EXPECT_EQ(again.value, "1");
  EXPECT_EQ(*store_->ReadRevision(), 1);
  write.payload_digest = "d2";
  EXPECT_EQ(ReasonOf(write), Reason::kRequestIdReused);
  write.now = kNow + absl::Hours(26);  // forgotten by now
  EXPECT_EQ(ReasonOf(write), Reason::kAlreadyExists);
}

TEST_P(StoreTest, OfManyWritersWithOneEtagOneWins) {
  const std::string etag = store_->Write(Put("a", "0"))->etag;
  std::atomic<int> won{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      StoreWrite write = Put("a", std::to_string(i));
      write.etag = etag;
      const absl::Status status = store_->Write(write).status();
      if (status.ok())
        ++won;
      else
        EXPECT_EQ(DetailOf(status).reason, Reason::kEtagMismatch);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(*store_->ReadRevision(), 2);
}

INSTANTIATE_TEST_SUITE_P(All, StoreTest, testing::Values("memory", "sqlite"));

TEST(SqliteStoreTest, SurvivesReopeningWithItsRequests) {
  const TemporaryFolder folder;
  const std::string path = folder.File("c.db");
  StoreWrite write = Put("a", "1");
  write.request_id = "job-7";
  const std::string etag = (*SqliteStore::Open(path))->Write(write)->etag;
  const auto store = *SqliteStore::Open(path);
  EXPECT_EQ(store->Write(write)->etag, etag);
  EXPECT_EQ(store->ReadAll()->entries.size(), 1u);
}

TEST(SqliteStoreTest, TwoProcessesShareAFile) {
  const TemporaryFolder folder;
  const auto one = *SqliteStore::Open(folder.File("c.db"));
  const auto other = *SqliteStore::Open(folder.File("c.db"));
  std::vector<std::thread> writers;
  for (CatalogStore* store : {one.get(), other.get()}) {
    writers.emplace_back([store] {
      for (int i = 0; i < 20; ++i) {
        const std::string id = std::to_string(reinterpret_cast<uintptr_t>(store)) + "-" + std::to_string(i);
        EXPECT_TRUE(store->Write(Put(id, "x")).ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(*one->ReadRevision(), 40);
  std::set<std::string> etags;
  const StoreContents contents = *other->ReadAll();
  for (const StoredEntry& entry : contents.entries) etags.insert(entry.etag);
  EXPECT_EQ(etags.size(), 40u);
}

TEST(SqliteStoreTest, AFileOfANewerProgramIsRefused) {
  const TemporaryFolder folder;
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
  ASSERT_TRUE(database.Execute("PRAGMA user_version = 99").ok());
  const absl::Status status = SqliteStore::Open(folder.File("c.db")).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_NE(status.message().find("version 99 of a newer program"), absl::string_view::npos) << status;
}

TEST(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("c.db")) << std::string(4096, 'x');
  EXPECT_EQ(DetailOf(SqliteStore::Open(folder.File("c.db")).status()).reason, Reason::kStoreUnavailable);
}

TEST(OpenStoreTest, NamesWhatIsAllowed) {
  const absl::Status status = OpenStore("redis:localhost").status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kInvalidField);
  EXPECT_EQ(status.message(), "catalog_store \"redis:localhost\"; allowed: sqlite:PATH, memory:");
}

}  // namespace
}  // namespace foretoken::catalog

// What is particular to the SQLite store: its file.
#include "server/catalog/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "tests/catalog/temporary_folder.h"

namespace foretoken::catalog {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

StoreWrite Put(const std::string& id, const std::string& value) {
  return {.kind = EntryKind::kHardware, .id = id, .value = value, .now = kNow};
}

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

TEST(SqliteStoreTest, AFileOfANewerProgramIsRefused) {
  const TemporaryFolder folder;
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
  ASSERT_TRUE(database.Execute("PRAGMA user_version = 99").ok());
  const absl::Status status = SqliteStore::Open(folder.File("c.db")).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_NE(status.message().find("version 99 of a newer program"), absl::string_view::npos) << status;
}

void ExpectOutOfPlace(SqliteStore& store) {
  for (const absl::Status& status :
       {store.Write(Put("b", "2")).status(), store.ReadRevision(absl::InfiniteFuture()).status(),
        store.ReadAll().status(), store.ReadChanges(0, 0, absl::InfiniteFuture()).status(),
        store.ReadHistory(EntryKind::kHardware, "a").status()}) {
    EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("was removed or replaced while it was open"));
  }
  EXPECT_THAT(std::string(store.Write(Put("b", "2")).status().message()), EndsWith("; nothing was written"));
}

TEST(SqliteStoreTest, AFileThatWasRemovedIsWrittenAndReadNoMore) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  ASSERT_TRUE(store->Write(Put("a", "1")).ok());
  std::filesystem::remove(folder.File("c.db"));
  ExpectOutOfPlace(*store);
}

TEST(SqliteStoreTest, AFileThatWasReplacedIsWrittenAndReadNoMore) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  ASSERT_TRUE((*SqliteStore::Open(folder.File("other.db")))->Write(Put("a", "1")).ok());
  std::filesystem::rename(folder.File("other.db"), folder.File("c.db"));
  ExpectOutOfPlace(*store);
}

TEST(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("c.db")) << std::string(4096, 'x');
  EXPECT_EQ(DetailOf(SqliteStore::Open(folder.File("c.db")).status()).reason, Reason::kStoreUnavailable);
}

TEST(SqliteStoreTest, AFileOfAnotherProgramIsRefusedAndLeftAlone) {
  const TemporaryFolder folder;
  {
    auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
    ASSERT_TRUE(database.Execute("CREATE TABLE photos(name TEXT)").ok());
  }
  const absl::Status status = SqliteStore::Open(folder.File("c.db")).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("database of another program"));
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
  EXPECT_EQ(*database.OneNumber("SELECT count(*) FROM sqlite_master"), 1);
}

TEST(SqliteStoreTest, AFileOfVersion1IsBroughtUpToDate) {
  const TemporaryFolder folder;
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
  ASSERT_TRUE(database
                  .Execute(R"(
CREATE TABLE revision(only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision INTEGER NOT NULL);
INSERT INTO revision VALUES(1, 7);
CREATE TABLE entries(
  kind INTEGER NOT NULL, id TEXT NOT NULL, value BLOB NOT NULL, etag TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, PRIMARY KEY(kind, id)) WITHOUT ROWID;
INSERT INTO entries VALUES(0, 'a', x'31', 'r5', 5, 1700000000000000);
CREATE TABLE requests(
  request_id TEXT PRIMARY KEY, payload_digest TEXT NOT NULL, etag TEXT NOT NULL, revision INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO requests VALUES('job-7', 'd', 'r5', 5, 1700000000000000, x'31');
CREATE INDEX requests_by_time ON requests(update_time_us);
PRAGMA user_version = 1;)")
                  .ok());
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  EXPECT_EQ(*store->ReadRevision(absl::InfiniteFuture()), 7);
  EXPECT_EQ(store->ReadAll()->entries[0].value, "1");
  EXPECT_EQ(store->ReadHistory(EntryKind::kHardware, "a")->at(0).revision, 5);
  StoreWrite again = Put("a", "1");
  again.request_id = "job-7";
  again.payload_digest = "d";
  EXPECT_EQ(store->Write(again)->revision, 5);
  EXPECT_EQ(store->Write(Put("b", "1"))->revision, 8);
}

TEST(SqliteStoreTest, ALockedFileIsNamedInTimeAndReadsGoOn) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  ASSERT_TRUE(store->Write(Put("a", "1")).ok());
  auto holder = *SqliteDatabase::Open(folder.File("c.db"), 100);
  ASSERT_TRUE(holder.Execute("BEGIN IMMEDIATE").ok());
  StoreWrite write = Put("b", "1");
  const absl::Time began = absl::Now();
  write.deadline = began + absl::Milliseconds(300);
  const absl::Status status = store->Write(write).status();
  EXPECT_LT(absl::Now() - began, absl::Seconds(3));
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("database is locked (another process holds its lock)"));
  EXPECT_THAT(std::string(status.message()), EndsWith(kNothingWritten));
  EXPECT_EQ(store->ReadAll()->entries.size(), 1u);
  ASSERT_TRUE(holder.Execute("ROLLBACK").ok());
  EXPECT_TRUE(store->Write(Put("b", "1")).ok());
}

// A write is several statements. Where a later one fails, nothing of the earlier ones stays: not the entry, not the
// revision, not the request_id.
TEST(SqliteStoreTest, AWriteThatFailsHalfwayLeavesNothing) {
  const char* const tables[] = {"entries", "history", "requests"};
  for (const char* table : tables) {
    const TemporaryFolder folder;
    const auto store = *SqliteStore::Open(folder.File("c.db"));
    ASSERT_TRUE(store->Write(Put("a", "1")).ok());
    auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
    const std::string trigger =
        std::string("CREATE TRIGGER fails AFTER INSERT ON ") + table + " BEGIN SELECT RAISE(FAIL, 'halfway'); END";
    ASSERT_TRUE(database.Execute(trigger).ok());
    StoreWrite write = Put("b", "2");
    write.request_id = "job-7";
    const absl::Status status = store->Write(write).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("halfway")) << table;
    EXPECT_THAT(std::string(status.message()), EndsWith(kNothingWritten)) << table;
    EXPECT_EQ(store->ReadAll()->entries.size(), 1u) << table;
    EXPECT_EQ(*store->ReadRevision(absl::InfiniteFuture()), 1) << table;
    EXPECT_TRUE(store->ReadHistory(EntryKind::kHardware, "b")->empty()) << table;
    ASSERT_TRUE(database.Execute("DROP TRIGGER fails").ok());
    const auto again = store->Write(write);
    ASSERT_TRUE(again.ok()) << table << ": " << again.status();
    EXPECT_EQ(again->revision, 2) << table;
  }
}

TEST(SqliteStoreTest, AnEntryOfAnUnknownKindIsTold) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 100);
  ASSERT_TRUE(database.Execute("INSERT INTO entries VALUES(7, 'x', x'31', 1, 0)").ok());
  const StoreContents contents = *store->ReadAll();
  ASSERT_EQ(contents.entries.size(), 1u);
  EXPECT_EQ(contents.entries[0].kind, EntryKind::kUnknown);
  EXPECT_EQ(contents.entries[0].id, "7/x");
  EXPECT_EQ(contents.entries[0].fault, "kind 7; this program knows 0 (hardware) and 1 (model)");
}

}  // namespace
}  // namespace foretoken::catalog

// Flipped bits in what a store keeps. Whatever flips, no wrong figure is served: what is served is what was registered,
// or it is skipped and named, or the start says that the store is damaged.
//
// FORETOKEN_FLIP_STRIDE=1 flips a bit of every byte of the SQLite file; by default one of every 101 bytes is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/etcd/etcd_keys.h"
#include "server/catalog/store/etcd/record.pb.h"
#include "server/catalog/store/sqlite_store.h"
#include "tests/catalog/catalog_fixture.h"
#include "tests/catalog/temporary_folder.h"

namespace foretoken::catalog {
namespace {

constexpr int kEntries = 4;
constexpr int kRevisions = 3;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

void Save(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

double BandwidthOf(int entry, int revision) { return 1e12 + entry * 1e9 + revision * 1e6; }

std::string IdOf(int entry) { return absl::StrCat("chip-", entry); }

// Revision `revision` of entry `entry`. The last entry is larger than a page.
v1::HardwareSpec SpecOf(int entry, int revision) {
  v1::HardwareSpec spec;
  spec.set_id(IdOf(entry));
  spec.set_display_name(absl::StrCat("Chip ", entry));
  spec.set_memory_bandwidth_bytes_per_second(BandwidthOf(entry, revision));
  if (entry == kEntries - 1) {
    for (int i = 0; i < 2; ++i) spec.add_sources()->set_citation(std::string(3000, 'x'));
  }
  return spec;
}

StoreWrite WriteOf(int entry, int revision) {
  StoreWrite write{.kind = EntryKind::kHardware, .id = IdOf(entry), .now = kNow};
  write.value = SpecOf(entry, revision).SerializeAsString();
  write.etag = "*";
  write.author = "ci";
  write.peer = "ipv4:127.0.0.1:7";
  write.request_id = absl::StrCat("job-", entry, "-", revision);
  return write;
}

void Fill(CatalogStore& store) {
  for (int revision = 0; revision < kRevisions; ++revision) {
    for (int entry = 0; entry < kEntries; ++entry) ASSERT_TRUE(store.Write(WriteOf(entry, revision)).ok());
  }
}

struct Counts {
  int served = 0;   // all entries are true
  int named = 0;    // something is missing, and named
  int refused = 0;  // the start says so
};

// What of the snapshot is a lie: an entry that was never registered so, or one that is missing and nothing says why.
std::string LieOf(const Catalog& catalog) {
  const auto snapshot = catalog.snapshot();
  const bool named = !catalog.status().skipped.empty();
  int found = 0;
  for (const auto& record : snapshot->hardware()) {
    if (record->entry.origin() != v1::ENTRY_ORIGIN_REGISTERED) continue;
    int entry = 0;
    while (entry < kEntries && IdOf(entry) != record->entry.spec().id()) ++entry;
    if (entry == kEntries) return "serves " + record->entry.spec().id();
    ++found;
    if (record->entry.spec().SerializeAsString() != SpecOf(entry, kRevisions - 1).SerializeAsString()) {
      return absl::StrCat("serves ", record->entry.spec().ShortDebugString());
    }
  }
  return found < kEntries && !named ? absl::StrCat("serves ", found, " entries and names none") : "";
}

// The same of what was registered at each revision, and of the answers to repeated requests.
std::string LieOf(Catalog& catalog, CatalogStore& store) {
  const bool named = !catalog.status().skipped.empty();
  for (int write = 0; write < kEntries * kRevisions; ++write) {
    const int entry = write % kEntries, revision = write / kEntries;
    const auto then = catalog.HardwareAt(IdOf(entry), write + 1);
    const bool true_one = then.ok() && then->spec().SerializeAsString() == SpecOf(entry, revision).SerializeAsString();
    if (then.ok() && !true_one) return absl::StrCat("revision ", write + 1, " is another");
    if (absl::IsNotFound(then.status()) && !named) return absl::StrCat("revision ", write + 1, " is denied");
    const auto history = store.ReadHistory(EntryKind::kHardware, IdOf(entry));
    for (const StoredRevision& one : history.value_or(std::vector<StoredRevision>())) {
      if (one.fault.empty() && (one.author != "ci" || one.peer != "ipv4:127.0.0.1:7")) return "author";
    }
    StoreWrite again = WriteOf(entry, revision);
    again.dry_run = true;
    const auto replay = store.Write(again);
    if (replay.ok() && replay->value != again.value) return "replay";
  }
  return "";
}

// Opens the file as a server does.
std::string LieOf(const std::string& path, Counts& counts) {
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path);
  if (!store.ok()) {
    ++counts.refused;
    return DetailOf(store.status()).reason == Reason::kStoreUnavailable ? "" : "refused without a reason";
  }
  const auto catalog = Catalog::Open(OneEntry(), std::make_unique<SharedStore>(**store), [] { return kNow; });
  if (!catalog.ok()) {
    ++counts.refused;
    return "";
  }
  const bool named = !(*catalog)->status().skipped.empty();
  ++(named ? counts.named : counts.served);
  const std::string lie = LieOf(**catalog);
  return lie.empty() ? LieOf(**catalog, **store) : lie;
}

TEST(SqliteDamageTest, AFlippedBitIsNeverServed) {
  const TemporaryFolder folder;
  Fill(**SqliteStore::Open(folder.File("sound.db")));
  const std::string sound = Read(folder.File("sound.db"));
  const char* const given = std::getenv("FORETOKEN_FLIP_STRIDE");
  const size_t stride = given == nullptr ? 101 : static_cast<size_t>(std::max(1, std::atoi(given)));
  Counts counts;
  for (size_t at = 0; at < sound.size(); at += stride) {
    std::string flipped = sound;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at * 5 / 3 % 8)));
    for (const char* rest : {"-wal", "-shm"}) std::filesystem::remove(folder.File(std::string("c.db") + rest));
    Save(folder.File("c.db"), flipped);
    EXPECT_EQ(LieOf(folder.File("c.db"), counts), "") << "byte " << at;
  }
  std::printf("%zu bytes, every %zu: %d served whole, %d named, %d refused at the start\n", sound.size(), stride,
              counts.served, counts.named, counts.refused);
  EXPECT_GT(counts.served, 0);
  EXPECT_GT(counts.named, 0);
  EXPECT_GT(counts.refused, 0);
}

TEST(SqliteDamageTest, ACutFileIsNeverServed) {
  const TemporaryFolder folder;
  Fill(**SqliteStore::Open(folder.File("sound.db")));
  const std::string sound = Read(folder.File("sound.db"));
  Counts counts;
  for (size_t size = 1; size < sound.size(); size += 1021) {
    for (const char* rest : {"-wal", "-shm"}) std::filesystem::remove(folder.File(std::string("c.db") + rest));
    Save(folder.File("c.db"), sound.substr(0, size));
    EXPECT_EQ(LieOf(folder.File("c.db"), counts), "") << size << " bytes";
  }
  EXPECT_LT(counts.served, 5);  // the end of the last page is empty
}

// Changes one entry's value past the program, as a bit of the disk would: 1e12 becomes half of it.
void Corrupt(const std::string& path) {
  auto database = *SqliteDatabase::Open(path, 1000);
  v1::HardwareSpec spec = SpecOf(0, kRevisions - 1);
  spec.set_memory_bandwidth_bytes_per_second(6.17e11);
  auto update = *database.Prepare("UPDATE entries SET value = ? WHERE id = 'chip-0'");
  ASSERT_TRUE(update.BindBlob(1, spec.SerializeAsString()).Step().ok());
}

TEST(SqliteDamageTest, AWrongValueIsSkippedAndNamedAndCanBeReplaced) {
  const TemporaryFolder folder;
  Fill(**SqliteStore::Open(folder.File("c.db")));
  Corrupt(folder.File("c.db"));
  const auto catalog = *Catalog::Open(OneEntry(), *SqliteStore::Open(folder.File("c.db")), [] { return kNow; });
  EXPECT_FALSE(catalog->snapshot()->FindHardware("chip-0", "").ok());
  ASSERT_EQ(catalog->status().skipped.size(), 1u);
  EXPECT_EQ(catalog->status().skipped[0].name(), "hardware/chip-0");
  EXPECT_EQ(catalog->status().skipped[0].reason(), kChecksumDiffers);
  ASSERT_TRUE(catalog->PutHardware(SpecOf(0, 0), {.etag = "*"}).ok());
  EXPECT_TRUE(catalog->status().skipped.empty());
  EXPECT_TRUE(catalog->snapshot()->FindHardware("chip-0", "").ok());
}

// What a running server has read is true, so that it is served on; the damage is named before a restart meets it.
TEST(SqliteDamageTest, DamageUnderARunningServerIsNamedAndWhatWasReadIsServed) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  Fill(*store);
  absl::Time now = kNow;
  const auto catalog = *Catalog::Open(OneEntry(), std::make_unique<SharedStore>(*store), [&now] { return now; });
  Corrupt(folder.File("c.db"));
  now += Catalog::kFullReadingInterval;
  ASSERT_TRUE(catalog->Refresh().ok());
  EXPECT_EQ(LieOf(*catalog), "");
  ASSERT_EQ(catalog->status().skipped.size(), 1u);
  EXPECT_TRUE(absl::StrContains(catalog->status().skipped[0].reason(), "what was read before is served"));
  EXPECT_TRUE(catalog->snapshot()->FindHardware("chip-0", "").ok());
}

TEST(SqliteDamageTest, ADamagedRevisionIsNotServed) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  Fill(*store);
  const int64_t second = store->ReadHistory(EntryKind::kHardware, "chip-0")->at(1).revision;
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 1000);
  ASSERT_TRUE(database.Execute(absl::StrCat("UPDATE history SET value = x'00' WHERE revision = ", second)).ok());
  const auto catalog = *Catalog::Open(OneEntry(), std::make_unique<SharedStore>(*store), [] { return kNow; });
  EXPECT_EQ(catalog->HardwareAt("chip-0", second).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(catalog->RollbackHardware("chip-0", second, {}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(catalog->HardwareAt("chip-0", second - 1).ok());
  const std::vector<StoredRevision> history = *catalog->History(EntryKind::kHardware, "chip-0");
  ASSERT_EQ(history.size(), static_cast<size_t>(kRevisions));
  EXPECT_EQ(history[1].revision, second);
  EXPECT_FALSE(history[1].value);
}

// A file of the program before checksums, made from one of today's.
void ForgetChecksums(const std::string& path) {
  auto database = *SqliteDatabase::Open(path, 1000);
  ASSERT_TRUE(database
                  .Execute("DROP TRIGGER history_unchecked; DROP TRIGGER history_forgotten; "
                           "DROP TRIGGER request_forgotten; DROP INDEX entries_by_revision; "
                           "DROP INDEX requests_by_revision; DROP TABLE checksums")
                  .ok());
}

TEST(SqliteDamageTest, AFileWithoutChecksumsGetsThemAndLosesNothing) {
  const TemporaryFolder folder;
  Fill(**SqliteStore::Open(folder.File("c.db")));
  ForgetChecksums(folder.File("c.db"));
  Counts counts;
  EXPECT_EQ(LieOf(folder.File("c.db"), counts), "");
  EXPECT_EQ(counts.served, 1);
  Corrupt(folder.File("c.db"));
  EXPECT_EQ(LieOf(folder.File("c.db"), counts), "");
  EXPECT_EQ(counts.named, 1);
}

// The statements of the program before checksums, as it writes an entry.
constexpr char kOldWrite[] = R"(
BEGIN IMMEDIATE;
UPDATE store SET revision = revision + 1;
INSERT OR REPLACE INTO entries SELECT 0, 'old', x'%s', revision, 1700000000000000 FROM store;
INSERT INTO history SELECT 0, 'old', 1, revision, 1700000000000000, '', '', 1, x'%s' FROM store;
COMMIT;)";

TEST(SqliteDamageTest, AServerOfBeforeMayWriteBesideThisOne) {
  const TemporaryFolder folder;
  v1::HardwareSpec spec;
  spec.set_id("old");
  spec.set_memory_bandwidth_bytes_per_second(1e12);
  const std::string value = absl::BytesToHexString(spec.SerializeAsString());
  {
    const auto store = *SqliteStore::Open(folder.File("c.db"));
    Fill(*store);
    auto old = *SqliteDatabase::Open(folder.File("c.db"), 1000);
    ASSERT_TRUE(old.Execute(absl::StrFormat(kOldWrite, value, value)).ok());
    EXPECT_EQ(*old.OneNumber("SELECT count(*) FROM checksums WHERE entry_checksum IS NULL"), 1);
    const auto catalog = *Catalog::Open(OneEntry(), std::make_unique<SharedStore>(*store), [] { return kNow; });
    EXPECT_TRUE(catalog->snapshot()->FindHardware("old", "").ok());
    EXPECT_TRUE(catalog->status().skipped.empty());
    EXPECT_TRUE(store->Write(WriteOf(0, 1)).ok());
  }
  const auto store = *SqliteStore::Open(folder.File("c.db"));  // the next start makes the checksum
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 1000);
  EXPECT_EQ(*database.OneNumber("SELECT count(*) FROM checksums WHERE entry_checksum IS NULL"), 0);
  EXPECT_EQ(store->ReadAll()->entries.size(), kEntries + 1u);
}

// Rows of checksums go as the revisions and requests do that they are of.
TEST(SqliteDamageTest, ChecksumsAreForgottenWithWhatTheyAreOf) {
  const TemporaryFolder folder;
  const auto store = *SqliteStore::Open(folder.File("c.db"));
  for (int i = 0; i < 3 * kKeptRevisions; ++i) {
    StoreWrite write = WriteOf(0, i);
    write.now = kNow + i * absl::Hours(10);
    ASSERT_TRUE(store->Write(write).ok());
  }
  auto database = *SqliteDatabase::Open(folder.File("c.db"), 1000);
  EXPECT_EQ(*database.OneNumber("SELECT count(*) FROM checksums"), kKeptRevisions);
}

// Every byte of an etcd value: all of its bits, and every length that it can be cut to.
class EtcdDamageTest : public testing::Test {
 protected:
  EtcdDamageTest() {
    store::EntryRecord record;
    record.set_format_version(1);
    record.set_value(value_);
    record.set_update_time_us(absl::ToUnixMicros(kNow));
    record.set_author("ci");
    record.set_action(1);
    record.set_sequence(1);
    record.set_write_id(0x0123456789abcdef);
    kv_.set_key("/f/entries/hardware/chip-0");
    kv_.set_mod_revision(7);
    plain_ = record.SerializeAsString();
    sealed_ = Sealed(plain_, SealName(EntryKind::kHardware, "chip-0"));
  }
  StoredEntry Decoded(const std::string& bytes) {
    kv_.set_value(bytes);
    return keys_.Decode(kv_, "id");
  }

  const EtcdKeys keys_{"/f/"};
  const std::string value_ = SpecOf(0, 0).SerializeAsString();
  mvccpb::KeyValue kv_;
  std::string plain_;
  std::string sealed_;
};

TEST_F(EtcdDamageTest, AFlippedBitIsNeverServed) {
  ASSERT_EQ(Decoded(sealed_).value, value_);
  int named = 0;
  for (size_t bit = 0; bit < sealed_.size() * 8; ++bit) {
    std::string flipped = sealed_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const StoredEntry entry = Decoded(flipped);
    if (entry.fault.empty()) {
      EXPECT_EQ(entry.value, value_) << "bit " << bit;
    }
    if (!entry.fault.empty()) {
      EXPECT_FALSE(entry.value) << "bit " << bit;
    }
    named += entry.fault.empty() ? 0 : 1;
  }
  EXPECT_GT(named, static_cast<int>(sealed_.size() * 8) - 8);  // all but bits of the byte that announces the seal
}

TEST_F(EtcdDamageTest, ACutValueIsNeverServed) {
  for (size_t size = 0; size < sealed_.size(); ++size) {
    const StoredEntry entry = Decoded(sealed_.substr(0, size));
    if (entry.fault.empty()) {
      EXPECT_EQ(entry.value, value_) << size;
    }
  }
}

TEST_F(EtcdDamageTest, WhatAnOlderProgramWroteIsServed) {
  EXPECT_EQ(Decoded(plain_).value, value_);
  EXPECT_EQ(Decoded(plain_).fault, "");
}

TEST_F(EtcdDamageTest, AnotherEntrysValueIsNotServed) {
  const StoredEntry entry = Decoded(Sealed(plain_, SealName(EntryKind::kHardware, "chip-1")));
  EXPECT_EQ(entry.fault, kChecksumDiffers);
}

TEST_F(EtcdDamageTest, ARevisionIsCheckedToo) {
  kv_.set_key("/f/history/hardware/chip-0/0000000001");
  kv_.set_value(sealed_);
  EXPECT_EQ(keys_.DecodeRevision(EntryKind::kHardware, "chip-0", kv_, "id").value, value_);
  for (size_t bit = 0; bit < sealed_.size() * 8; ++bit) {
    std::string flipped = sealed_;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    kv_.set_value(flipped);
    const StoredRevision one = keys_.DecodeRevision(EntryKind::kHardware, "chip-0", kv_, "id");
    if (one.fault.empty()) {
      EXPECT_EQ(one.value, value_) << "bit " << bit;
    }
  }
  kv_.set_key("/f/history/hardware/chip-0/0000000002");  // a copy of the first
  kv_.set_value(sealed_);
  EXPECT_EQ(keys_.DecodeRevision(EntryKind::kHardware, "chip-0", kv_, "id").fault, "it is of write 1");
}

}  // namespace
}  // namespace foretoken::catalog

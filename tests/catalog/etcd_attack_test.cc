// An etcd whose keys others wrote: values that were cut, replaced or are of another type, foreign keys under the
// prefix, revisions that go back, huge values, a compacted watch. What was registered is served, or skipped and named;
// nothing else is served, nothing crashes, and writes of other entries go on.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/etcd/etcd_store.h"
#include "server/catalog/store/etcd/record.pb.h"
#include "tests/catalog/catalog_fixture.h"
#include "tests/catalog/etcd_server.h"

namespace foretoken::catalog {
namespace {

EtcdServer& Etcd() {
  static EtcdServer server;
  return server;
}

class EtcdAttackTest : public testing::Test {
 protected:
  EtcdAttackTest() {
    auto store = *EtcdStore::Open({.endpoints = {Etcd().address()}, .prefix = prefix_});
    store_ = store.get();
    catalog_ = *Catalog::Open(OneEntry(), std::move(store), [this] { return now_; });
    EXPECT_TRUE(catalog_->PutHardware(Hardware("good", 2e12), {}).ok());
    EXPECT_TRUE(catalog_->PutHardware(Hardware("victim", 3e12), {}).ok());
    first_ = catalog_->snapshot()->revision().store_revision();
    EXPECT_TRUE(catalog_->PutHardware(Hardware("victim", 4e12), {.etag = "*"}).ok());
  }
  std::string Value(const std::string& key) {
    const auto client = *EtcdClient::Make({.endpoints = {Etcd().address()}});
    etcdserverpb::RangeRequest request;
    request.set_key(prefix_ + key);
    etcdserverpb::RangeResponse response;
    EXPECT_TRUE(client->Range(request, absl::Now() + absl::Seconds(5), response).ok());
    return response.kvs_size() == 0 ? "" : response.kvs(0).value();
  }
  void Attack(const std::string& key, const std::string& value) { Etcd().Put(prefix_ + key, value); }
  // As the watch tells it, and as a full reading does.
  void Follow() {
    EXPECT_TRUE(Refreshed());
    now_ += Catalog::kFullReadingInterval;
    EXPECT_TRUE(Refreshed());
  }
  // A busy machine may be late.
  bool Refreshed() {
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (catalog_->Refresh().ok()) return true;
    }
    return false;
  }
  std::set<std::string> Skipped() {
    std::set<std::string> names;
    for (const v1::SkippedEntry& entry : catalog_->status().skipped) {
      EXPECT_TRUE(entry.SerializeAsString().size() < 1000) << "a name or reason as long as what was attacked";
      names.insert(entry.name());
    }
    return names;
  }
  double Bandwidth(const std::string& id) {
    const auto record = catalog_->snapshot()->FindHardware(id, "");
    return record.ok() ? (*record)->hardware.memory_bandwidth->value() : 0;
  }
  // What a server that starts now serves is what this one serves.
  void ExpectTheSameAfterARestart() {
    auto store = *EtcdStore::Open({.endpoints = {Etcd().address()}, .prefix = prefix_});
    const auto opened = Catalog::Open(OneEntry(), std::move(store), [this] { return now_; });
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Catalog* const anew = opened->get();
    for (const char* id : {"good", "victim"}) {
      const auto record = anew->snapshot()->FindHardware(id, "");
      EXPECT_EQ(record.ok() ? (*record)->hardware.memory_bandwidth->value() : 0, Bandwidth(id)) << id;
    }
  }
  void ExpectOthersAreWritten() {
    EXPECT_TRUE(catalog_->PutHardware(Hardware("good", 2e12), {.etag = "*"}).ok());
    EXPECT_EQ(Bandwidth("good"), 2e12);
  }

  absl::Time now_ = kNow;
  TemporaryFolder folder_;
  const std::string prefix_ = folder_.File("") + "/";
  CatalogStore* store_ = nullptr;
  std::unique_ptr<Catalog> catalog_;
  int64_t first_ = 0;  // the revision of the victim's first write
};

TEST_F(EtcdAttackTest, AValueThatIsNoEntryIsSkippedAndNamed) {
  const std::string good = Value("entries/hardware/good");
  const std::string sealed = Value("entries/hardware/victim");
  store::EntryRecord record;
  ASSERT_TRUE(record.ParseFromString(sealed));
  record.clear_checksum();
  record.set_value(Hardware("victim", 6.17e12).SerializeAsString());
  const std::string forged = record.SerializeAsString() + sealed.substr(sealed.size() - 9);
  record.set_format_version(-1);
  const std::string negative = record.SerializeAsString();
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"empty", ""},
                                          {"garbage", "\xff\xff\xff"},
                                          {"cut in half", sealed.substr(0, sealed.size() / 2)},
                                          {"of another entry", good},
                                          {"with another value under the seal", forged},
                                          {"of a negative format", negative},
                                          {"a spec, not a record", Hardware("victim", 5e12).SerializeAsString()},
                                          {"a text", "id: \"victim\" memory_bandwidth_bytes_per_second: 1"},
                                          {"a million bytes", std::string(1'000'000, '\n')},
                                          {"groups a million deep", std::string(1'000'000, '\x0b')}}) {
    Attack("entries/hardware/victim", value);
    Follow();
    EXPECT_EQ(Skipped(), std::set<std::string>{"hardware/victim"}) << name;
    EXPECT_EQ(Bandwidth("victim"), 0) << name;
    EXPECT_EQ(Bandwidth("good"), 2e12) << name;
    ExpectTheSameAfterARestart();
    ExpectOthersAreWritten();
  }
  ASSERT_TRUE(catalog_->PutHardware(Hardware("victim", 7e12), {.etag = "*"}).ok());
  EXPECT_EQ(Bandwidth("victim"), 7e12);
  EXPECT_TRUE(Skipped().empty());
}

TEST_F(EtcdAttackTest, ForeignKeysAreNamedAndStopNothing) {
  const std::string value = Value("entries/hardware/victim");
  for (const char* key : {"entries/network/fabric", "entries/", "entries/hardware/", "entries/hardware/\xff\xfe",
                          "entries/hardware/new\nline\x1b[31m", "entries/hardware/UPPER", "entries/model/victim"}) {
    Attack(key, value);
  }
  Attack("entries/" + std::string(30'000, 'x'), "");
  Follow();
  EXPECT_EQ(Skipped().size(), 8u);
  for (const std::string& name : Skipped()) {
    EXPECT_LT(name.size(), 300u);
    for (const char c : name) EXPECT_TRUE(c >= ' ' && c <= '~') << name;
  }
  EXPECT_EQ(Bandwidth("victim"), 4e12);
  ExpectTheSameAfterARestart();
  ExpectOthersAreWritten();
}

TEST_F(EtcdAttackTest, ForeignRevisionsAreNotServed) {
  const std::string first = Value("history/hardware/victim/0000000001");
  Attack("history/hardware/victim/zzz", "x");           // no number
  Attack("history/hardware/victim/0000000001", first);  // the same once more: its revision is the newest now
  EXPECT_TRUE(catalog_->HardwareAt("victim", first_ + 1).ok());
  Attack("history/hardware/victim/0000000002", first);  // the first in the place of the second
  const int64_t last = *store_->ReadRevision(absl::InfiniteFuture());
  EXPECT_FALSE(catalog_->HardwareAt("victim", last).ok());  // what was registered then is gone, and nothing is guessed
  const std::vector<StoredRevision> history = *catalog_->History(EntryKind::kHardware, "victim");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].fault, "it is of write 1");
  EXPECT_TRUE(catalog_->PutHardware(Hardware("victim", 5e12), {.etag = "*"}).ok());
  EXPECT_EQ(Bandwidth("victim"), 5e12);
}

TEST_F(EtcdAttackTest, AHistoryThatEndsInTheLastNumberIsRefusedInPlainWords) {
  Attack("history/hardware/victim/9999999999", Value("history/hardware/victim/0000000001"));
  const absl::Status status = catalog_->PutHardware(Hardware("victim", 5e12), {.etag = "*"}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_NE(status.message().find("ends in a foreign key"), absl::string_view::npos) << status;
  ExpectOthersAreWritten();
}

TEST_F(EtcdAttackTest, AHeadThatLiesOrIsGoneIsCountedAnew) {
  store::HeadRecord lie;
  lie.set_entries(1'000'000'000);
  lie.set_bytes(-1);
  for (const std::string& head :
       {std::string(), std::string("garbage"), lie.SerializeAsString(), Sealed(lie.SerializeAsString(), "head")}) {
    Attack("head", head);
    ExpectOthersAreWritten();
  }
}

TEST_F(EtcdAttackTest, ADamagedAnswerToARequestIsNotGiven) {
  const WriteOptions options{.etag = "*", .request_id = "job-7", .payload_digest = "d"};
  ASSERT_TRUE(catalog_->PutHardware(Hardware("victim", 8e12), options).ok());
  std::string value = Value("requests/job-7");
  value[value.size() / 2] ^= 1;
  Attack("requests/job-7", value);
  const absl::Status status = catalog_->PutHardware(Hardware("victim", 8e12), options).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_NE(status.message().find("is damaged"), absl::string_view::npos) << status;
}

TEST_F(EtcdAttackTest, AStoreKeyOfAnotherProgramStopsReadsAndTheLastSnapshotStays) {
  const std::string sound = Value("store");
  Attack("store", "not-foretoken");
  now_ += Catalog::kFullReadingInterval;
  EXPECT_FALSE(catalog_->Refresh().ok());
  EXPECT_EQ(Bandwidth("victim"), 4e12);
  EXPECT_EQ(DetailOf(catalog_->PutHardware(Hardware("victim", 1e12), {.etag = "*"}).status()).reason,
            Reason::kStoreUnavailable);
  Attack("store", sound);
  EXPECT_TRUE(Refreshed());
  ExpectOthersAreWritten();
}

// Values as large as etcd takes them; pages shrink as entries grow.
TEST_F(EtcdAttackTest, HugeValuesAreReadAndNamed) {
  for (int i = 0; i < 40; ++i) Attack(absl::StrCat("entries/hardware/huge-", i), std::string(1'000'000, 'x'));
  Follow();
  EXPECT_EQ(Skipped().size(), 40u);
  EXPECT_EQ(Bandwidth("victim"), 4e12);
  ExpectTheSameAfterARestart();
}

TEST_F(EtcdAttackTest, AWatchThatIsCompactedUnderWritesMissesNothing) {
  for (int i = 0; i < 20; ++i) {
    Attack("entries/hardware/victim", i % 2 == 0 ? "garbage" : "");
    Etcd().Compact();
    ASSERT_TRUE(catalog_->PutHardware(Hardware("victim", 1e12 + i), {.etag = "*"}).ok());
    EXPECT_EQ(Bandwidth("victim"), 1e12 + i);
  }
  Follow();
  EXPECT_TRUE(Skipped().empty());
}

}  // namespace
}  // namespace foretoken::catalog

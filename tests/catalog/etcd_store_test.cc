// What is particular to the etcd store: its keys, its watch, its credentials.
#include "server/catalog/store/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/etcd/record.pb.h"
#include "tests/catalog/etcd_server.h"

namespace foretoken::catalog {
namespace {

using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

EtcdServer& Etcd() {
  static EtcdServer server;
  return server;
}

StoreWrite Put(const std::string& id, const std::string& value) {
  return {.kind = EntryKind::kHardware, .id = id, .value = value, .now = kNow};
}

class EtcdStoreTest : public testing::Test {
 protected:
  EtcdStoreTest() { store_ = Open(); }
  std::unique_ptr<EtcdStore> Open() {
    auto store = *EtcdStore::Open({.endpoints = {Etcd().address()}, .prefix = prefix_});
    store->OnChange([this] {
      absl::MutexLock lock(&mutex_);
      ++changed_;
    });
    EXPECT_TRUE(store->ReadAll().ok());
    return store;
  }
  bool WaitForChange() {
    absl::MutexLock lock(&mutex_);
    const auto told = [this] { return changed_ > 0; };
    return mutex_.AwaitWithTimeout(absl::Condition(&told), absl::Seconds(10));
  }

  TemporaryFolder folder_;
  const std::string prefix_ = folder_.File("") + "/";
  absl::Mutex mutex_;
  int changed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<EtcdStore> store_;
};

TEST_F(EtcdStoreTest, ChangesAreReportedUnasked) {
  const auto other = Open();
  ASSERT_TRUE(other->Write(Put("a", "1")).ok());
  EXPECT_TRUE(WaitForChange());
}

TEST_F(EtcdStoreTest, WhatCannotBeReadIsTold) {
  Etcd().Put(prefix_ + "entries/hardware/garbage", "\xff\xff");
  store::EntryRecord newer;
  newer.set_format_version(99);
  Etcd().Put(prefix_ + "entries/hardware/newer", newer.SerializeAsString());
  Etcd().Put(prefix_ + "entries/network/fabric", "x");
  std::map<std::string, std::string> faults;
  const StoreContents contents = *store_->ReadAll();
  for (const StoredEntry& entry : contents.entries) {
    faults[absl::StrCat(std::string(KindName(entry.kind)), "/", entry.id)] = entry.fault;
    EXPECT_FALSE(entry.value);
  }
  EXPECT_EQ(faults, (std::map<std::string, std::string>{
                        {"hardware/garbage", "its value of 2 bytes is not a stored entry"},
                        {"hardware/newer", "its value has format 99 of a newer program; this one knows 1"},
                        {"unknown/network/fabric", "its kind is neither hardware nor model"}}));
}

TEST_F(EtcdStoreTest, AnEntryThatCannotBeReadCanBeReplaced) {
  Etcd().Put(prefix_ + "entries/hardware/a", "\xff\xff");
  EXPECT_EQ(DetailOf(store_->Write(Put("a", "1")).status()).reason, Reason::kAlreadyExists);
  StoreWrite replace = Put("a", "1");
  replace.etag = "*";
  ASSERT_TRUE(store_->Write(replace).ok());
  EXPECT_EQ(store_->ReadAll()->entries[0].value, "1");
}

TEST_F(EtcdStoreTest, AWatchWhosePastEtcdForgotSaysSo) {
  const int64_t first = store_->Write(Put("a", "1"))->revision;
  ASSERT_TRUE(store_->Write(Put("b", "1")).ok());
  const int64_t last = store_->Write(Put("c", "1"))->revision;
  const auto client = *EtcdClient::Make({.endpoints = {Etcd().address()}});
  EtcdWatch watch(*client, EtcdKeys(prefix_), [] {});
  watch.KnownUpTo(first, first, "id");
  const auto told = watch.Changes(first, last, absl::Now() + absl::Seconds(10));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->entries.size(), 2u);
  Etcd().Compact();
  EtcdWatch late(*client, EtcdKeys(prefix_), [] {});
  late.KnownUpTo(first, first, "id");
  EXPECT_FALSE(late.Changes(first, last, absl::Now() + absl::Seconds(10)));
  late.KnownUpTo(last, last, "id");  // all was read
  const int64_t next = store_->Write(Put("d", "1"))->revision;
  EXPECT_EQ(late.Changes(last, next, absl::Now() + absl::Seconds(10))->entries.size(), 1u);
}

TEST_F(EtcdStoreTest, ChangesThatAreNoLongerKeptAreToldByReadingAll) {
  const int64_t last = store_->Write(Put("a", "1"))->revision;
  const auto late = Open();  // knows of everything up to here, and of nothing before
  EXPECT_FALSE(*late->ReadChanges(last - 1, last, absl::Now() + absl::Seconds(10)));
  EXPECT_TRUE(*late->ReadChanges(last, last, absl::Now() + absl::Seconds(10)));
}

TEST_F(EtcdStoreTest, APrefixOfANewerLayoutIsRefused) {
  const TemporaryFolder folder;
  Etcd().Put(folder.File("") + "/store", "foretoken 99 abcdef01");
  const absl::Status status =
      EtcdStore::Open({.endpoints = {Etcd().address()}, .prefix = folder.File("") + "/"}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer"));
}

TEST_F(EtcdStoreTest, ARequestIdOutlivesItsEntrysHistory) {
  StoreWrite write = Put("a", "1");
  write.request_id = "job-7";
  const std::string etag = store_->Write(write)->etag;
  for (int i = 0; i < kKeptRevisions + 1; ++i) {
    StoreWrite next = Put("a", absl::StrCat(i));
    next.etag = "*";
    ASSERT_TRUE(store_->Write(next).ok());
  }
  EXPECT_EQ(store_->Write(write)->etag, etag);
}

TEST(EtcdAddressTest, NamesMembersAndPrefix) {
  struct Case {
    std::string address;
    std::vector<std::string> endpoints;
    std::string prefix;
  };
  for (const Case& c : std::vector<Case>{{"a:1", {"a:1"}, "/foretoken/"},
                                         {"a:1,b:2", {"a:1", "b:2"}, "/foretoken/"},
                                         {"a:1/", {"a:1"}, "/foretoken/"},
                                         {"a:1/team/x", {"a:1"}, "/team/x/"},
                                         {"[::1]:2379/x/", {"[::1]:2379"}, "/x/"}}) {
    const EtcdOptions options = *ParseEtcdAddress(c.address, {});
    EXPECT_EQ(options.endpoints, c.endpoints) << c.address;
    EXPECT_EQ(options.prefix, c.prefix) << c.address;
  }
  for (const char* address : {"", "a", "a:", "a:0", "a:70000", "a:1,", "a:1,b", ":1", "/x"}) {
    EXPECT_EQ(DetailOf(ParseEtcdAddress(address, {}).status()).reason, Reason::kInvalidField) << address;
  }
  for (const EtcdOptions& options :
       {EtcdOptions{.ca_file = "c", .cert_file = "x"}, EtcdOptions{.cert_file = "x", .key_file = "y"},
        EtcdOptions{.user = "u"}, EtcdOptions{.password_file = "p"}}) {
    EXPECT_EQ(DetailOf(ParseEtcdAddress("a:1", options).status()).reason, Reason::kInvalidField);
  }
}

}  // namespace
}  // namespace foretoken::catalog

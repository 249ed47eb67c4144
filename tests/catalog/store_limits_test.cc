// How much a store takes: every kind of store, and two handles on one that are full at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "tests/catalog/store_fixture.h"

namespace foretoken::catalog {
namespace {

using testing::HasSubstr;

class StoreLimitsTest : public StoreTest {
 protected:
  std::unique_ptr<CatalogStore> OpenWith(const StoreLimits& limits) {
    const std::string kind = GetParam();
    const std::string name = kind == "memory"   ? "memory:"
                             : kind == "sqlite" ? "sqlite:" + folder_.File("limited/catalog.db")
                                                : "etcd:" + Etcd().address() + folder_.File("limited");
    return *OpenStore(name, {}, limits);
  }
};

StoreWrite Replace(const std::string& id, const std::string& value) {
  StoreWrite write = Put(id, value);
  write.etag = "*";
  return write;
}

TEST_P(StoreLimitsTest, AnEntryTooManyIsRefusedWithTheCount) {
  const auto store = OpenWith({.max_entries = 3});
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(store->Write(Put(id, "1")).ok());
  const absl::Status status = store->Write(Put("d", "1")).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kLimitExceeded);
  EXPECT_EQ(status.message(),
            "hardware \"d\" would be one more than the 3 entries of the store; allowed up to 3 (--max_store_entries)");
  StoreWrite dry = Put("d", "1");
  dry.dry_run = true;
  EXPECT_EQ(DetailOf(store->Write(dry).status()).reason, Reason::kLimitExceeded);
  EXPECT_TRUE(store->Write(Replace("a", "2")).ok());  // not one more
  EXPECT_TRUE(store->Write(Erase("b")).ok());
  EXPECT_TRUE(store->Write(Put("d", "1")).ok());
  EXPECT_EQ(store->ReadAll()->entries.size(), 3u);
}

// Revisions and request ids count, so that one entry written over and over fills no disk; a delete is always taken.
TEST_P(StoreLimitsTest, BytesTooManyAreRefusedWithTheCount) {
  const int64_t most = 3 << 20;
  const auto store = OpenWith({.max_bytes = most});
  const std::string value(200'000, 'x');
  absl::Status status;
  int taken = 0;
  for (; status.ok() && taken < 40; ++taken) {
    StoreWrite write = Replace("a", value);
    write.request_id = absl::StrCat("job-", taken);
    status = store->Write(write).status();
  }
  EXPECT_EQ(DetailOf(status).reason, Reason::kLimitExceeded) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("bytes, kept revisions included; allowed up to 3145728 (--max_store_bytes)"));
  EXPECT_GE(taken, 5);   // three copies of 200 kB each at the most
  EXPECT_LE(taken, 16);  // one copy at the least
  EXPECT_TRUE(store->Write(Erase("a")).ok());
  const std::vector<StoredRevision> history = *store->ReadHistory(EntryKind::kHardware, "a");
  EXPECT_EQ(history.front().action, WriteAction::kDelete);
}

// What is replaced and pruned is not counted for ever.
TEST_P(StoreLimitsTest, AnEntryThatIsReplacedForEverFillsNothing) {
  const auto store = OpenWith({.max_bytes = 1 << 20});
  for (int i = 0; i < 60; ++i) {
    const absl::Status status = store->Write(Replace("a", std::string(20'000, 'x'))).status();
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
}

// Whoever comes first gets the last places, whichever replica it asks.
TEST_P(StoreLimitsTest, OfManyWritersAtTheLimitNoneGetsPast) {
  const auto one = OpenWith({.max_entries = 5});
  const auto other = std::string(GetParam()) == "memory" ? nullptr : OpenWith({.max_entries = 5});
  std::atomic<int> taken{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 12; ++i) {
    CatalogStore& store = i % 2 == 0 || other == nullptr ? *one : *other;
    writers.emplace_back([&store, &taken, i] {
      const absl::Status status = store.Write(Put(absl::StrCat("chip-", i), "1")).status();
      taken += status.ok() ? 1 : 0;
      EXPECT_TRUE(status.ok() || DetailOf(status).reason == Reason::kLimitExceeded) << status;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(taken, 5);
  EXPECT_EQ(one->ReadAll()->entries.size(), 5u);
}

// A store that holds more, as of a program without the limit, is read and can be emptied.
TEST_P(StoreLimitsTest, WhatIsBeyondALimitStaysReadable) {
  if (std::string(GetParam()) == "memory") return;
  const auto before = OpenWith({});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(before->Write(Put(absl::StrCat("chip-", i), "1")).ok());
  const auto after = OpenWith({.max_entries = 2});
  EXPECT_EQ(after->ReadAll()->entries.size(), 4u);
  EXPECT_TRUE(after->Write(Replace("chip-0", "2")).ok());
  EXPECT_EQ(DetailOf(after->Write(Put("late", "1")).status()).reason, Reason::kLimitExceeded);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(after->Write(Erase(absl::StrCat("chip-", i))).ok());
  EXPECT_TRUE(after->Write(Put("late", "1")).ok());
}

INSTANTIATE_TEST_SUITE_P(All, StoreLimitsTest, testing::Values("memory", "sqlite", "etcd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace foretoken::catalog

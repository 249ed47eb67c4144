// What every store must do, run over each of them.
#include "server/catalog/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/store_factory.h"
#include "tests/catalog/store_fixture.h"
#include "tests/catalog/temporary_folder.h"

namespace foretoken::catalog {
namespace {

TEST_P(StoreTest, KeepsWhatWasWritten) {
  EXPECT_EQ(store_->kind(), GetParam());
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), 0);
  const StoreWriteResult written = *store_->Write(Put("a", std::string("bytes\0and more", 14)));
  EXPECT_GT(written.revision, 0);
  const StoreContents contents = *store_->ReadAll();
  EXPECT_EQ(contents.revision, written.revision);
  ASSERT_EQ(contents.entries.size(), 1u);
  EXPECT_EQ(contents.entries[0].id, "a");
  EXPECT_EQ(contents.entries[0].value, std::string("bytes\0and more", 14));
  EXPECT_EQ(contents.entries[0].etag, written.etag);
  EXPECT_EQ(contents.entries[0].revision, written.revision);
  EXPECT_EQ(contents.entries[0].update_time, kNow);
  EXPECT_EQ(contents.entries[0].fault, "");
}

TEST_P(StoreTest, KindsDoNotMeet) {
  StoreWrite model = Put("a", "model");
  model.kind = EntryKind::kModel;
  ASSERT_TRUE(store_->Write(Put("a", "hardware")).ok());
  ASSERT_TRUE(store_->Write(model).ok());
  EXPECT_EQ(store_->ReadAll()->entries.size(), 2u);
  EXPECT_EQ(store_->ReadHistory(EntryKind::kModel, "a")->size(), 1u);
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
  StoreWrite erase = Erase("a");
  erase.etag = second;
  EXPECT_EQ(ReasonOf(erase), Reason::kEtagMismatch);
}

TEST_P(StoreTest, EtagsDoNotRepeatInAStoreMadeAnew) {
  TemporaryFolder other;
  const std::string kind = GetParam();
  const std::string first = store_->Write(Put("a", "1"))->etag;
  const auto anew = *OpenStore(kind == "memory"   ? "memory:"
                               : kind == "sqlite" ? "sqlite:" + other.File("catalog.db")
                                                  : "etcd:" + Etcd().address() + other.File(""));
  EXPECT_NE(anew->Write(Put("a", "1"))->etag, first);
}

TEST_P(StoreTest, TheRevisionOnlyGrowsAndARefusedWriteLeavesIt) {
  const int64_t first = store_->Write(Put("a", "1"))->revision;
  EXPECT_EQ(ReasonOf(Put("a", "2")), Reason::kAlreadyExists);
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), first);
  const int64_t second = store_->Write(Erase("a"))->revision;
  EXPECT_GT(second, first);
  EXPECT_EQ(ReasonOf(Erase("a")), Reason::kUnknownId);
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), second);
  EXPECT_TRUE(store_->ReadAll()->entries.empty());
  EXPECT_EQ(store_->ReadAll()->revision, second);
}

TEST_P(StoreTest, ARepeatedRequestGetsTheFirstAnswer) {
  StoreWrite write = Put("a", "1");
  write.request_id = "job-7";
  write.payload_digest = "d1";
  const StoreWriteResult first = *store_->Write(write);
  const StoreWriteResult again = *store_->Write(write);
  EXPECT_EQ(again.etag, first.etag);
  EXPECT_EQ(again.revision, first.revision);
  EXPECT_EQ(again.value, "1");
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), first.revision);
  write.payload_digest = "d2";
  EXPECT_EQ(ReasonOf(write), Reason::kRequestIdReused);
  write.now = kNow + absl::Hours(26);  // forgotten by now
  EXPECT_EQ(ReasonOf(write), Reason::kAlreadyExists);
}

TEST_P(StoreTest, ARepeatedDeleteGetsTheFirstAnswer) {
  ASSERT_TRUE(store_->Write(Put("a", "1")).ok());
  StoreWrite erase = Erase("a");
  erase.request_id = "job-8";
  const StoreWriteResult first = *store_->Write(erase);
  const StoreWriteResult again = *store_->Write(erase);
  EXPECT_EQ(again.revision, first.revision);
  EXPECT_EQ(again.etag, "");
  EXPECT_FALSE(again.value);
}

TEST_P(StoreTest, ADryRunChecksEverythingAndWritesNothing) {
  StoreWrite dry = Put("a", "1");
  dry.dry_run = true;
  dry.request_id = "job-9";
  dry.payload_digest = "d1";
  EXPECT_TRUE(store_->Write(dry).ok());
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), 0);
  StoreWrite wet = dry;
  wet.dry_run = false;
  const std::string etag = store_->Write(wet)->etag;
  EXPECT_EQ(store_->Write(dry)->etag, etag);  // the first answer
  dry.payload_digest = "d2";
  EXPECT_EQ(ReasonOf(dry), Reason::kRequestIdReused);
  dry.request_id = "";
  EXPECT_EQ(ReasonOf(dry), Reason::kAlreadyExists);
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
  EXPECT_EQ(store_->ReadHistory(EntryKind::kHardware, "a")->size(), 2u);
}

TEST_P(StoreTest, OfManyWritersThatReplaceWhateverIsThereNoneIsLost) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      StoreWrite write = Put("a", std::to_string(i));
      write.etag = "*";
      EXPECT_TRUE(store_->Write(write).ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::vector<StoredRevision> history = *store_->ReadHistory(EntryKind::kHardware, "a");
  ASSERT_EQ(history.size(), 8u);
  std::set<std::string> values;
  for (const StoredRevision& one : history) values.insert(*one.value);
  EXPECT_EQ(values.size(), 8u);
  EXPECT_EQ(store_->ReadAll()->entries[0].value, history[0].value);
}

TEST_P(StoreTest, HistoryTellsWhoWhenAndWhatOfTheLastRevisions) {
  StoreWrite first = Put("a", "1");
  first.author = "ci@host";
  first.peer = "ipv4:10.0.0.7:1";
  const StoreWriteResult written = *store_->Write(first);
  ASSERT_TRUE(store_->Write(Erase("a")).ok());
  const std::vector<StoredRevision> history = *store_->ReadHistory(EntryKind::kHardware, "a");
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].action, WriteAction::kDelete);
  EXPECT_EQ(history[0].sequence, 2);
  EXPECT_FALSE(history[0].value);
  EXPECT_EQ(history[0].etag, "");
  EXPECT_EQ(history[1].revision, written.revision);
  EXPECT_EQ(history[1].sequence, 1);
  EXPECT_EQ(history[1].author, "ci@host");
  EXPECT_EQ(history[1].peer, "ipv4:10.0.0.7:1");
  EXPECT_EQ(history[1].update_time, kNow);
  EXPECT_EQ(history[1].value, "1");
  EXPECT_EQ(history[1].etag, written.etag);
  EXPECT_TRUE(store_->ReadHistory(EntryKind::kHardware, "b")->empty());
}

TEST_P(StoreTest, HistoryKeepsTheLastRevisionsAlone) {
  for (int i = 1; i <= kKeptRevisions + 3; ++i) {
    StoreWrite write = Put("a", std::to_string(i));
    write.etag = "*";
    ASSERT_TRUE(store_->Write(write).ok());
  }
  const std::vector<StoredRevision> history = *store_->ReadHistory(EntryKind::kHardware, "a");
  ASSERT_EQ(history.size(), static_cast<size_t>(kKeptRevisions));
  EXPECT_EQ(history.front().value, "13");
  EXPECT_EQ(history.back().value, "4");
  EXPECT_EQ(history.back().sequence, 4);
}

TEST_P(StoreTest, ChangesTellPutsAndDeletesInOrder) {
  const int64_t first = store_->Write(Put("a", "1"))->revision;
  ASSERT_TRUE(store_->Write(Put("b", "1")).ok());
  const int64_t last = store_->Write(Erase("a"))->revision;
  const StoreChanges changes = ChangesAfter(*store_, first, last);
  EXPECT_EQ(changes.revision, last);
  ASSERT_EQ(changes.entries.size(), 2u);
  EXPECT_EQ(changes.entries[0].id, "b");
  EXPECT_EQ(changes.entries[0].value, "1");
  EXPECT_EQ(changes.entries[1].id, "a");
  EXPECT_FALSE(changes.entries[1].value);
  EXPECT_EQ(changes.entries[1].revision, last);
  EXPECT_TRUE(ChangesAfter(*store_, last, last).entries.empty());
}

// Those whose writes can come too late; memory never waits.
class WaitingStoreTest : public StoreTest {};

TEST_P(WaitingStoreTest, AWriteThatIsOutOfTimeSaysThatNothingWasWritten) {
  StoreWrite late = Put("a", "1");
  late.deadline = absl::Now() - absl::Seconds(1);
  const absl::Status status = store_->Write(late).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kStoreUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::EndsWith(kNothingWritten));
  EXPECT_EQ(*store_->ReadRevision(absl::InfiniteFuture()), 0);
}

std::string KindOf(const testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(All, StoreTest, testing::Values("memory", "sqlite", "etcd"), KindOf);
INSTANTIATE_TEST_SUITE_P(All, WaitingStoreTest, testing::Values("sqlite", "etcd"), KindOf);

TEST(OpenStoreTest, NamesWhatIsAllowed) {
  const absl::Status status = OpenStore("redis:localhost").status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kInvalidField);
  EXPECT_EQ(status.message(),
            "catalog_store \"redis:localhost\"; allowed: sqlite:PATH, etcd:HOST:PORT[,HOST:PORT...][/PREFIX], memory:");
}

}  // namespace
}  // namespace foretoken::catalog

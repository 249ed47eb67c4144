#include "client/cli/profile/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EventStreamTest : public testing::Test {
 protected:
  absl::Status Add(std::string_view bytes) {
    return stream_.Add(bytes, [this](std::string_view data) {
      events_.emplace_back(data);
      return absl::OkStatus();
    });
  }
  EventStream stream_;
  std::vector<std::string> events_;
};

TEST_F(EventStreamTest, ReadsEventsHoweverTheyAreCut) {
  const std::string bytes = "data: {\"a\":1}\n\ndata:two\r\n\r\n: a comment\nid: 7\ndata: x\ndata: y\n\n";
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    stream_ = EventStream();
    events_.clear();
    ASSERT_TRUE(Add(std::string_view(bytes).substr(0, cut)).ok());
    ASSERT_TRUE(Add(std::string_view(bytes).substr(cut)).ok());
    ASSERT_THAT(events_, ElementsAre("{\"a\":1}", "two", "x\ny")) << "cut at " << cut;
    ASSERT_TRUE(stream_.Finish().ok());
  }
}

TEST_F(EventStreamTest, SaysWhenItEndsWithinAnEvent) {
  ASSERT_TRUE(Add("data: half").ok());
  EXPECT_TRUE(absl::IsDataLoss(stream_.Finish()));
  ASSERT_TRUE(Add("\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(stream_.Finish()));
  ASSERT_TRUE(Add("\n").ok());
  EXPECT_TRUE(stream_.Finish().ok());
}

TEST_F(EventStreamTest, RefusesAnEventThatDoesNotEnd) {
  const std::string megabyte(EventStream::kMaxEventBytes, 'x');
  EXPECT_TRUE(Add("data: ").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Add(megabyte)));
}

TEST_F(EventStreamTest, BoundsTheLinesOfOneEventTogether) {
  const std::string line = "data: " + std::string(EventStream::kMaxEventBytes / 2, 'x') + "\n";
  EXPECT_TRUE(Add(line).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Add(line)));
}

TEST_F(EventStreamTest, StopsAtTheFirstEventThatIsRefused) {
  int seen = 0;
  const absl::Status status = stream_.Add("data: 1\n\ndata: 2\n\n", [&seen](std::string_view) {
    ++seen;
    return absl::InvalidArgumentError("no");
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("no"));
  EXPECT_EQ(seen, 1);
}

TEST_F(EventStreamTest, AnEmptyLineAloneIsNoEvent) {
  ASSERT_TRUE(Add("\n\n: keep-alive\n\n").ok());
  EXPECT_THAT(events_, IsEmpty());
}

}  // namespace
}  // namespace foretoken::cli

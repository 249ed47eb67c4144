// What stands around the services: a line of the log, a histogram's buckets, texts cut to the limits of a status.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "server/ops/histogram.h"
#include "server/ops/log.h"
#include "server/rpc/wire/status.h"

namespace foretoken {
namespace {

TEST(LogLineTest, QuotesWhatWouldSplitALine) {
  struct Case {
    const char* value;
    const char* want;
  };
  const Case cases[] = {{"127.0.0.1:50051", "127.0.0.1:50051"},
                        {"two words", "\"two words\""},
                        {"a\"b", "\"a\\\"b\""},
                        {"a\nb", "\"a\\nb\""}};
  for (const Case& c : cases) {
    EXPECT_EQ(ops::LogLine(absl::UnixEpoch(), ops::LogLevel::kInfo, "test", {{"value", c.value}}),
              std::string("time=1970-01-01T00:00:00.000Z level=info event=test value=") + c.want);
  }
}

// A bucket holds what is at most its upper end, as Prometheus defines it: counts are cumulative.
TEST(HistogramTest, AValueAtABoundBelongsBelowIt) {
  ops::Histogram histogram({1, 2});
  for (const double value : {0.5, 1.0, 1.5, 2.0, 3.0}) histogram.Observe(value);
  const prometheus::ClientMetric::Histogram got = histogram.Collect();
  ASSERT_EQ(got.bucket.size(), 3u);
  EXPECT_EQ(got.bucket[0].cumulative_count, 2u);
  EXPECT_EQ(got.bucket[1].cumulative_count, 4u);
  EXPECT_EQ(got.bucket[2].cumulative_count, 5u);
  EXPECT_EQ(got.sample_count, 5u);
  EXPECT_EQ(got.sample_sum, 8.0);
}

// "é" is two bytes: a cut between them would be no UTF-8, which gRPC refuses to send.
TEST(TruncateTest, NeverCutsACharacter) {
  std::string text = "aaaa";
  for (int i = 0; i < 10; ++i) text += "\xC3\xA9";
  EXPECT_EQ(rpc::Truncate(text, text.size()), text);
  for (size_t limit = 15; limit < text.size(); ++limit) {
    const std::string cut = rpc::Truncate(text, limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_GE(cut.size() + 1, limit);
    EXPECT_EQ(std::count(cut.begin(), cut.end(), '\xC3'), std::count(cut.begin(), cut.end(), '\xA9')) << cut;
  }
}

}  // namespace
}  // namespace foretoken

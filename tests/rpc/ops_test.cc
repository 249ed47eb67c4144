// What stands around the services: a line of the log, a histogram's buckets, texts cut to the limits of a status.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "server/ops/histogram.h"
#include "server/ops/log.h"
#include "server/ops/process/library_log.h"
#include "server/rpc/wire/call_log.h"
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
                        {"a\nb", "\"a\\nb\""},
                        {"\033[31m", "\"\\x1b[31m\""},
                        {"a\xff", "\"a\\xff\""},
                        {"\u202egnp", "\"\\u202egnp\""},
                        {"x level=error", "\"x level=error\""}};
  for (const Case& c : cases) {
    EXPECT_EQ(ops::LogLine(absl::UnixEpoch(), ops::LogLevel::kInfo, "test", {{"value", c.value}}),
              std::string("time=1970-01-01T00:00:00.000Z level=info event=test value=") + c.want);
  }
}

TEST(LogLineTest, AsJson) {
  EXPECT_EQ(ops::LogLine(absl::UnixEpoch(), ops::LogLevel::kWarning, "test",
                         {{"plain", "1"}, {"odd", "a\n\"\\\033\xff\u202e"}}, ops::LogFormat::kJson),
            R"({"time": "1970-01-01T00:00:00.000Z", "level": "warning", "event": "test", "plain": "1", )"
            R"("odd": "a\n\"\\\u001b\\xff\u202e"})");
}

TEST(LineLimitTest, CountsWhatItLeavesOut) {
  ops::LineLimit limit(2);
  int64_t left_out = -1;
  const absl::Time start = absl::FromUnixSeconds(100);
  EXPECT_TRUE(limit.Take(start, &left_out));
  EXPECT_EQ(left_out, 0);
  EXPECT_TRUE(limit.Take(start + absl::Milliseconds(999), &left_out));
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(limit.Take(start + absl::Milliseconds(999), &left_out));
  EXPECT_TRUE(limit.Take(start + absl::Seconds(1), &left_out));
  EXPECT_EQ(left_out, 5);
  EXPECT_TRUE(limit.Take(start + absl::Seconds(1), &left_out));
  EXPECT_EQ(left_out, 0);
}

// https://www.w3.org/TR/trace-context/#traceparent-header-field-values
TEST(TraceOfTest, TakesWhatTheStandardAllows) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c", span = "b7ad6b7169203331";
  struct Case {
    const char* name;
    std::string header;
    bool taken;
  };
  const Case cases[] = {{"the standard's example", "00-" + trace + "-" + span + "-01", true},
                        {"a later version with a field more", "cc-" + trace + "-" + span + "-01-what", true},
                        {"version 00 with a field more", "00-" + trace + "-" + span + "-01-what", false},
                        {"a later version that goes on", "cc-" + trace + "-" + span + "-01.what", false},
                        {"version ff", "ff-" + trace + "-" + span + "-01", false},
                        {"upper case", "00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01", false},
                        {"no trace", "00-" + std::string(32, '0') + "-" + span + "-01", false},
                        {"no span", "00-" + trace + "-" + std::string(16, '0') + "-01", false},
                        {"short", "00-" + trace + "-" + span + "-0", false},
                        {"a newline", "00-" + trace + "-" + span.substr(0, 15) + "\n-01", false},
                        {"nothing", "", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(rpc::TraceOf(c.header), c.taken ? trace + "-" + span : "") << c.name;
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

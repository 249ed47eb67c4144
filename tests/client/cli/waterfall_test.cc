#include "client/cli/text/waterfall.h"

#include <gtest/gtest.h>

namespace foretoken::cli {
namespace {

TEST(BarTest, BeginsWhereItIsToldAndIsNeverInvisible) {
  struct Case {
    const char* name;
    double start, length;
    bool utf8;
    const char* want;
  };
  const Case cases[] = {
      {"whole", 0, 1, false, "##########"},
      {"half after a half", 0.5, 0.5, false, "     #####"},
      {"a trace", 0, 0.001, false, "#"},
      {"a trace at the end stays inside", 1, 0.001, false, "         #"},
      {"never past the end", 0.98, 0.5, false, "         #"},
      {"blocks", 0, 0.5, true, "█████"},
      {"eighths of a cell", 0, 0.0875, true, "▉"},  // 0.0875 * 80 = 7 eighths
      {"a trace in blocks", 0.3, 0.001, true, "   ▏"},
  };
  for (const Case& c : cases) EXPECT_EQ(Bar(c.start, c.length, c.utf8, 10), c.want) << c.name;
}

v1::TimeParts Parts() {
  v1::TimeParts parts;
  parts.set_compute_seconds(0.006);
  parts.set_memory_seconds(0.003);
  parts.set_host_seconds(0.001);
  return parts;
}

TEST(WaterfallTest, PlainText) {
  EXPECT_EQ(Waterfall(Parts(), {}),
            "  compute  6.00 ms  60.0%  ########################\n"
            "  memory   3.00 ms  30.0%                          ############\n"
            "  host     1.00 ms  10.0%                                      ####\n");
}

TEST(WaterfallTest, Blocks) {
  EXPECT_EQ(Waterfall(Parts(), {.utf8 = true}),
            "  compute  6.00 ms  60.0%  ████████████████████████\n"
            "  memory   3.00 ms  30.0%                          ████████████\n"
            "  host     1.00 ms  10.0%                                      ████\n");
}

TEST(WaterfallTest, NothingForNoTime) { EXPECT_EQ(Waterfall(v1::TimeParts(), {}), ""); }

}  // namespace
}  // namespace foretoken::cli

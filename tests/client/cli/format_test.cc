#include "client/cli/text/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace foretoken::cli {
namespace {

TEST(FormatTest, ThreeDigitsAndAUnit) {
  struct Case {
    const char* name;
    std::string got;
    const char* want;
  };
  const Case cases[] = {
      {"milliseconds", FormatSeconds(0.012345), "12.3 ms"},
      {"microseconds", FormatSeconds(845e-6), "845 us"},
      {"seconds", FormatSeconds(1.5436), "1.54 s"},
      {"many seconds stay seconds", FormatSeconds(12345), "12,345 s"},
      {"rounds up into the next unit", FormatSeconds(999.6e-6), "1.00 ms"},
      {"one", FormatSeconds(1), "1.00 s"},
      {"exactly a unit", FormatSeconds(1e-3), "1.00 ms"},
      {"below the least unit", FormatSeconds(4.2e-10), "0.420 ns"},
      {"zero is not unknown", FormatSeconds(0), "0 s"},
      {"unknown is not zero", FormatSeconds(kUnknown), "-"},
      {"negative", FormatSeconds(-0.0021), "-2.10 ms"},
      {"bytes", FormatBytes(17.6e9), "17.6 GB"},
      {"few bytes", FormatBytes(512), "512 B"},
      {"bytes per second", FormatBytesPerSecond(3.35e12), "3.35 TB/s"},
      {"FLOP", FormatFlops(1.2e12), "1.20 TFLOP"},
      {"FLOP/s", FormatFlopsPerSecond(989.4e12), "989 TFLOP/s"},
      {"share", FormatPercent(0.415), "41.5%"},
      {"small share", FormatPercent(0.00467), "0.47%"},
      {"trace", FormatPercent(1e-6), "<0.01%"},
      {"no share", FormatPercent(0), "0%"},
      {"signed share", FormatSignedPercent(0.0415), "+4.15%"},
      {"signed share of nothing", FormatSignedPercent(0), "+0%"},
      {"signed share below zero", FormatSignedPercent(-0.0415), "-4.15%"},
      {"unknown share", FormatSignedPercent(kUnknown), "-"},
      {"count", FormatCount(17089), "17,089"},
      {"large count", FormatCount(1234567), "1,234,567"},
      {"fraction", FormatCount(81.34), "81.3"},
      {"small fraction", FormatCount(0.25), "0.250"},
      {"infinite", FormatCount(std::numeric_limits<double>::infinity()), "infinite"},
      {"exact", FormatExact(0.1), "0.1"},
      {"exact unknown", FormatExact(kUnknown), ""},
  };
  for (const Case& c : cases) EXPECT_EQ(c.got, c.want) << c.name;
}

}  // namespace
}  // namespace foretoken::cli

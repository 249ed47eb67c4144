#include "estimator/scenario/engine_version.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace foretoken {
namespace {

constexpr double kFarthest = std::numeric_limits<double>::infinity();

TEST(EngineVersionTest, NamesAndNumbers) {
  EXPECT_EQ(EngineName("vllm@0.12.0"), "vllm");
  EXPECT_EQ(EngineName("llama.cpp"), "llama.cpp");
  EXPECT_EQ(EngineName("@1"), "");
  EXPECT_TRUE(HasVersionNumber("vllm@0.12.0"));
  EXPECT_FALSE(HasVersionNumber("vllm"));
  EXPECT_FALSE(HasVersionNumber("vllm@main"));
}

TEST(EngineVersionTest, VersionsApart) {
  struct Case {
    const char* asked;
    const char* engine;
    double want;
  };
  const Case cases[] = {
      {"vllm@0.12.0", "vllm@0.12.0", -kFarthest},  // the same text
      {"vllm", "vllm", -kFarthest},
      {"vllm@0.12.0", "vllm@0.12.1", 0.001},
      {"vllm@0.12.0", "vllm@0.7.3", 4.997},  // 12 - 7.003
      {"vllm@0.12.0", "vllm@1", 988},        // 1,000 - 12
      {"vllm@0.12.0", "vllm", kFarthest},
      {"vllm@0.12.0", "vllm@main", kFarthest},
      {"vllm", "vllm@0.7.3", -7.003},  // the newest is nearest
      {"vllm@main", "vllm@0.12.0", -12},
      {"sglang", "sglang@0.5.14", -5.014},
      {"trt@1.3.0", "trt@1.3.0rc20", 0.00048},  // a candidate is before its release
      {"trt", "trt@1.3.0rc20", -1002.99952},
  };
  for (const Case& c : cases) {
    const double apart = VersionsApart(c.asked, c.engine);
    if (std::isinf(c.want)) {
      EXPECT_EQ(apart, c.want) << c.asked << " and " << c.engine;
    } else {
      EXPECT_NEAR(apart, c.want, 1e-9) << c.asked << " and " << c.engine;
    }
  }
}

}  // namespace
}  // namespace foretoken

#include "estimator/phases/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

// 2 x 6,738,415,616 parameters of bf16 and the KV cache of 1,000 sequences of 1,152 tokens, 524,288 bytes each.
TEST(OutOfMemoryTest, TellsGigabytesAndInDetailEveryByte) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const absl::Status status = ComputeEstimate(MakeScenario(model, hardware, 1000, 1024, 128)).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("(weights 13.48 GB, "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("KV cache 603.98 GB); there are 77.31 GB of 85.90 GB usable"));
  const std::string exact = DetailOf(status).violations.at(0).description;
  EXPECT_THAT(exact, HasSubstr("(weights 13476831232 bytes, "));
  EXPECT_THAT(exact, HasSubstr("KV cache 603979776000 bytes); there are 77309411328 bytes of 85899345920 bytes"));
}

TEST(OutOfMemoryTest, TellsTheSmallestPowerOfTwoThatFits) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1000, 1024, 128);
  for (const int asked : {1, 3, 8}) {
    scenario.deployment.tensor_parallel = asked;
    EXPECT_THAT(std::string(ComputeEstimate(scenario).status().message()),
                HasSubstr("smallest tensor_parallel that fits this batch: 16"));
  }
}

}  // namespace
}  // namespace foretoken

#include "estimator/phases/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

// Parameters 6,738,415,616 x 2 bytes, and the KV cache of 1,000 sequences of 1,152 tokens, 524,288 bytes each. A token
// of the largest step, 8,192 tokens, takes (2 x 4,096 + 3 x 11,008) x 2 bytes, the logits of a sequence 32,000 x 4:
// 8,192 x 82,432 + 1,000 x 128,000 bytes of activations.
TEST(OutOfMemoryTest, MessageInGigabytesAndViolationInBytes) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const absl::Status status = ComputeEstimate(MakeScenario(model, hardware, 1000, 1024, 128)).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("batch_size 1000 needs 618.26 GB per device (weights 13.48 GB, activations 0.80 GB, KV cache "
                        "603.98 GB); there are 77.31 GB of 85.90 GB usable"));
  EXPECT_EQ(DetailOf(status).violations.at(0).description,
            "batch_size 1000 needs 618259890176 bytes per device; usable 77309411328; allowed 1 to 104");
}

// The same batch over 4 replicas, 250 sequences each: 150,994,944,000 bytes of KV cache. A replica has room for 104
// sequences: (77,309,411,328 - 13,476,831,232 - 8,192 x 82,432) / (603,979,776 + 128,000) = 104.5.
TEST(OutOfMemoryTest, CountsTheBatchOverAllReplicas) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1000, 1024, 128);
  scenario.deployment.data_parallel = 4;
  const absl::Status status = ComputeEstimate(scenario).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("batch_size 1000 needs 165.18 GB per device"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("KV cache 150.99 GB"));
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("largest batch_size that fits at tensor_parallel 1: 416; smallest tensor_parallel that fits this "
                "batch: 4"));
  EXPECT_EQ(DetailOf(status).violations.at(0).description,
            "batch_size 1000 needs 165179058176 bytes per device; usable 77309411328; allowed 1 to 416");
  scenario.workload.batch_size = 416;
  EXPECT_TRUE(ComputeEstimate(scenario).ok());
}

TEST(OutOfMemoryTest, NothingIsAllowedWhereTheWeightsDoNotFit) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  const absl::Status status = ComputeEstimate(MakeScenario(model, hardware, 1, 1024, 128)).status();
  EXPECT_THAT(DetailOf(status).violations.at(0).description, HasSubstr("usable 77309411328; allowed none"));
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

// DeepSeek-V2-Lite over 64 devices, one head each: a head's query, key and value (192 + 128), and the latent of 512 +
// 64, which every device keeps whole. They are wider than the MLP, 3 x (6 x 1,408 + 2,816) / 64 = 528. Two copies of
// the residual stream of 2,048 beside them, in bf16; logits of 102,400 / 64 in fp32.
TEST(CapacityTest, ALatentIsNotDividedAmongDevices) {
  const Model model = DeepseekV2Lite();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1000, 2);
  scenario.deployment.tensor_parallel = 64;
  const Capacity capacity =
      MeasureCapacity(scenario, MakeShard(model, scenario.deployment), {.memory_capacity = Gibibytes(80)});
  EXPECT_EQ(capacity.activations.per_step_token.value(), (2 * 2048 + 192 + 128 + 512 + 64) * 2);
  EXPECT_EQ(capacity.activations(1).value(), 1000 * 9984 + 1600 * 4);
}

// With few devices the MLP is the widest, and the latent's attention with them is not.
TEST(CapacityTest, TheWidestOfAttentionAndMlpCounts) {
  const Model model = DeepseekV2Lite();
  const Hardware hardware = A100();
  const Scenario scenario = MakeScenario(model, hardware, 1, 1000, 2);
  const Capacity capacity =
      MeasureCapacity(scenario, MakeShard(model, scenario.deployment), {.memory_capacity = Gibibytes(80)});
  EXPECT_EQ(capacity.activations.per_step_token.value(), (2 * 2048 + 3 * (6 * 1408 + 2816)) * 2);
}

}  // namespace
}  // namespace foretoken

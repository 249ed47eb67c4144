#include "estimator/step/shard.h"

#include <gtest/gtest.h>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// Mixtral-8x7B over 3 devices, 8 experts: two devices hold 3 of them, one holds 2. The fullest device has, in each of
// 32 layers and in bf16, 3 experts of 3 x 4,096 x 14,336; 11 query and 3 key/value heads of 128, that is (17 + 11) x
// 128 x 4,096 of attention; the router, 8 x 4,096; two norms of 4,096. Beside them two tables of 10,667 x 4,096 and a
// norm.
TEST(ShardTest, TheFullestDeviceHoldsTheExpertsThatDoNotDivide) {
  const Model model = Mixtral8x7b();
  Placement placement;
  placement.tensor_parallel = placement.expert_parallel = 3;
  ResolveDtypes(model, placement);
  const double layer = 3.0 * 3 * 4096 * 14336 + 28 * 128 * 4096 + 8 * 4096 + 2 * 4096;
  const double want = 2 * (32 * layer + 2 * 10667 * 4096 + 4096);
  EXPECT_EQ(want, 34'939'789'312);
  EXPECT_EQ(MakeShard(model, placement).weights_of_fullest_device.value(), want);
}

}  // namespace
}  // namespace foretoken

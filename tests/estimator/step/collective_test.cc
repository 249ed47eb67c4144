#include "estimator/step/collective.h"

#include <gtest/gtest.h>

#include <limits>

namespace foretoken {
namespace {

constexpr Fabric kNode = {
    .link = BytesPerSecond(100e9), .scale_out = BytesPerSecond(10e9), .latency = Seconds(1e-6), .devices_per_node = 8};

TEST(AllReduceTest, TakesTheBetterWay) {
  struct Case {
    const char* name;
    double bytes, devices, want;
  };
  const Case cases[] = {
      // 1 GB over 8: two-shot 2 * 7/8 * 10 ms + 2 us; one-shot 70 ms + 1 us.
      {"two shots for large messages", 1e9, 8, 2 * 7.0 / 8 * 0.01 + 2e-6},
      // 1 kB over 8: two-shot 2 us + 17.5 ns; one-shot 1 us + 70 ns.
      {"one shot for small ones", 1e3, 8, 7 * 1e-8 + 1e-6},
      // They meet where the 5.25 M/Bn more of one shot are 1 us.
      {"two shots from where one sends for longer", 1e6 / 5.25 * 0.1 + 1, 8, 1.75 * 1e-6 / 5.25 + 2e-6 + 1.75e-11},
      {"one device needs none", 1e9, 1, 0},
      // Two nodes of 8: scatter and gather 7/8 * 10 ms + 1 us each; between: 125 MB over 2 at 10 GB/s, 12.5 ms + 1 us.
      {"two tiers across nodes", 1e9, 16, 2 * (7.0 / 8 * 0.01 + 1e-6) + 0.0125 + 1e-6},
  };
  for (const Case& c : cases) {
    EXPECT_NEAR(MakeAllReduce(kNode, c.devices)(Bytes(c.bytes)).value(), c.want, 1e-12) << c.name;
  }
}

TEST(AllReduceTest, GrowsWithTheMessage) {
  for (const double devices : {2.0, 4.0, 8.0, 16.0, 64.0}) {
    double before = 0;
    for (double bytes = 1; bytes < 1e10; bytes *= 1.7) {
      const double time = MakeAllReduce(kNode, devices)(Bytes(bytes)).value();
      EXPECT_GE(time, before);
      before = time;
    }
  }
}

TEST(FabricTest, TheSpeedOfLightCommunicatesForNothing) {
  const Fabric free = {.free = true};
  EXPECT_EQ(MakeAllReduce(free, 8)(Bytes(1e9)).value(), 0);
  EXPECT_EQ(MakeAllGather(free, 8)(Bytes(1e9)).value(), 0);
  EXPECT_EQ(AllToAll(free, Bytes(1e9), 8).value(), 0);
  EXPECT_EQ(MakeStageTransfers(free, 1, 4)(Bytes(1e9)).value(), 0);
}

// Nodes of 8: with stages of 4 devices the second of three hops leaves a node, with stages of 8 each does; stages of 6
// start at devices 0, 6, 12, 18, and each pair of them spans two nodes.
TEST(StageTransfersTest, LeavesTheNodeWhereTwoStagesDo) {
  struct Case {
    const char* name;
    double devices, stages, inside, outside;  // hops
  };
  const Case cases[] = {
      {"one stage", 4, 1, 0, 0},      {"two stages in a node", 4, 2, 1, 0}, {"four stages in two nodes", 4, 4, 2, 1},
      {"a node a stage", 8, 3, 0, 2}, {"stages across nodes", 6, 4, 0, 3},  {"single devices", 1, 16, 14, 1},
  };
  for (const Case& c : cases) {
    const double want = c.inside * (1e-5 + 1e-6) + c.outside * (1e-4 + 1e-6);
    EXPECT_NEAR(MakeStageTransfers(kNode, c.devices, c.stages)(Bytes(1e6)).value(), want, 1e-15) << c.name;
  }
}

}  // namespace
}  // namespace foretoken

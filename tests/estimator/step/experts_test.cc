#include "estimator/step/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

constexpr int kDraws = 4000;

// The experts that T tokens touch when each draws K different ones of E.
std::set<int> Draw(int experts, int chosen, int tokens, std::mt19937& random) {
  std::vector<int> all(static_cast<size_t>(experts));
  std::iota(all.begin(), all.end(), 0);
  std::set<int> touched;
  for (int t = 0; t < tokens; ++t) {
    std::shuffle(all.begin(), all.end(), random);
    touched.insert(all.begin(), all.begin() + chosen);
  }
  return touched;
}

TEST(DistinctExpertsTest, WorkedNumbers) {
  struct Case {
    const char* name;
    double experts, chosen, tokens, want;
  };
  const Case cases[] = {
      {"no token touches none", 64, 6, 0, 0},
      {"one token touches those it chooses", 64, 6, 1, 6},
      {"two tokens of 8 choosing 2: 8 (1 - (6/8)^2)", 8, 2, 2, 3.5},
      {"all chosen", 4, 4, 1, 4},
      {"many tokens touch all", 8, 2, 1000, 8},
  };
  for (const Case& c : cases)
    EXPECT_NEAR(DistinctExperts(c.experts, LogMissed(c.experts, c.chosen), c.tokens), c.want, 1e-9) << c.name;
}

TEST(DistinctExpertsTest, KeepsPrecisionForManyExperts) {
  // (1 - 1e-9)^1 would lose nine digits without log1p.
  EXPECT_NEAR(DistinctExperts(1e9, LogMissed(1e9, 1), 1), 1, 1e-12);
}

TEST(DistinctExpertsTest, IsTheMeanOfDraws) {
  struct Case {
    int experts, chosen, tokens;
  };
  std::mt19937 random(41);
  for (const auto& [experts, chosen, tokens] : {Case{8, 2, 1}, Case{8, 2, 3}, Case{16, 1, 12}, Case{64, 6, 9}}) {
    double drawn = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      drawn += static_cast<double>(Draw(experts, chosen, tokens, random).size()) / kDraws;
    }
    // A count between 0 and E deviates by less than E/2; 4,000 draws by less than E/126: five deviations are E/25.
    EXPECT_NEAR(DistinctExperts(experts, LogMissed(experts, chosen), tokens), drawn, experts / 25.0)
        << experts << " " << tokens;
  }
}

// Expected largest of n standard normal deviates, from tables of order statistics.
TEST(LargestDeviateTest, IsTheTabulatedOne) {
  struct Case {
    double count, want;
  };
  for (const auto& [count, want] :
       {Case{2, 0.5642}, Case{4, 1.0294}, Case{8, 1.4236}, Case{16, 1.7660}, Case{50, 2.2491}, Case{100, 2.5076}}) {
    EXPECT_NEAR(LargestDeviate(count), want, 0.03) << count;
  }
}

double Busiest(double experts, double expert_parallel, double distinct) {
  return BusiestShare(experts, expert_parallel, MakeShareChance(experts, expert_parallel), distinct);
}

TEST(BusiestShareTest, WorkedNumbers) {
  EXPECT_EQ(Busiest(64, 1, 10), 10) << "one device has them all";
  EXPECT_EQ(Busiest(8, 8, 3), 1) << "no device holds more than one";
  EXPECT_EQ(Busiest(64, 8, 64), 8) << "all are needed";
  // z = 1.4349: 1 + 1.4349 sqrt(8 x 248 / (8 x 255)) + (1.4349^2 - 1)/6 x 0.75 x 0.9375.
  EXPECT_NEAR(Busiest(256, 8, 8), 2.5391, 1e-3);
}

TEST(BusiestShareTest, IsTheMeanOfDraws) {
  std::mt19937 random(43);
  for (const int tokens : {4, 16, 64}) {
    for (const int devices : {2, 8, 32}) {
      constexpr int kExperts = 256;
      constexpr int kChosen = 8;
      double drawn = 0;
      double distinct = 0;
      for (int draw = 0; draw < kDraws / 10; ++draw) {
        const std::set<int> touched = Draw(kExperts, kChosen, tokens, random);
        std::vector<int> held(static_cast<size_t>(devices));
        for (const int expert : touched) ++held[static_cast<size_t>(expert * devices / kExperts)];
        drawn += 10.0 * *std::max_element(held.begin(), held.end()) / kDraws;
        distinct += 10.0 * static_cast<double>(touched.size()) / kDraws;
      }
      EXPECT_NEAR(Busiest(kExperts, devices, distinct) / drawn, 1, 0.12) << tokens << " on " << devices;
    }
  }
}

TEST(BusiestShareTest, MoreExpertsNeverMakeItLess) {
  for (const double devices : {2, 4, 16, 64}) {
    double before = 0;
    for (double distinct = 1; distinct <= 128; distinct += 0.5) {
      const double busiest = Busiest(128, devices, distinct);
      EXPECT_GE(busiest, before) << distinct << " on " << devices;
      before = busiest;
    }
  }
}

// Mixtral-8x7B on 8 devices, a token's two experts anywhere: in a long prompt the busiest gets as many times the mean
// as is stated; of 8 tokens that decode, 2.22 on each expert instead of 2 is what chance makes.
TEST(ExpertLoadTest, AllWaitForTheBusiestDevice) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = ArithmeticOnly();
  const auto work = [&](double imbalance, bool prefill) {
    Scenario scenario = MakeScenario(model, hardware, 8, 4096, 2);
    scenario.deployment.data_parallel = scenario.deployment.expert_parallel = 8;
    scenario.deployment.expert_load_imbalance = imbalance;
    const Estimate estimate = MustEstimate(scenario, {.operators = true});
    const auto& operators = prefill ? estimate.prefill_operators : estimate.decode_operators;
    const auto found = std::find_if(operators.begin(), operators.end(),
                                    [](const OperatorEstimate& op) { return op.name == "expert_up"; });
    return found->flops.value();
  };
  EXPECT_NEAR(work(1.5, true) / work(1, true), 1.5, 1e-9);
  EXPECT_EQ(work(1.1, false), work(1, false));
  EXPECT_NEAR(work(2, false) / work(1, false), 2 * 2 / (16 / (8 * (1 - std::pow(0.75, 8)))), 1e-9);
}

// In static batches 0.6 of the peak: 187.2 of 312 TFLOP/s, where the matrices beside them reach 231.7.
TEST(ExpertKernelsTest, ReachLessThanOtherProducts) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  const StepModel step = *MakeStepModel(MakeScenario(model, hardware, 8, 1024, 2), GenericPrior(), nullptr);
  EXPECT_NEAR(step.machine.expert_gemm.value(), 187.2e12, 0.05e12);
  const ExpertOperators& experts = *step.operators.experts;
  for (const MatrixOperator& product : {experts.up, experts.down}) {
    EXPECT_NEAR((product.flops_per_row / product.compute_per_row).value(), 187.2e12, 0.05e12);
    EXPECT_EQ(product.half_rows, 5);
  }
}

TEST(MatrixFormatTest, FollowsFromWeightsAndActivations) {
  EXPECT_EQ(FormatOf(Dtype::kBf16, Dtype::kBf16), MatrixFormat::k16Bit);
  EXPECT_EQ(FormatOf(Dtype::kFp8, Dtype::kBf16), MatrixFormat::k16Bit);
  EXPECT_EQ(FormatOf(Dtype::kFp8, Dtype::kFp8), MatrixFormat::k8Bit);
  EXPECT_EQ(FormatOf(Dtype::kInt8, Dtype::kInt8), MatrixFormat::k8Bit);
  EXPECT_EQ(FormatOf(Dtype::kFp8Block, Dtype::kFp8), MatrixFormat::kFp8Block);
  EXPECT_EQ(FormatOf(Dtype::kInt4, Dtype::kFp16), MatrixFormat::kInt4Weights);
  EXPECT_EQ(FormatOf(Dtype::kQ4_K_M, Dtype::kBf16), MatrixFormat::kInt4Weights);
  EXPECT_EQ(FormatOf(Dtype::kNvfp4, Dtype::kNvfp4), MatrixFormat::kNvfp4);
  EXPECT_EQ(FormatOf(Dtype::kMxfp4, Dtype::kBf16), MatrixFormat::kMxfp4Weights);
  EXPECT_EQ(FormatOf(Dtype::kMxfp4, Dtype::kFp8), MatrixFormat::kMxfp4Fp8);
}

// Of a prompt of 1,000 tokens; none: the step has no operator of that kind.
OperatorCost PromptCost(const Scenario& scenario, OperatorKind kind, const Efficiencies& efficiencies) {
  const StepModel step = *MakeStepModel(scenario, efficiencies, nullptr);
  const OperatorCosts costs = StepOperators(step, {.prefill_sequences = 1, .prefill_tokens = 1000, .logits_rows = 1});
  const auto found = std::ranges::find(costs, kind, &OperatorCost::kind);
  return found == costs.end() ? OperatorCost{} : *found;
}

// Mixtral-8x7B, 1,000 tokens on each of 8 devices: 7 others get all of them, or 7/8 of two on the mean. Through 32
// layers 1,000 x 7 x 4,096 elements of 16 bits are 1.835 GB to dispatch, and as much to combine; all to all a quarter.
// Where the busiest gets more, all wait for it all to all, and get no more where everyone gets everything.
TEST(ExpertExchangeTest, ByHand) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  const auto cost = [&](ExpertExchange exchange, double imbalance) {
    Scenario scenario = MakeScenario(model, hardware, 8, 1000, 2);
    scenario.deployment.data_parallel = scenario.deployment.expert_parallel = 8;
    scenario.deployment.expert_exchange = exchange;
    scenario.deployment.expert_load_imbalance = imbalance;
    return PromptCost(scenario, OperatorKind::kExpertExchange, GenericPrior());
  };
  const OperatorCost gathered = cost(ExpertExchange::kAllGather, 1);
  const OperatorCost routed = cost(ExpertExchange::kAllToAll, 1);
  EXPECT_EQ(gathered.sent, Bytes(32.0 * 1000 * 7 * 4096 * 4));
  EXPECT_EQ(routed.sent, gathered.sent / 4);
  EXPECT_GT(gathered.communication, 2 * routed.communication);
  EXPECT_EQ(cost(ExpertExchange::kAllGather, 2).communication, gathered.communication);
  EXPECT_GT(cost(ExpertExchange::kAllToAll, 2).communication, routed.communication);
}

// The same, 4 devices to a node: an all-gather inside, of 3/4 of the 65.536 MB of all tokens, and one between the two
// nodes, of half of a quarter of them. Experts in halves go to all devices as whole ones do.
TEST(ExpertExchangeTest, AllReplicasInTwoTiers) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  for (const int ep : {2, 8}) {
    Scenario scenario = MakeScenario(model, hardware, 8, 1000, 2);
    scenario.deployment.data_parallel = 8;
    scenario.deployment.expert_parallel = ep;
    scenario.deployment.devices_per_node = 4;
    scenario.deployment.scale_out = GigabytesPerSecond(25);
    const OperatorCost exchange = PromptCost(scenario, OperatorKind::kExpertExchange, GenericPrior());
    const Fabric fabric = MakeStepModel(scenario, GenericPrior(), nullptr)->machine.fabric;
    const Seconds gather = 0.75 * Bytes(65.536e6) / fabric.link + 0.5 * Bytes(16.384e6) / fabric.scale_out;
    EXPECT_NEAR(exchange.communication / (64 * (gather + 2 * fabric.latency)), 1, 1e-12) << ep;
  }
}

// Mixtral-8x7B: each token's rows of 4,096 elements for two experts, read and written in 16 bits to be sorted, and read
// to be added up: 2 x 4,096 x (2 x 2 + 2) = 49,152 bytes a token and layer; of rows that enter in 8 bits two thirds.
// Each of two expert-parallel devices has the tokens of both, and sorts the rows of all. The floor moves nothing.
TEST(ExpertRowsTest, ByHand) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  const auto moved = [&](int ep, Dtype activation, const Efficiencies& efficiencies) {
    Scenario scenario = MakeScenario(model, hardware, 1, 1000, 2);
    scenario.deployment.tensor_parallel = scenario.deployment.expert_parallel = ep;
    scenario.deployment.activation_dtype = activation;
    return PromptCost(scenario, OperatorKind::kExpertRows, efficiencies).bytes;
  };
  EXPECT_EQ(moved(1, Dtype::kBf16, GenericPrior()), 1000 * 32 * Bytes(49'152));
  EXPECT_EQ(moved(1, Dtype::kFp8, GenericPrior()), 1000 * 32 * Bytes(32'768));
  EXPECT_EQ(moved(2, Dtype::kBf16, GenericPrior()), 1000 * 32 * Bytes(49'152));
  EXPECT_EQ(moved(1, Dtype::kBf16, SpeedOfLight()), Bytes(0));
}

}  // namespace
}  // namespace foretoken

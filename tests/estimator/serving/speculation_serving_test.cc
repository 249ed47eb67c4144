// Speculative decoding where requests come and go: closed loops and arrivals at a rate.
#include <gtest/gtest.h>

#include <optional>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "tests/estimator/speculation_fixtures.h"

namespace foretoken {
namespace {

// Llama-2-7B drafts for itself, all of 4 tokens accepted: 10 decoded tokens are 2 rounds. Two in the loop: half of the
// other's prefill is just before, half of what is left met while decoding. It is 12.981108736 ms
// (ClosedLoopTest.ByHand) for each of both models, so that TPOT is that of two sequences and 1/2 x 1/2 x 2
// x 12.981108736 / 11 = 0.590050397 ms.
TEST(SpeculationTest, AClosedLoopByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = Speculative(model, model, hardware, 4, 1);
  scenario.workload.batch_size = 2;
  scenario.workload.output_tokens = 11;
  const auto by = [&] { return *EstimateOperatorModel(scenario, {.prefill_share = 0.5}, Provenance::kDatasheet, {}); };
  const Estimate batch = by();
  scenario.workload.batching = BatchingPolicy::kContinuous;
  const Estimate loop = by();
  EXPECT_NEAR((loop.tpot.time - batch.tpot.time).value(), 0.590050397e-3, 1e-12);
  EXPECT_EQ(loop.speculation->verify, batch.speculation->verify);
}

// Alone in the loop, or at a vanishing rate, a request meets what a batch of one does.
TEST(SpeculationTest, OneRequestOfASteadyStateIsABatchOfOne) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  scenario.workload.batch_size = 1;
  scenario.workload.output_tokens = 100;
  const auto by = [&] { return *EstimateOperatorModel(scenario, FedTokens(), Provenance::kDatasheet, {}); };
  const Estimate batch = by();
  scenario.workload.batching = BatchingPolicy::kContinuous;
  const Estimate loop = by();
  EXPECT_DOUBLE_EQ(loop.ttft.time.value(), batch.ttft.time.value());
  EXPECT_DOUBLE_EQ(loop.tpot.time.value(), batch.tpot.time.value());
  scenario.workload.request_rate_per_second = 1e-6;
  const Estimate open = by();
  EXPECT_NEAR(open.ttft.time / batch.ttft.time, 1, 1e-4);
  EXPECT_NEAR(open.tpot.time / batch.tpot.time, 1, 1e-4);
}

// The server admits a prompt once, not once for each of the two models.
TEST(SpeculationTest, APromptIsAdmittedOnce) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  Scenario scenario = Speculative(model, draft, hardware, 4, 0.8);
  scenario.workload.batch_size = 3;
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = Seconds(0);
  const auto ttft = [&] {
    return EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {})->ttft.time.value();
  };
  const double without = ttft();
  efficiencies.admission = Seconds(0.5);
  efficiencies.admission_per_request = Seconds(0.25);
  EXPECT_NEAR(ttft() - without, 0.5 + 3 * 0.25, 1e-9);
}

// A draft that is mostly right lets more requests through, one that is always wrong fewer.
TEST(SpeculationTest, MovesTheHighestStableRate) {
  const Model model = Llama2_7b();
  const Model draft = TinyDraft();
  const Hardware hardware = A100();
  const auto serves = [&](std::optional<double> acceptance, double rate) {
    Scenario scenario = Speculative(model, draft, hardware, 2, acceptance.value_or(0));
    if (!acceptance) scenario.speculation.reset();
    scenario.workload.output_tokens = 400;
    scenario.workload.batching = BatchingPolicy::kContinuous;
    scenario.workload.request_rate_per_second = rate;
    return ComputeEstimate(scenario).ok();
  };
  double rate = 0.1;
  while (serves(std::nullopt, rate)) rate *= 1.05;
  EXPECT_TRUE(serves(1, rate));
  EXPECT_FALSE(serves(0, rate / 1.2));
}

}  // namespace
}  // namespace foretoken

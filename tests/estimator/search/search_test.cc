#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/search/cheapest.h"
#include "estimator/search/solve.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Estimate> One(const Scenario& scenario) { return ComputeEstimate(scenario); }

Solution MustSolve(const Scenario& base, SolveFor what, const SolveRange& range) {
  const absl::StatusOr<Solution> solution = Solve(base, what, range, One);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? *solution : Solution{};
}

// An estimate whose TPOT is 1 ms times the batch, up to 1,000 sequences of memory.
absl::StatusOr<Estimate> LineUpTo1000(const Scenario& scenario) {
  const int batch = scenario.workload.batch_size;
  if (batch > 1000) return Refusal(Reason::kOutOfMemory, "workload.batch_size", "does not fit");
  Estimate estimate;
  estimate.tpot.time = Seconds(batch * 1e-3);
  if (!scenario.slo) return estimate;
  const double headroom = 1 - batch * 1e-3 / scenario.slo->max_tpot->value();
  estimate.slo = SloVerdict{headroom >= 0 ? Verdict::kFeasible : Verdict::kInfeasible, headroom};
  return estimate;
}

TEST(SolveTest, FindsTheEdgeOfALine) {
  struct Case {
    double tpot, max, want;
    Constraint binding;
  };
  const Case cases[] = {
      {0.0373, 1e6, 37, Constraint::kTpot}, {0.001, 1e6, 1, Constraint::kTpot},  {0.064, 1e6, 64, Constraint::kTpot},
      {0.0649, 1e6, 64, Constraint::kTpot}, {5, 1e6, 1000, Constraint::kMemory}, {5, 700, 700, Constraint::kRange},
      {0.0373, 37, 37, Constraint::kRange},
  };
  Scenario base;
  for (const Case& c : cases) {
    base.slo = Slo{.max_tpot = Seconds(c.tpot)};
    const Solution solution = *Solve(base, SolveFor::kBatchSize, {1, c.max}, LineUpTo1000);
    EXPECT_EQ(solution.value, c.want) << c.tpot;
    EXPECT_EQ(solution.binding, c.binding) << c.tpot;
    EXPECT_DOUBLE_EQ(solution.estimate->tpot.time.value(), c.want * 1e-3);
    EXPECT_LT(solution.evaluations, 45);
  }
  base.slo.reset();
  EXPECT_EQ(Solve(base, SolveFor::kBatchSize, {1, 1e6}, LineUpTo1000)->value, 1000);
}

TEST(SolveTest, NothingInTheRangeTellsTheNearest) {
  Scenario base;
  base.slo = Slo{.max_tpot = Seconds(0.005)};
  const Solution missed = *Solve(base, SolveFor::kBatchSize, {10, 1e6}, LineUpTo1000);
  EXPECT_FALSE(missed.value);
  EXPECT_EQ(missed.nearest, 10);
  EXPECT_EQ(missed.binding, Constraint::kTpot);
  EXPECT_EQ(missed.reason, "at batch_size 10: max_tpot_seconds 0.005 is missed: 0.01");
  const Solution none = *Solve(base, SolveFor::kBatchSize, {2000, 1e6}, LineUpTo1000);
  EXPECT_FALSE(none.value || none.nearest || none.estimate);
  EXPECT_EQ(none.binding, Constraint::kMemory);
  EXPECT_THAT(none.reason, HasSubstr("does not fit"));
}

TEST(SolveTest, RefusalsOfTheQuestionAndCancellationsAreErrors) {
  const Scenario base;
  const auto refuse = [](const Scenario&) -> absl::StatusOr<Estimate> {
    return Refusal(Reason::kNotModelled, "live_load", "no");
  };
  EXPECT_EQ(DetailOf(Solve(base, SolveFor::kBatchSize, {1, 100}, refuse).status()).reason, Reason::kNotModelled);
  int calls = 0;
  const auto cancel = [&calls](const Scenario& s) -> absl::StatusOr<Estimate> {
    if (++calls == 3) return absl::CancelledError("gone");
    return LineUpTo1000(s);
  };
  EXPECT_EQ(Solve(base, SolveFor::kBatchSize, {1, 100}, cancel).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(calls, 3);
}

// Values that satisfy only above an unstable start are found too.
TEST(SolveTest, TheSmallestNeedNotSatisfy) {
  const auto band = [](const Scenario& s) -> absl::StatusOr<Estimate> {
    const int batch = s.workload.batch_size;
    if (batch < 5) return Refusal(Reason::kUnstableLoad, "workload.request_rate_per_second", "too fast");
    return LineUpTo1000(s);
  };
  Scenario base;
  base.slo = Slo{.max_tpot = Seconds(0.1)};
  EXPECT_EQ(Solve(base, SolveFor::kBatchSize, {1, 1e6}, band)->value, 100);
}

TEST(SolveTest, TheLargestBatchIsWhatMemoryHolds) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Scenario base = MakeScenario(model, hardware, 1, 1024, 128);
  const Solution solution = MustSolve(base, SolveFor::kBatchSize, {1, 1e6});
  EXPECT_EQ(solution.value, *ComputeEstimate(base)->memory->largest_batch);
  EXPECT_EQ(solution.binding, Constraint::kMemory);
}

// The neighbour misses what the value meets.
TEST(SolveTest, TheNextBatchAndTheNextPromptTokenMissTheSlo) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario base = MakeScenario(model, hardware, 4, 512, 64);
  base.slo = Slo{.max_ttft = Seconds(1), .max_tpot = Seconds(0.025)};
  const Solution batch = MustSolve(base, SolveFor::kBatchSize, {1, 1e6});
  ASSERT_TRUE(batch.value);
  Scenario next = base;
  next.workload.batch_size = static_cast<int>(*batch.value) + 1;
  EXPECT_EQ(ComputeEstimate(next)->slo->verdict, Verdict::kInfeasible);
  next.workload.batch_size = static_cast<int>(*batch.value);
  EXPECT_EQ(ComputeEstimate(next)->slo->verdict, Verdict::kFeasible);

  const Solution prompt = MustSolve(base, SolveFor::kPromptTokens, {1, 100000});
  ASSERT_TRUE(prompt.value);
  EXPECT_EQ(prompt.binding, Constraint::kTtft);
  EXPECT_LE(prompt.estimate->ttft.time, Seconds(1));
  next = base;
  next.workload.prompt_tokens = static_cast<int>(*prompt.value) + 1;
  EXPECT_GT(ComputeEstimate(next)->ttft.time, Seconds(1));
}

TEST(SolveTest, TheHighestRateIsBoundByStabilityOrTheSlo) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario base = MakeScenario(model, hardware, 1, 512, 64);
  base.workload.batching = BatchingPolicy::kContinuous;
  const Solution stable = MustSolve(base, SolveFor::kRequestRate, {1e-3, 1e6});
  EXPECT_EQ(stable.binding, Constraint::kStability);
  base.slo = Slo{.max_tpot = Seconds(0.03)};
  const Solution slo = MustSolve(base, SolveFor::kRequestRate, {1e-3, 1e6});
  EXPECT_EQ(slo.binding, Constraint::kTpot);
  EXPECT_LT(*slo.value, *stable.value);
  base.workload.request_rate_per_second = *slo.value * 1.0002;
  EXPECT_EQ(ComputeEstimate(base)->slo->verdict, Verdict::kInfeasible);
}

// 141 GB of weights need two devices of 77.3 usable GB; 20 ms a token needs more.
TEST(SolveTest, TheSmallestTensorParallelism) {
  const Model model = Llama31_70b();
  const Hardware hardware = A100();
  Scenario base = MakeScenario(model, hardware, 1, 512, 64);
  const Solution fits = MustSolve(base, SolveFor::kTensorParallel, {1, 64});
  EXPECT_EQ(fits.value, 2);
  EXPECT_EQ(fits.binding, Constraint::kMemory);
  base.slo = Slo{.max_tpot = Seconds(0.03)};
  const Solution fast = MustSolve(base, SolveFor::kTensorParallel, {1, 64});
  ASSERT_TRUE(fast.value);
  EXPECT_EQ(fast.binding, Constraint::kTpot);
  base.deployment.tensor_parallel = static_cast<int>(*fast.value) / 2;
  EXPECT_GT(ComputeEstimate(base)->tpot.time, Seconds(0.03));
}

TEST(SolveTest, TensorParallelismDividesTheHeadsOrIsAPowerOfTwo) {
  EXPECT_THAT(TensorParallelChoices(40, {1, 16}), ElementsAre(1, 2, 4, 5, 8, 10, 16));
  EXPECT_THAT(TensorParallelChoices(12, {3, 12}), ElementsAre(3, 4, 6, 8, 12));
}

Estimate Costing(double cost, Verdict verdict = Verdict::kFeasible, double headroom = 0.1) {
  Estimate estimate;
  estimate.cost = CostEstimate{.per_request = cost};
  estimate.slo = SloVerdict{verdict, headroom};
  return estimate;
}

TEST(CheapestTest, TheCheapestThatSatisfies) {
  Cheapest cheapest(Slo{.max_ttft = Seconds(1)});
  cheapest.Add(Costing(1, Verdict::kInfeasible, -1));
  cheapest.Add(Costing(3));
  cheapest.Add(Refusal(Reason::kOutOfMemory, "", "does not fit"));
  cheapest.Add(Costing(2));
  cheapest.Add(Costing(2));
  EXPECT_EQ(cheapest.solution().value, 3);
  EXPECT_EQ(cheapest.solution().evaluations, 5);
  EXPECT_EQ(cheapest.solution().binding, Constraint::kUnspecified);
}

TEST(CheapestTest, NoneTellsTheNearest) {
  Cheapest cheapest(Slo{.max_e2e = Seconds(1)});
  cheapest.Add(Refusal(Reason::kOutOfMemory, "", "does not fit"));
  EXPECT_EQ(cheapest.solution().binding, Constraint::kMemory);
  Estimate slow = Costing(1, Verdict::kInfeasible, -1);
  slow.e2e.time = Seconds(2);
  cheapest.Add(slow);
  Estimate slower = Costing(1, Verdict::kInfeasible, -3);
  slower.e2e.time = Seconds(4);
  cheapest.Add(slower);
  EXPECT_FALSE(cheapest.solution().value);
  EXPECT_EQ(cheapest.solution().nearest, 1);
  EXPECT_EQ(cheapest.solution().reason, "candidate 1: max_e2e_seconds 1 is missed: 2");
}

}  // namespace
}  // namespace foretoken

#include "estimator/simulation/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/estimator/simulation/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

SimulationSpec Random(int requests) {
  return {.prompts = UniformLengths{.low = 50, .high = 1500},
          .outputs = LogNormalLengths{.mean = 120, .cv = 0.9},
          .requests = requests,
          .rows = true};
}

TEST(SimulationTest, ASeedGivesOneResult) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Scenario scenario = Served(model, hardware, 16, 500, 100);
  SimulationSpec spec = Random(300);
  const SimulationResult first = MustSimulate(scenario, spec);
  const SimulationResult again = MustSimulate(scenario, spec);
  EXPECT_EQ(first.rows, again.rows);
  EXPECT_EQ(first.itl, again.itl);
  spec.seed = 2;
  EXPECT_NE(first.rows, MustSimulate(scenario, spec).rows);
}

// Several decode steps in one jump, against each step by itself.
TEST(SimulationTest, JumpsAreTheirSteps) {
  for (const Model& model : {Llama2_7b(), DeepseekV2Lite(), Gemma2_9b()}) {
    const Hardware hardware = A100();
    for (const int batch : {1, 4, 16}) {
      for (const bool arrive : {false, true}) {
        Scenario scenario = Served(model, hardware, batch, 500, 100);
        if (arrive) scenario.workload.request_rate_per_second = 0.2 * batch;
        SimulationSpec spec = Random(200);
        spec.scheduler.kv_tokens = 20'000;
        const SimulationResult jumps = MustSimulate(scenario, spec);
        spec.every_step_by_itself = true;
        const SimulationResult steps = MustSimulate(scenario, spec);
        SCOPED_TRACE(testing::Message() << model.id << " " << batch << " " << arrive);
        EXPECT_EQ(jumps.counts.steps, steps.counts.steps);
        EXPECT_NEAR(jumps.e2e->mean.value / steps.e2e->mean.value, 1, 1e-5);
        EXPECT_NEAR(jumps.ttft->p90.value / steps.ttft->p90.value, 1, 1e-4);
        EXPECT_NEAR(jumps.itl->p50.value / steps.itl->p50.value, 1, 2e-3);
        EXPECT_NEAR(jumps.mean_kv_share / steps.mean_kv_share, 1, 1e-2);
        EXPECT_NEAR(jumps.most_kv_share, steps.most_kv_share, 1e-12);
      }
    }
  }
}

// A run to its end computes each prompt once, and again what preemptions dropped; and gives each request its tokens.
TEST(SimulationTest, TokensAreConserved) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const SchedulerPolicy policy :
       {SchedulerPolicy::kMixed, SchedulerPolicy::kPrefillFirst, SchedulerPolicy::kInFlight}) {
    for (const bool tight : {false, true}) {
      SimulationSpec spec = Random(300);
      spec.whole_run = true;
      spec.scheduler.policy = policy;
      if (tight) spec.scheduler.kv_tokens = 6'000;
      if (tight && policy == SchedulerPolicy::kInFlight) spec.scheduler.max_utilization = true;
      const SimulationResult result = MustSimulate(Served(model, hardware, 32, 500, 100), spec);
      SCOPED_TRACE(testing::Message() << static_cast<int>(policy) << " " << tight);
      int64_t prompts = 0;
      int64_t outputs = 0;
      for (const SimulatedRequest& row : result.rows) {
        prompts += row.prompt_tokens;
        outputs += row.output_tokens;
      }
      EXPECT_EQ(result.requests, 300);
      EXPECT_EQ(result.counts.prompt_tokens, prompts);
      EXPECT_EQ(result.counts.prefilled_tokens, prompts + result.counts.dropped_tokens);
      EXPECT_EQ(result.counts.output_tokens, outputs);
      EXPECT_EQ(tight, result.counts.preemptions > 0);
      EXPECT_NEAR(result.output_tokens_per_second * result.simulated.value(), static_cast<double>(outputs), 1e-3);
      EXPECT_EQ(result.waiting_at_end, 0);
    }
  }
}

// Little's law: requests in the system are their rate times their time.
TEST(SimulationTest, HoldsToLittlesLaw) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const SimulationResult result = MustSimulate(Served(model, hardware, 16, 500, 100), Random(5000));
  EXPECT_NEAR(result.requests_per_second * result.e2e->mean.value, 16, 0.16);
  EXPECT_NEAR(result.mean_running + result.mean_waiting, 16, 0.4);  // the rest are in admission, or between steps
}

TEST(SimulationTest, MoreLoadIsNeverFaster) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const SchedulerPolicy policy :
       {SchedulerPolicy::kMixed, SchedulerPolicy::kPrefillFirst, SchedulerPolicy::kInFlight}) {
    double loop = 0;
    double rate = 0;
    for (const int more : {1, 2, 4, 8, 16, 32, 64}) {
      SimulationSpec spec = Random(2000);
      spec.scheduler.policy = policy;
      const SimulationResult closed = MustSimulate(Served(model, hardware, more, 500, 100), spec);
      EXPECT_GE(closed.ttft->mean.value, loop) << more;
      loop = closed.ttft->mean.value;
      spec.arrivals = OpenLoop{.requests_per_second = 0.05 * more};
      const SimulationResult open = MustSimulate(Served(model, hardware, 1, 500, 100), spec);
      EXPECT_GE(open.ttft->mean.value, rate) << more;
      rate = open.ttft->mean.value;
    }
  }
}

// Arrivals of the same rate that come in bursts wait longer.
TEST(SimulationTest, BurstsWaitLonger) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  double before = 0;
  for (const double cv : {0.2, 1.0, 3.0}) {
    SimulationSpec spec = Random(4000);
    spec.arrivals = OpenLoop{.requests_per_second = 3, .cv = cv};
    const SimulationResult result = MustSimulate(Served(model, hardware, 1, 500, 100), spec);
    EXPECT_NEAR(result.requests_per_second, 3, 4 * 3 * cv / std::sqrt(4000)) << cv;
    EXPECT_GT(result.ttft->p90.value, before) << cv;
    before = result.ttft->p90.value;
  }
}

// The spread over seeds is what the results state as their errors.
TEST(SimulationTest, ErrorsAreTheSpreadOverSeeds) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  constexpr int kSeeds = 40;
  double sum = 0, squares = 0, errors = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    SimulationSpec spec = Random(2000);
    spec.seed = static_cast<uint64_t>(seed);
    spec.arrivals = OpenLoop{.requests_per_second = 3};
    const SimulatedValue p90 = MustSimulate(Served(model, hardware, 1, 500, 100), spec).ttft->p90;
    sum += p90.value / kSeeds;
    squares += p90.value * p90.value / kSeeds;
    errors += *p90.error / kSeeds;
  }
  EXPECT_NEAR(errors / std::sqrt(squares - sum * sum), 1, 0.3);
}

TEST(SimulationTest, EndsWhereItKnowsEnough) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  SimulationSpec spec = Random(50'000);
  spec.relative_error = 0.05;
  const SimulationResult result = MustSimulate(Served(model, hardware, 8, 500, 100), spec);
  EXPECT_EQ(result.end, SimulationEnd::kPrecision);
  EXPECT_LT(result.requests, 5000);
  EXPECT_LE(*result.ttft->p90.error, 0.05 * result.ttft->p90.value);
  EXPECT_LE(*result.e2e->p90.error, 0.05 * result.e2e->p90.value);
  EXPECT_GT(*result.itl->mean.error, 0);
}

TEST(SimulationTest, EndsAtItsMostSteps) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  SimulationSpec spec = Random(1000);
  spec.max_steps = 500;
  const SimulationResult result = MustSimulate(Served(model, hardware, 8, 500, 100), spec);
  EXPECT_EQ(result.end, SimulationEnd::kMaxSteps);
  EXPECT_EQ(result.counts.steps, 500);
  ASSERT_EQ(result.warnings.size(), 1);
  EXPECT_THAT(result.warnings[0].message, HasSubstr("after 500 steps"));
}

// A tenth of a second for each request, at ten times the rate that is served: the queue grows.
TEST(SimulationTest, WarnsOfAQueueThatGrows) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  SimulationSpec spec = Random(1000);
  spec.arrivals = OpenLoop{.requests_per_second = 100};
  const SimulationResult result = MustSimulate(Served(model, hardware, 1, 500, 100), spec);
  ASSERT_EQ(result.warnings.size(), 1);
  EXPECT_THAT(result.warnings[0].message, HasSubstr("the queue grows"));
  EXPECT_GT(result.most_waiting, 900);
}

// A model for 1,000 tokens.
TEST(SimulationTest, WarnsOfRequestsThatAreTooLongForTheModel) {
  Model model = Llama2_7b();
  model.max_position_embeddings = 1000;
  const Hardware hardware = A100();
  struct Case {
    const char* name;
    int workload_tokens;  // out; the prompt has 500
    SimulationSpec spec;
    const char* field;  // "": no warning
  };
  const Case cases[] = {
      {"the workload", 501, {.requests = 20}, "workload.prompt_tokens"},
      {"a workload that fits", 500, {.requests = 20}, ""},
      {"lengths that fit", 501, {.outputs = FixedLength{500}, .requests = 20}, ""},
      {"outputs", 100, {.outputs = FixedLength{501}, .requests = 20}, "simulation.output_lengths"},
      {"prompts", 100, {.prompts = FixedLength{901}, .requests = 20}, "simulation.prompt_lengths"},
      {"a trace", 100, {.arrivals = Trace{{{0, 10, 2}, {0, 999, 2}}}}, "simulation.trace.requests"},
  };
  for (const Case& c : cases) {
    const SimulationResult result = MustSimulate(Served(model, hardware, 4, 500, c.workload_tokens), c.spec);
    ASSERT_EQ(result.warnings.size(), c.field[0] == '\0' ? 0u : 1u) << c.name;
    if (result.warnings.empty()) continue;
    EXPECT_EQ(result.warnings[0].code, WarningCode::kContextTooLong) << c.name;
    EXPECT_EQ(result.warnings[0].field, c.field) << c.name;
    EXPECT_THAT(result.warnings[0].message, HasSubstr("a request of 1001 prompt and output tokens")) << c.name;
  }
}

// Two replicas with half of the load each are one replica twice.
TEST(SimulationTest, ReplicasShareTheLoad) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario two = Served(model, hardware, 16, 500, 100);
  two.deployment.data_parallel = 2;
  const SimulationResult one = MustSimulate(Served(model, hardware, 8, 500, 100), Random(500));
  const SimulationResult both = MustSimulate(two, Random(500));
  EXPECT_EQ(one.rows, both.rows);
  EXPECT_NEAR(both.requests_per_second, 2 * one.requests_per_second, 1e-9);
  SimulationSpec trace{.arrivals = Trace{{{0, 10, 2}, {0, 20, 2}, {0.1, 30, 2}}}, .rows = true};
  const SimulationResult dealt = MustSimulate(two, trace);
  ASSERT_EQ(dealt.rows.size(), 2);  // the first and the third
  EXPECT_EQ(dealt.rows[1].prompt_tokens, 30);
}

// A staggered loop is spread from the start; its first requests are cut.
TEST(SimulationTest, AStaggeredLoopEndsOneByOne) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  SimulationSpec spec{
      .arrivals = ClosedLoop{.concurrency = 4, .staggered = true}, .requests = 4, .warmup_requests = 0, .rows = true};
  const SimulationResult result = MustSimulate(Served(model, hardware, 1, 10, 40), spec, HostOnly());
  ASSERT_EQ(result.rows.size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result.rows[i].output_tokens, 10 * (static_cast<int>(i) + 1));
    EXPECT_NEAR(result.rows[i].e2e, 10 * kStep * static_cast<double>(i + 1), 1e-9);
  }
}

// Every second request misses the SLO of 1.5 steps.
TEST(SimulationTest, GoodputCountsRequestsThatMeetEveryBound) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  Scenario scenario = Served(model, hardware, 1, 10, 2);
  scenario.slo = Slo{.max_ttft = Seconds(0.015)};
  SimulationSpec spec{.arrivals = Trace{{{0, 10, 2}, {0, 10, 2}}},
                      .scheduler = {.max_num_batched_tokens = 10, .max_num_seqs = 10}};
  const SimulationResult result = MustSimulate(scenario, spec, HostOnly());
  EXPECT_NEAR(*result.goodput, 1 / result.counted.value(), 1e-9);
  EXPECT_NEAR(result.requests_per_second, 2 / result.counted.value(), 1e-9);
  scenario.slo.reset();
  EXPECT_FALSE(MustSimulate(scenario, spec, HostOnly()).goodput.has_value());
}

TEST(SimulationTest, OneTokenHasNoTimePerToken) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const SimulationResult result = MustSimulate(Served(model, hardware, 4, 100, 1), {.requests = 50});
  EXPECT_FALSE(result.tpot.has_value());
  EXPECT_FALSE(result.itl.has_value());
  EXPECT_EQ(result.ttft->mean.value, result.e2e->mean.value);
}

// A million requests a second: no more queue than can begin, so that memory stays bounded.
TEST(SimulationTest, AFloodIsBounded) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  SimulationSpec spec = Random(500);
  spec.arrivals = OpenLoop{.requests_per_second = 1e6};
  spec.scheduler.max_num_seqs = 64;
  const SimulationResult result = MustSimulate(Served(model, hardware, 1, 500, 100), spec);
  EXPECT_EQ(result.requests, 500);
  EXPECT_LE(result.most_waiting, 500 + 125 + 64);
}

}  // namespace
}  // namespace foretoken

// Schedules that are worked out by hand: every step takes 10 ms, so that times are counts of steps.
#include "estimator/simulation/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

#include "estimator/base/errors.h"
#include "tests/estimator/simulation/fixtures.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

// A request in steps: to its first and to its last token.
struct InSteps {
  double ttft, e2e;
  bool operator==(const InSteps&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const InSteps& s) { return out << s.ttft << " to " << s.e2e; }
};

double Steps(double seconds) { return std::round(seconds / kStep * 1e6) / 1e6; }

struct Ran {
  std::vector<InSteps> requests;  // in order of arrival, then of their prompts
  SimulationResult result;
};

Ran Schedule(const std::vector<Trace::Request>& requests, const SchedulerSpec& scheduler,
             const Efficiencies& efficiencies = HostOnly()) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  SimulationSpec spec{.arrivals = Trace{requests}, .scheduler = scheduler, .rows = true};
  Ran ran{.result = MustSimulate(Served(model, hardware, 1, 10, 10), spec, efficiencies)};
  std::vector<SimulatedRequest>& rows = ran.result.rows;
  std::sort(rows.begin(), rows.end(), [](const SimulatedRequest& a, const SimulatedRequest& b) {
    return std::tie(a.arrival, a.prompt_tokens) < std::tie(b.arrival, b.prompt_tokens);
  });
  for (const SimulatedRequest& row : rows) ran.requests.push_back({Steps(row.ttft), Steps(row.e2e)});
  return ran;
}

SchedulerSpec Scheduler(SchedulerPolicy policy, int step_tokens, int sequences = 8) {
  return {.policy = policy, .max_num_batched_tokens = step_tokens, .max_num_seqs = sequences, .kv_tokens = 10'000};
}

// A step of 12 tokens. 1: A's 10 and 2 of B's 11. 2: A decodes, the other 9 of B. 3: both decode, A for the last time.
TEST(EngineTest, MixedStepsCutPromptsToWhatDecodesLeave) {
  const Ran ran = Schedule({{0, 10, 3}, {0, 11, 2}}, Scheduler(SchedulerPolicy::kMixed, 12));
  EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 3}, InSteps{2, 3}));
  EXPECT_EQ(ran.result.counts.steps, 3);
  EXPECT_EQ(ran.result.counts.prefilled_tokens, 21);
  EXPECT_EQ(ran.result.counts.most_running, 2);
  EXPECT_NEAR(ran.result.tpot->mean.value, kStep, 1e-9);
}

// The same, but A waits while step 2 prefills B. A decodes in steps 3 and 4: gaps of two steps and of one.
TEST(EngineTest, PromptsFirstStopDecodes) {
  const Ran ran = Schedule({{0, 10, 3}, {0, 11, 2}}, Scheduler(SchedulerPolicy::kPrefillFirst, 12));
  EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 4}, InSteps{2, 3}));
  EXPECT_NEAR(ran.result.itl->mean.value, (2 + 1 + 1) * kStep / 3, 1e-9);
  EXPECT_NEAR(ran.result.itl->p99.value, 2 * kStep, 0.01 * kStep);
}

TEST(EngineTest, PromptsFirstWithMixedChunksRunAsMixed) {
  SchedulerSpec scheduler = Scheduler(SchedulerPolicy::kPrefillFirst, 12);
  scheduler.mixed_chunk = true;
  EXPECT_THAT(Schedule({{0, 10, 3}, {0, 11, 2}}, scheduler).requests, ElementsAre(InSteps{1, 3}, InSteps{2, 3}));
}

// B's 11 tokens fit whole beside A's decode in step 2, and its prompt is not cut for step 1.
TEST(EngineTest, InFlightBatchingTakesPromptsWhole) {
  const Ran ran = Schedule({{0, 10, 4}, {0, 11, 2}}, Scheduler(SchedulerPolicy::kInFlight, 12));
  EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 4}, InSteps{2, 3}));
  SchedulerSpec chunked = Scheduler(SchedulerPolicy::kInFlight, 14);
  chunked.chunked_prompt = true;
  // 1: 10 and 4 of 20. 2: A decodes, 13 of B. 3: A decodes, the last 3 of B.
  EXPECT_THAT(Schedule({{0, 10, 4}, {0, 20, 2}}, chunked).requests, ElementsAre(InSteps{1, 4}, InSteps{3, 4}));
}

// A prompt of 30 tokens is longer than a step of 12: it is cut in 12, 12 and 6.
TEST(EngineTest, APromptLongerThanAStepIsCutInAnyCase) {
  EXPECT_THAT(Schedule({{0, 30, 1}}, Scheduler(SchedulerPolicy::kInFlight, 12)).requests, ElementsAre(InSteps{3, 3}));
}

// Memory for 24 tokens in blocks of 4. No-evict keeps 16 for A, 12 and 4, so that B's 12 wait for its end at step 4.
TEST(EngineTest, InFlightBatchingReservesWholeRequests) {
  SchedulerSpec scheduler = Scheduler(SchedulerPolicy::kInFlight, 100);
  scheduler.kv_block_tokens = 4;
  scheduler.kv_tokens = 24;
  const std::vector<Trace::Request> requests = {{0, 10, 4}, {0, 11, 1}};
  EXPECT_THAT(Schedule(requests, scheduler).requests, ElementsAre(InSteps{1, 4}, InSteps{5, 5}));
  // Without the reservation, 12 and 12 fit at once.
  scheduler.max_utilization = true;
  EXPECT_THAT(Schedule(requests, scheduler).requests, ElementsAre(InSteps{1, 4}, InSteps{1, 1}));
}

// Memory for 12 tokens in blocks of 4, two requests of 4 in and 5 out. Step 1 prefills both in a block each. Step 2
// feeds each a fifth token, but one block is left: B, the newer, gives up its block, and A goes on to its end at
// step 5. B computes its 4 tokens and the one it made again in step 6, which gives its second; it ends at step 9.
TEST(EngineTest, TheNewestIsPreemptedAndComputedAgain) {
  for (const SchedulerPolicy policy :
       {SchedulerPolicy::kMixed, SchedulerPolicy::kPrefillFirst, SchedulerPolicy::kInFlight}) {
    SchedulerSpec scheduler = Scheduler(policy, 100);
    scheduler.kv_block_tokens = 4;
    scheduler.kv_tokens = 12;
    if (policy == SchedulerPolicy::kInFlight) scheduler.max_utilization = true;
    const Ran ran = Schedule({{0, 4, 5}, {0, 4, 5}}, scheduler);
    EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 5}, InSteps{1, 9})) << static_cast<int>(policy);
    const EngineCounts& counts = ran.result.counts;
    EXPECT_EQ(counts.preemptions, 1);
    EXPECT_EQ(counts.dropped_tokens, 5);
    EXPECT_EQ(counts.prefilled_tokens, 4 + 4 + 5);
    EXPECT_EQ(counts.output_tokens, 10);
    // Gaps: seven of one step, and B's second token after steps 2 to 6.
    EXPECT_NEAR(ran.result.itl->mean.value, (7 + 5) * kStep / 8, 1e-9);
    EXPECT_NEAR(ran.result.most_kv_share, 2.0 / 3, 1e-12);  // a sequence of 8 tokens and fewer, or two of 4
  }
}

// With one batch slot, B's prompt follows A's last token.
TEST(EngineTest, BatchSlotsAreWaitedFor) {
  const Ran ran = Schedule({{0, 10, 3}, {0, 11, 2}}, Scheduler(SchedulerPolicy::kMixed, 100, 1));
  EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 3}, InSteps{4, 5}));
  EXPECT_EQ(ran.result.most_waiting, 1);
  EXPECT_NEAR(ran.result.mean_waiting, 3.0 / 5, 1e-9);
  EXPECT_NEAR(ran.result.mean_running, 1, 1e-9);
}

// B arrives as step 2 runs, and joins step 3; C arrives where step 5 begins, and joins step 6, the next, like vLLM's
// API server, whose request reaches the engine after its step was planned. D finds the engine idle.
TEST(EngineTest, ArrivalsJoinTheNextStep) {
  const Ran ran =
      Schedule({{0, 10, 6}, {0.012, 11, 2}, {0.04, 12, 1}, {1, 13, 2}}, Scheduler(SchedulerPolicy::kMixed, 100));
  EXPECT_THAT(ran.requests, ElementsAre(InSteps{1, 6}, InSteps{1.8, 2.8}, InSteps{2, 2}, InSteps{1, 2}));
}

// Admission takes 3 ms and 2 ms for each request that arrives with it: before the queue, not in the engine.
TEST(EngineTest, AdmissionComesBeforeTheQueue) {
  Efficiencies efficiencies = HostOnly();
  efficiencies.admission = Seconds(0.003);
  efficiencies.admission_per_request = Seconds(0.002);
  EXPECT_THAT(Schedule({{0, 10, 3}}, Scheduler(SchedulerPolicy::kMixed, 100), efficiencies).requests,
              ElementsAre(InSteps{1.5, 3.5}));
}

// 6 of 10 prompt tokens are cached: a step of 4 tokens prefills the rest.
TEST(EngineTest, ACachedPrefixIsNotComputed) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  Scenario scenario = Served(model, hardware, 1, 10, 2);
  scenario.workload.cached_prefix_tokens = 6;
  SimulationSpec spec{
      .arrivals = Trace{{{0, 10, 2}, {1, 3, 2}}}, .scheduler = Scheduler(SchedulerPolicy::kMixed, 4, 4), .rows = true};
  const SimulationResult result = MustSimulate(scenario, spec, HostOnly());
  EXPECT_NEAR(result.rows[0].ttft, kStep, 1e-9);
  // Of a prompt that the prefix covers, the last token is computed.
  EXPECT_EQ(result.counts.prefilled_tokens, 4 + 1);
}

TEST(EngineTest, ARequestThatFitsInNoMemoryIsRefused) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  SimulationSpec spec{.arrivals = Trace{{{0, 9'000, 1'001}}}, .scheduler = Scheduler(SchedulerPolicy::kMixed, 100)};
  const auto result = Simulate(Served(model, hardware, 1, 10, 2), spec, HostOnly(), NeverCancelled);
  EXPECT_EQ(DetailOf(result.status()).reason, Reason::kOutOfMemory);
  EXPECT_THAT(std::string(result.status().message()),
              "a request of 9000 prompt and 1001 output tokens; the KV cache of a replica holds 10000 tokens");
}

TEST(EngineTest, StopsWhereItsCallerGivesUp) {
  const Model model = Llama2_7b();
  const Hardware hardware = NoTime();
  int looks = 0;
  const auto cancelled = [&looks] { return ++looks > 3; };
  SimulationSpec spec{.requests = 100'000};
  const auto result = Simulate(Served(model, hardware, 8, 10, 20), spec, HostOnly(), cancelled);
  EXPECT_TRUE(absl::IsCancelled(result.status()));
  EXPECT_EQ(looks, 4);
}

}  // namespace
}  // namespace foretoken

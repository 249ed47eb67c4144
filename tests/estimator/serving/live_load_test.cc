// The next request at a busy replica. By hand: Llama-2-7B where only arithmetic takes time, prompts of 100 tokens, 11
// out; a prompt takes p1 = 12.981108736 ms, a decoding sequence 0.13214154752 ms a step (ClosedLoopTest.ByHand).
#include "estimator/serving/live_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "estimator/methods/operator_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

constexpr double kPrompt = 12.981108736e-3;
constexpr double kRow = 0.13214154752e-3;

absl::StatusOr<Estimate> Ask(const Scenario& scenario, const Efficiencies& efficiencies) {
  return EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {.token_latencies = true});
}

class LiveLoadTest : public testing::Test {
 protected:
  Scenario Under(const LiveLoad& load, int output = 11) const {
    Scenario scenario = MakeScenario(model_, hardware_, 1, 100, output);
    scenario.live_load = load;
    return scenario;
  }
  Estimate By(const LiveLoad& load, int output = 11) const { return By(Under(load, output)); }
  Estimate By(const Scenario& scenario) const {
    const absl::StatusOr<Estimate> estimate = Ask(scenario, {});
    EXPECT_TRUE(estimate.ok()) << estimate.status();
    return estimate.ok() ? *estimate : Estimate{};
  }

  const Model model_ = Llama2_7b();
  const Hardware hardware_ = ArithmeticOnly();
  const Model llama_70b_ = Llama31_70b();
  const Model gemma_9b_ = Gemma2_9b();  // half of the layers see 4,096 tokens
  const Hardware a100_ = A100();
};

// Three prompts before this one, nobody running: all four share a step.
TEST_F(LiveLoadTest, WaitsForTheQueue) {
  const Estimate estimate = By({.waiting_requests = 3, .queued_prefill_tokens = 300});
  EXPECT_NEAR(estimate.ttft.time.value(), 4 * kPrompt, 1e-10);
  EXPECT_NEAR(estimate.prefill.parts->queueing.value(), 3 * kPrompt, 1e-10);
  EXPECT_NEAR(estimate.tpot.time.value(), 4 * kRow, 1e-10);
  // Either of the two figures gives the other: prompts like this one.
  EXPECT_NEAR(By({.waiting_requests = 3}).ttft.time.value(), estimate.ttft.time.value(), 1e-12);
  EXPECT_TRUE(estimate.warnings.empty());
  const Estimate guessed = By({.queued_prefill_tokens = 300});
  EXPECT_NEAR(guessed.ttft.time.value(), estimate.ttft.time.value(), 1e-12);
  ASSERT_EQ(guessed.warnings.size(), 1u);
  EXPECT_EQ(guessed.warnings[0].field, "live_load.waiting_requests");
  EXPECT_THAT(guessed.warnings[0].message, HasSubstr("300 queued_prefill_tokens; taken as 3, as long as this request"));
  // In flight they are a step ahead, and decode beside this one's prompt.
  EXPECT_NEAR(By({.in_flight_prefill_tokens = 300}).ttft.time.value(), 4 * kPrompt + 3 * kRow, 1e-10);
}

// Room for two prompts a step. Of three, two go first and one shares this one's step, of four two and two, beside which
// two decode; then this one has a step alone, beside four.
TEST_F(LiveLoadTest, TheLastOfTheQueueShareTheRequestsStep) {
  const LiveLoad load{.max_num_batched_tokens = 200};
  LiveLoad three = load, four = load;
  three.waiting_requests = 3;
  four.waiting_requests = 4;
  EXPECT_NEAR(By(three).ttft.time.value(), 4 * kPrompt + 2 * kRow, 1e-10);
  EXPECT_NEAR(By(four).ttft.time.value(), 5 * kPrompt + (2 + 4) * kRow, 1e-10);
  // Where they do not fit they have steps of their own. (Prompts of 150 take a little more attention.)
  three.queued_prefill_tokens = 450;
  EXPECT_NEAR(By(three).ttft.time.value(), 5.5 * kPrompt + (3 + 3) * kRow, 6e-5);
}

// With one token to make they end with their prompts: nobody decodes.
TEST_F(LiveLoadTest, WhoHasMadeItsTokensDoesNotRide) {
  EXPECT_NEAR(By({.waiting_requests = 40, .max_num_batched_tokens = 100}, 1).ttft.time.value(), 41 * kPrompt, 1e-10);
}

// Five run and have 3 tokens left on average: they end after 1, 2, 3, 4 and 5 steps, one of which is this prompt's.
TEST_F(LiveLoadTest, RunningSequencesEnd) {
  const LiveLoad load{.running_sequences = 5, .running_context_tokens = 1000, .remaining_output_tokens = 3};
  const Estimate estimate = By(load);
  EXPECT_NEAR(estimate.ttft.time.value(), kPrompt + 5 * kRow + 5 * kRow / 2, 1e-10);
  EXPECT_NEAR(estimate.decode.time.value(), (5 + 4 + 3 + 2 + 6) * kRow, 1e-10);
  ASSERT_EQ(estimate.token_latencies.size(), 11u);
  EXPECT_NEAR(estimate.token_latencies[2].value(), 4 * kRow, 1e-10);
  EXPECT_NEAR(estimate.token_latencies[5].value(), kRow, 1e-10);
  // Not stated: none ends.
  EXPECT_NEAR(By({.running_sequences = 5, .running_context_tokens = 1000}).decode.time.value(), 60 * kRow, 1e-10);
}

// A budget of 36 tokens with 4 decoding leaves 32: the prompt takes 4 steps, each with the four of them.
TEST_F(LiveLoadTest, TheTokenBudgetCutsThePrompt) {
  const Estimate estimate = By({.running_sequences = 4, .running_context_tokens = 50, .max_num_batched_tokens = 36});
  EXPECT_NEAR(estimate.ttft.time.value(), kPrompt + 4 * 4 * kRow + 4 * kRow / 2, 1e-10);
}

// Ten chunks, of which those running, who end after 1, 2, 3, 4 and 5, share 15; with 10 tokens left, after 3 1/3 and so
// on, 3 1/3 x (1 + 2 + 3) + 2 x 10.
TEST_F(LiveLoadTest, RunningSequencesEndWhilePromptsArePrefilled) {
  Scenario scenario = Under({.running_sequences = 5, .running_context_tokens = 100, .remaining_output_tokens = 3});
  scenario.deployment.prefill_chunk_tokens = 10;
  EXPECT_NEAR(By(scenario).ttft.time.value(), 2.5 * kRow + kPrompt + 15 * kRow, 1e-10);
  scenario.live_load->remaining_output_tokens = 10;
  EXPECT_NEAR(By(scenario).ttft.time.value(), 2.5 * kRow + kPrompt + 40 * kRow, 1e-10);
  // Endings after 4 1/3 and so on: 43 beside the ten chunks of the one that waits, 20 1/3 beside its own, which that
  // one rides along in full.
  scenario.live_load->waiting_requests = 1;
  scenario.live_load->remaining_output_tokens = 13;
  EXPECT_NEAR(By(scenario).ttft.time.value(), 2.5 * kRow + 2 * kPrompt + (43 + 20 + 1 / 3.0 + 10) * kRow, 1e-10);
}

// Four with 20 tokens left on average end after 8, 16, 24 and 32 steps: 8 steps of four, then the prompt beside three.
// The decode begins after step 9: seven steps beside three, three beside two.
TEST_F(LiveLoadTest, AFullBatchWaitsUntilOneEnds) {
  LiveLoad load{.running_sequences = 4, .running_context_tokens = 50, .max_num_seqs = 4};
  load.remaining_output_tokens = 20;
  const Estimate estimate = By(load);
  EXPECT_NEAR(estimate.ttft.time.value(), (8 * 4 + 3) * kRow + kPrompt, 1e-10);
  EXPECT_NEAR(estimate.decode.time.value(), (7 * 4 + 3 * 3) * kRow, 1e-10);
  ASSERT_EQ(estimate.warnings.size(), 1u);
  EXPECT_EQ(estimate.warnings[0].field, "live_load.max_num_seqs");
  EXPECT_THAT(estimate.warnings[0].message, HasSubstr("waits until others have ended"));
}

// What remains is not stated: half of this request's 11 tokens, so that they end after 2.2, 4.4 steps and so on.
TEST_F(LiveLoadTest, AFullBatchWithoutWhatRemainsIsTakenToBeHalfwayThrough) {
  LiveLoad load{.running_sequences = 4, .running_context_tokens = 50, .max_num_seqs = 4};
  const Estimate guessed = By(load);
  ASSERT_EQ(guessed.warnings.size(), 2u);
  EXPECT_EQ(guessed.warnings[1].field, "live_load.remaining_output_tokens");
  EXPECT_THAT(guessed.warnings[1].message, HasSubstr("taken as half of this request's output, 5.5"));
  load.remaining_output_tokens = 5.5;
  EXPECT_EQ(guessed.ttft.time, By(load).ttft.time);
  EXPECT_EQ(guessed.decode.time, By(load).decode.time);
}

// Four that all have 20 tokens left end together: 20 steps of four, then the prompt alone, and nobody beside the decode.
TEST_F(LiveLoadTest, AFullBatchThatEndsTogetherIsWaitedForToItsEnd) {
  LiveLoad load{.running_sequences = 4,
                .running_context_tokens = 50,
                .remaining_output_tokens = 20,
                .least_remaining_output_tokens = 20,
                .max_num_seqs = 4};
  const Estimate together = By(load);
  EXPECT_NEAR(together.ttft.time.value(), 20 * 4 * kRow + kPrompt, 1e-10);
  EXPECT_NEAR(together.decode.time.value(), 10 * kRow, 1e-10);
  load.remaining_each = {20, 20, 20, 20};
  EXPECT_EQ(By(load).ttft.time, together.ttft.time);
  // Known one by one: the first ends after 2 steps, and the others stay beside the prompt and the decode.
  load.remaining_each = {2, 1000, 1000, 1000};
  load.remaining_output_tokens = 3002 / 4.0;
  load.least_remaining_output_tokens = 2;
  const Estimate one = By(load);
  EXPECT_NEAR(one.ttft.time.value(), (2 * 4 + 3) * kRow + kPrompt, 1e-10);
  EXPECT_NEAR(one.decode.time.value(), 10 * 4 * kRow, 1e-10);
}

// 64 that have 325 tokens left end one every ten steps: one slot too few costs ten steps, two cost twenty.
TEST_F(LiveLoadTest, EachSeatTooFewCostsOneEnding) {
  LiveLoad load{.running_sequences = 64, .running_context_tokens = 50, .remaining_output_tokens = 325};
  const auto ttft = [&](int slots) {
    load.max_num_seqs = slots;
    return By(load, 101).ttft.time.value();
  };
  EXPECT_NEAR(ttft(65), kPrompt + (64 + 32) * kRow, 1e-10);
  EXPECT_NEAR(ttft(64), kPrompt + (10 * 64 + 63) * kRow, 1e-9);
  load.waiting_requests = 1;
  load.max_num_batched_tokens = 164;  // each prompt in a step of its own: one of the twenty
  EXPECT_NEAR(ttft(64), 2 * kPrompt + (19 * 64 + 63 + 62 + 1) * kRow, 1e-9);
}

// A free slot serves the queue again and again, though those in the others stay: five requests of 11 tokens.
TEST_F(LiveLoadTest, AFreeSeatServesTheQueue) {
  const Estimate estimate = By({.running_sequences = 1,
                                .running_context_tokens = 50,
                                .remaining_output_tokens = 1'000'000,
                                .waiting_requests = 5,
                                .max_num_seqs = 2,
                                .max_num_batched_tokens = 101});
  EXPECT_NEAR(estimate.ttft.time.value(), 6 * kPrompt + (5 * 11 * 2 - 5 + 1) * kRow, 1e-9);
}

// 100 tokens are 7 blocks of 16: 112. They fit in 112 free tokens, the 11 of the output do not: preemption.
TEST_F(LiveLoadTest, AFullKvCacheWaitsOrPreempts) {
  LiveLoad load{
      .running_sequences = 4, .running_context_tokens = 50, .remaining_output_tokens = 20, .free_kv_tokens = 111};
  const Estimate waits = By(load);  // for the 50 tokens of the first that ends
  EXPECT_NEAR(waits.ttft.time.value(), (8 * 4 + 3) * kRow + kPrompt, 1e-10);
  EXPECT_EQ(waits.warnings.at(0).field, "live_load.free_kv_tokens");
  EXPECT_THAT(waits.warnings.at(0).message, HasSubstr("waits"));
  load.free_kv_tokens = 61;  // 51 too few: two have to end
  EXPECT_NEAR(By(load).ttft.time.value(), (16 * 4 + 2) * kRow + kPrompt, 1e-10);
  load.free_kv_tokens = 112;
  const Estimate starts = By(load);
  EXPECT_NEAR(starts.ttft.time.value(), kPrompt + 4 * kRow + 2 * kRow, 1e-10);
  EXPECT_THAT(starts.warnings.at(0).message, HasSubstr("preempts"));
  load.free_kv_tokens = 1000;
  EXPECT_TRUE(By(load).warnings.empty());
}

// 38 running sequences of 32,768 keep 38 x 21 x (32,768 + 4,096) x 8,192 B = 241 GB of 278, not 428 GB, and leave room
// for a short prompt as for a long one; 45 keep 285 GB.
TEST_F(LiveLoadTest, WhatRunningSequencesKeepOfAWindowIsCounted) {
  Hardware hardware = a100_;
  hardware.memory_capacity = Gigabytes(330);
  for (const int prompt : {16, 200, 5000}) {
    Scenario scenario = MakeScenario(gemma_9b_, hardware, 1, prompt, 2);
    scenario.live_load = LiveLoad{.running_sequences = 38, .running_context_tokens = 32768, .max_num_seqs = 64};
    const absl::StatusOr<Estimate> starts = Ask(scenario, GenericPrior());
    ASSERT_TRUE(starts.ok()) << prompt << starts.status();
    scenario.live_load->running_sequences = 45;
    const absl::StatusOr<Estimate> waits = Ask(scenario, GenericPrior());
    ASSERT_TRUE(waits.ok()) << prompt << waits.status();
    EXPECT_THAT(waits->warnings.at(0).message, HasSubstr("no room")) << prompt;
    EXPECT_THAT(starts->warnings, testing::Each(testing::Field(&Warning::message, testing::Not(HasSubstr("no room")))));
  }
}

// The memory that they hold does not depend on the shape of the request: 10 x 21 x (32,768 + 4,096) x 8,192 B.
TEST_F(LiveLoadTest, WhatRunningSequencesKeepOfAWindowIsTold) {
  Hardware hardware = a100_;
  hardware.memory_capacity = Gigabytes(330);
  for (const int prompt : {16, 200, 5000}) {
    Scenario scenario = MakeScenario(gemma_9b_, hardware, 1, prompt, 1);
    const MemoryUse alone = *Ask(scenario, GenericPrior())->memory;
    scenario.live_load = LiveLoad{.running_sequences = 10, .running_context_tokens = 32768 - 1};
    const MemoryUse memory = *Ask(scenario, GenericPrior())->memory;
    EXPECT_NEAR((memory.kv_cache - alone.kv_cache).value(), 10.0 * 21 * (32768 + 4096) * 8192, 1) << prompt;
    EXPECT_LE(memory.activations / alone.activations, 11.001) << prompt;  // eleven decode, however much they hold
  }
}

TEST_F(LiveLoadTest, NoRoomAtAllIsRefused) {
  const absl::Status status = Ask(Under({.free_kv_tokens = 50}), {}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kOutOfMemory) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a prompt needs 112 tokens of KV cache; there are 50"));
}

// Two slots, five prompts before: this one is in the third pair, after two generations of two.
TEST_F(LiveLoadTest, GenerationsComeAndGo) {
  const Estimate estimate = By({.waiting_requests = 5, .max_num_seqs = 2});
  const double generation = 2 * kPrompt + 10 * 2 * kRow;
  EXPECT_GT(estimate.ttft.time.value(), 2 * generation + kPrompt);
  EXPECT_LT(estimate.ttft.time.value(), 3 * generation + kPrompt);
}

// Three that arrive together are prefilled in one step, or, with room for 100 tokens a step, one after the other.
TEST_F(LiveLoadTest, SeveralArriveTogether) {
  Scenario scenario = Under({.max_num_seqs = 8});
  scenario.workload.batch_size = 3;
  EXPECT_NEAR(By(scenario).ttft.time.value(), 3 * kPrompt, 1e-10);
  EXPECT_NEAR(By(scenario).tpot.time.value(), 3 * kRow, 1e-10);
  scenario.live_load->max_num_batched_tokens = 100;
  EXPECT_NEAR(By(scenario).ttft.time.value(), 3 * kPrompt, 1e-10);
}

// Half of the prompt is cached: 50 tokens are left, and 4 blocks of KV instead of 7.
TEST_F(LiveLoadTest, ACachedPrefixIsDeducted) {
  Scenario scenario = Under({.waiting_requests = 1, .queued_prefill_tokens = 0, .free_kv_tokens = 64 + 100});
  scenario.workload.cached_prefix_tokens = 50;
  const Estimate cached = By(scenario);
  EXPECT_TRUE(cached.warnings.empty());
  scenario.live_load = LiveLoad{.max_num_seqs = 8};
  EXPECT_NEAR(cached.ttft.time.value(), By(scenario).ttft.time.value(), 1e-10);
  EXPECT_LT(cached.ttft.time.value(), 0.52 * kPrompt);
}

TEST_F(LiveLoadTest, LimitsAloneChangeNothing) {
  Scenario scenario = MakeScenario(llama_70b_, a100_, 1, 3000, 200);
  scenario.deployment.tensor_parallel = 4;
  scenario.deployment.pipeline_parallel = 2;
  scenario.deployment.prefill_chunk_tokens = 512;
  const Estimate batch = *Ask(scenario, GenericPrior());
  scenario.live_load = LiveLoad{.max_num_seqs = 256, .max_num_batched_tokens = 8192};
  const Estimate idle = *Ask(scenario, GenericPrior());
  EXPECT_DOUBLE_EQ(idle.ttft.time.value(), batch.ttft.time.value());
  EXPECT_DOUBLE_EQ(idle.tpot.time.value(), batch.tpot.time.value());
}

TEST_F(LiveLoadTest, AnAbsentContextIsTold) {
  const Estimate estimate = By({.running_sequences = 4});
  ASSERT_EQ(estimate.warnings.size(), 1u);
  EXPECT_EQ(estimate.warnings[0].code, WarningCode::kFigureAbsent);
  EXPECT_EQ(estimate.warnings[0].field, "live_load.running_context_tokens");
}

TEST_F(LiveLoadTest, MoreLoadIsNeverFaster) {
  Scenario scenario = MakeScenario(llama_70b_, a100_, 1, 1500, 200);
  scenario.deployment.tensor_parallel = 4;
  const LiveLoad base{.running_sequences = 16,
                      .running_context_tokens = 2000,
                      .remaining_output_tokens = 100,
                      .waiting_requests = 2,
                      .queued_prefill_tokens = 3000,
                      .in_flight_prefill_tokens = 500,
                      .max_num_seqs = 64,
                      .max_num_batched_tokens = 2048};
  struct Case {
    const char* name;
    void (*change)(LiveLoad&, int);
    int most = 80;
  };
  // With 64 running the prompt in flight is one of theirs.
  const Case cases[] = {{"running", [](LiveLoad& l, int i) { l.running_sequences = i; }, 63},
                        {"context", [](LiveLoad& l, int i) { l.running_context_tokens = 100 * i; }},
                        {"remaining", [](LiveLoad& l, int i) { l.remaining_output_tokens = 5 * i; }},
                        {"waiting",
                         [](LiveLoad& l, int i) {
                           l.waiting_requests = i;
                           l.queued_prefill_tokens = 1500 * i;
                         }},
                        {"queued", [](LiveLoad& l, int i) { l.queued_prefill_tokens = 500 * i; }},
                        {"in flight", [](LiveLoad& l, int i) { l.in_flight_prefill_tokens = 300 * i; }}};
  for (const Case& c : cases) {
    double before = 0;
    for (int i = 0; i <= c.most; ++i) {
      scenario.live_load = base;
      c.change(*scenario.live_load, i);
      const absl::StatusOr<Estimate> estimate = Ask(scenario, GenericPrior());
      ASSERT_TRUE(estimate.ok()) << c.name << i << estimate.status();
      EXPECT_GE(estimate->e2e.time.value(), before * (1 - 1e-9)) << c.name << " " << i;
      EXPECT_NEAR(estimate->prefill.parts->Total().value() + estimate->decode.parts->Total().value(),
                  estimate->e2e.time.value(), 1e-9);
      before = estimate->e2e.time.value();
    }
  }
}

// Neither are more that wait or arrive together where the KV cache is full, short ones before long ones included.
TEST_F(LiveLoadTest, MoreAtAFullCacheAreNeverFaster) {
  Scenario scenario = MakeScenario(llama_70b_, a100_, 1, 1500, 200);
  scenario.deployment.tensor_parallel = 8;
  scenario.live_load = LiveLoad{.running_sequences = 16,
                                .running_context_tokens = 2000,
                                .remaining_output_tokens = 100,
                                .waiting_requests = 2,
                                .queued_prefill_tokens = 200,
                                .free_kv_tokens = 300};
  const auto by_wait = [](Scenario& s) {
    s.live_load->waiting_requests = *s.live_load->waiting_requests + 1;
    s.live_load->queued_prefill_tokens = 100 * *s.live_load->waiting_requests;
  };
  const auto by_arrival = [](Scenario& s) { ++s.workload.batch_size; };
  for (void (*more)(Scenario&) : {+by_wait, +by_arrival}) {
    Scenario rising = scenario;
    double before = 0;
    for (int i = 0; i < 60; ++i, more(rising)) {
      const absl::StatusOr<Estimate> estimate = Ask(rising, GenericPrior());
      ASSERT_TRUE(estimate.ok()) << i << estimate.status();
      EXPECT_GE(estimate->e2e.time.value(), before * (1 - 1e-9)) << i;
      before = estimate->e2e.time.value();
    }
  }
}

// Above 2^53 a double does not change when 1 is added to it: loops over chunks count in integers. Stages of a pipeline
// look at the longest chunks one by one. A token takes at least a hundredth of p1, over the stages.
TEST_F(LiveLoadTest, EndsForAnyNumberOfTokens) {
  for (const double tokens : {1e3, 1e15, 9007199254740993.0, 9.2e18}) {
    for (const int stages : {1, 4}) {
      Scenario scenario =
          Under({.running_sequences = 1, .in_flight_prefill_tokens = tokens, .max_num_batched_tokens = 16});
      scenario.deployment.pipeline_parallel = stages;
      EXPECT_GE(By(scenario).ttft.time.value(), tokens / 100 * kPrompt / stages)
          << tokens << ", " << stages << " stages";
    }
  }
}

}  // namespace
}  // namespace foretoken

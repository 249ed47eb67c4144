#include "tests/profile/fake_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken::fake {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

StepModel Truth() {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  return *MakeStepModel(MakeScenario(model, hardware, 1, 100, 10), GenericServedPrior(), nullptr);
}

class FakeSchedulerTest : public testing::Test {
 protected:
  // Decodes and prompt tokens of the next step, which runs; who got a token is in made_.
  std::pair<int64_t, int64_t> Step(FakeScheduler& scheduler) {
    const PlannedStep step = scheduler.Plan();
    seconds_ = step.seconds;
    made_.clear();
    if (step.seconds > 0) {
      for (const MadeToken& token : scheduler.Finish()) made_.emplace_back(token.request, token.last);
    }
    return {step.decodes, step.prompt_tokens};
  }

  const StepModel model_ = Truth();
  StepClock clock_{model_};
  double seconds_ = 0;
  std::vector<std::pair<int64_t, bool>> made_;
};

// Prompts of 60 and 250 tokens, 100 tokens a step: the second is cut to 40, 99, 99 and 12, beside the first's decodes.
TEST_F(FakeSchedulerTest, DecodesComeFirstAndPromptsAreCutToTheTokensThatAreLeft) {
  FakeScheduler scheduler({.max_num_batched_tokens = 100}, model_);
  scheduler.Add(0, 60, 4, {});
  scheduler.Add(1, 250, 2, {});
  EXPECT_THAT(Step(scheduler), Pair(0, 100));
  EXPECT_THAT(made_, ElementsAre(Pair(0, false)));
  EXPECT_THAT(Step(scheduler), Pair(1, 99));
  EXPECT_THAT(Step(scheduler), Pair(1, 99));
  EXPECT_THAT(made_, ElementsAre(Pair(0, false)));
  EXPECT_THAT(Step(scheduler), Pair(1, 12));
  EXPECT_THAT(made_, ElementsAre(Pair(0, true), Pair(1, false)));
  EXPECT_THAT(Step(scheduler), Pair(1, 0));
  EXPECT_THAT(made_, ElementsAre(Pair(1, true)));
  EXPECT_THAT(Step(scheduler), Pair(0, 0));
  EXPECT_EQ(seconds_, 0);
  EXPECT_EQ(scheduler.counts().output_tokens, 6);
  EXPECT_EQ(scheduler.counts().prompt_tokens, 310);
  EXPECT_EQ(scheduler.counts().used_blocks, 0);
}

// The step of the second chunk: 99 tokens after 40, beside a decode whose context is 60 tokens and the one it is fed.
TEST_F(FakeSchedulerTest, AStepTakesWhatTheStepModelSays) {
  FakeScheduler scheduler({.max_num_batched_tokens = 100}, model_);
  scheduler.Add(0, 60, 4, {});
  scheduler.Add(1, 250, 2, {});
  PromptWork first, second;
  first.Add(60, 0, true);
  first.Add(40, 0, false);
  second.Add(99, 40, false);
  Step(scheduler);
  EXPECT_EQ(seconds_, clock_.Mixed(first, 0, 0));
  Step(scheduler);
  EXPECT_EQ(seconds_, clock_.Mixed(second, 1, 61));
  Step(scheduler);
  Step(scheduler);
  Step(scheduler);
  EXPECT_EQ(seconds_, clock_.Decode(1, 251));
}

TEST_F(FakeSchedulerTest, RequestsBeginInOrderWhileThereAreSeats) {
  FakeScheduler scheduler({.max_num_seqs = 2}, model_);
  for (const int id : {0, 1, 2, 3}) scheduler.Add(id, 10, id == 0 ? 2 : 3, {});
  EXPECT_THAT(Step(scheduler), Pair(0, 20));
  EXPECT_EQ(scheduler.counts().running, 2);
  EXPECT_EQ(scheduler.counts().waiting, 2);
  EXPECT_THAT(Step(scheduler), Pair(2, 0));  // the last token of 0
  EXPECT_THAT(Step(scheduler), Pair(1, 10));
  EXPECT_THAT(made_, ElementsAre(Pair(1, true), Pair(2, false)));
}

// Four blocks of 16 tokens. Both prompts take two, so the first's third block is the second's.
TEST_F(FakeSchedulerTest, TheNewestIsPreemptedAndComputesItsTokensAgain) {
  FakeScheduler scheduler({.num_gpu_blocks = 4}, model_);
  EXPECT_TRUE(scheduler.CanHold(64));
  EXPECT_FALSE(scheduler.CanHold(65));
  scheduler.Add(0, 32, 2, {});
  scheduler.Add(1, 31, 3, {});
  EXPECT_THAT(Step(scheduler), Pair(0, 63));
  EXPECT_THAT(Step(scheduler), Pair(1, 0));
  EXPECT_THAT(made_, ElementsAre(Pair(0, true)));
  EXPECT_EQ(scheduler.counts().preemptions, 1);
  EXPECT_EQ(scheduler.counts().waiting, 1);
  EXPECT_THAT(Step(scheduler), Pair(0, 32));  // the prompt and the token that was made
  EXPECT_THAT(Step(scheduler), Pair(1, 0));
  EXPECT_THAT(made_, ElementsAre(Pair(1, true)));
}

TEST_F(FakeSchedulerTest, WhatWasGivenUpFreesItsSeatAndItsBlocks) {
  FakeScheduler scheduler({.max_num_seqs = 1}, model_);
  scheduler.Add(0, 100, 50, {});
  scheduler.Add(1, 10, 1, {});
  Step(scheduler);
  scheduler.Remove(0);
  scheduler.Remove(17);
  EXPECT_EQ(scheduler.counts().used_blocks, 0);
  EXPECT_THAT(Step(scheduler), Pair(0, 10));
}

// A prompt of 48 tokens is three blocks; the last is computed again, because a token has to be.
TEST_F(FakeSchedulerTest, CachesPrefixesOnlyWhereItIsToldTo) {
  for (const bool caches : {false, true}) {
    FakeScheduler scheduler({.prefix_caching = caches}, model_);
    const auto run = [&](int64_t id, std::vector<uint64_t> blocks) {
      scheduler.Add(id, 48, 1, std::move(blocks));
      return Step(scheduler).second;
    };
    EXPECT_EQ(run(0, {1, 2, 3}), 48);
    EXPECT_EQ(run(1, {1, 2, 3}), caches ? 16 : 48);
    EXPECT_EQ(run(2, {1, 5, 6}), caches ? 32 : 48);
    EXPECT_EQ(run(3, {4, 5, 6}), 48);
    EXPECT_EQ(scheduler.counts().prefix_cache_hits, caches ? 48 : 0);
    EXPECT_EQ(scheduler.counts().prefix_cache_queries, caches ? 192 : 0);
  }
}

}  // namespace
}  // namespace foretoken::fake

#include "estimator/phases/pass_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimator/methods/estimator.h"
#include "estimator/phases/phases.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using testing::Contains;
using testing::Field;
using testing::Not;

Shard ShardOf(const Model& model, int stages) {
  Placement placement{.weight_dtype = Dtype::kFp16};
  placement.pipeline_parallel = stages;
  ResolveDtypes(model, placement);
  return MakeShard(model, placement);
}

TEST(PassIntervalTest, ByHand) {
  struct Case {
    const char* name;
    Model model;
    int stages;
    PassFlow flow;
    double want;
    double tokens = 512;
  };
  const PassFlow llama_cpp{.llama_cpp = true};
  const Case cases[] = {
      {"all stages busy", Llama2_7b(), 4, {}, 1.0 / 4},
      {"one pass after the other", Llama2_7b(), 4, {.in_flight = 1}, 1},
      {"two at once", Llama2_7b(), 4, {.in_flight = 2}, 1.0 / 2},
      {"no more than there are stages", Llama2_7b(), 4, {.in_flight = 9}, 1.0 / 4},
      // 33 layers in two: 17. A queue holds 1,000 / (17 * 50) = 1.18 passes, which would allow an interval of
      // (1 + 2 - 1.18) / (2 * 2) = 0.456: the stage of 17 layers binds.
      {"the fuller of two stages", Llama2_7b(), 2, llama_cpp, 17.0 / 32},
      // 81 layers in two: 41. 1,000 / (41 * 50) = 0.488 passes.
      {"a queue shorter than a pass", Llama31_70b(), 2, llama_cpp, (1 + 1 - 1000.0 / 2050) / 2},
      // 81 layers in eight: 11. 1,000 / (11 * 50) = 1.82 passes.
      {"a queue of two passes", Llama31_70b(), 8, llama_cpp, (7 + 2 - 1000.0 / 550) / (2 * 8)},
      // 33 layers in sixteen: 3. 1,000 / (3 * 50) = 6.67 passes, but the inputs of 4 and the pass at work.
      {"copies of the inputs", Llama2_7b(), 16, llama_cpp, 1.0 / 5},
      // 17 layers with experts: 1,000 / (17 * 75) = 0.784 passes.
      {"a mixture launches more", Mixtral8x7b(), 2, llama_cpp, (1 + 1 - 1000.0 / 1275) / 2},
      // 9 layers in four, of 25 kernels each: 4.44 passes. The stage binds.
      {"a token at a time", Llama2_7b(), 4, llama_cpp, 9.0 / 32, 8},
      {"nine tokens at a time", Llama2_7b(), 4, llama_cpp, (3 + 3 - 1000.0 / 450) / (3 * 4), 9},
      {"stated", Llama31_70b(), 2, {.in_flight = 2, .llama_cpp = true}, 41.0 / 80},
  };
  for (const Case& c : cases) {
    EXPECT_DOUBLE_EQ(PassInterval(ShardOf(c.model, c.stages), c.flow, c.tokens), c.want) << c.name;
  }
}

// Passes of `layers` layers over equal stages, kernel by kernel: one thread launches all of them in order. A stream
// takes 1,000 that have not begun, and a launch waits for a place in it. Returns the interval as a share of a pass.
double SimulatedInterval(int layers, int stages, int passes) {
  constexpr size_t kQueue = 1000;
  const int kernels = layers / stages * 50;
  const double kernel = 1.0 / stages / kernels;  // a pass takes 1
  double thread = 0;
  std::vector<std::vector<double>> begun(static_cast<size_t>(stages));
  std::vector<double> done;  // of each pass
  for (int pass = 0; pass < passes; ++pass) {
    double ready = 0;
    for (std::vector<double>& stream : begun) {
      for (int i = 0; i < kernels; ++i) {
        if (stream.size() >= kQueue) thread = std::max(thread, stream[stream.size() - kQueue]);
        const double free = stream.empty() ? 0 : stream.back() + kernel;
        stream.push_back(std::max({free, thread, ready}));
      }
      ready = stream.back() + kernel;
    }
    done.push_back(ready);
  }
  const size_t half = done.size() / 2;
  return (done.back() - done[half]) / static_cast<double>(done.size() - 1 - half);
}

TEST(PassIntervalTest, IsThatOfSimulatedQueues) {
  for (const int layers : {31, 47, 71, 127}) {
    for (const int stages : {2, 4, 8}) {
      Model model = Llama2_7b();
      model.num_hidden_layers = layers;  // with the output matrix all stages are equally full
      const double fullest = std::ceil((layers + 1.0) / stages) / layers;
      const double want = std::max(fullest, SimulatedInterval(layers + 1, stages, 121));
      const double interval = PassInterval(ShardOf(model, stages), {.llama_cpp = true}, 512);
      EXPECT_NEAR(interval, std::max(want, 0.2), 0.02 * want) << layers << " layers in " << stages << " stages";
    }
  }
}

// A prompt of 4 chunks in 2 stages, alone.
class PassesInFlightTest : public testing::Test {
 protected:
  PassesInFlightTest() {
    scenario_.deployment.pipeline_parallel = 2;
    scenario_.deployment.prefill_chunk_tokens = 512;
  }

  // Without scheduling overhead.
  Seconds Prefill(const Deployment& deployment) const {
    Efficiencies efficiencies = GenericPrior();
    efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
    const StepModel model = *MakeStepModel(scenario_, efficiencies, nullptr);
    return PrefillTime(model, PromptShape(scenario_.workload, deployment, 1)).Total();
  }

  Seconds Stated(int in_flight) const {
    Deployment deployment = scenario_.deployment;
    deployment.prefill_passes_in_flight = in_flight;
    return Prefill(deployment);
  }

  Model model_ = Llama2_7b();
  Hardware hardware_ = A100();
  Scenario scenario_ = MakeScenario(model_, hardware_, 1, 2048, 2);
};

TEST_F(PassesInFlightTest, OneIsOnePassAfterTheOther) {
  const StepModel model = *MakeStepModel(scenario_, GenericPrior(), nullptr);
  const PrefillShape shape = PromptShape(scenario_.workload, scenario_.deployment, 1);
  EXPECT_EQ(Stated(1), SumOverChunks(model, shape).Total());
}

TEST_F(PassesInFlightTest, AsManyAsStagesIsWhereNoneIsStated) {
  EXPECT_EQ(Stated(2), Prefill(scenario_.deployment));
  EXPECT_EQ(Stated(3), Prefill(scenario_.deployment));
}

// All of 4 chunks times the interval, and the rest of the longest: 17/32 for the stage of 17 layers.
TEST_F(PassesInFlightTest, OfLlamaCppByHand) {
  Deployment deployment = scenario_.deployment;
  deployment.engine = "llama.cpp@b6918";
  const StepModel model = *MakeStepModel(scenario_, GenericPrior(), nullptr);
  const PrefillShape shape = PromptShape(scenario_.workload, deployment, 1);
  const Seconds all = SumOverChunks(model, shape).Total();
  const Seconds longest = PrefillChunk(model, shape, 3).Total();
  EXPECT_NEAR(Prefill(deployment).value(), (17.0 / 32 * all + 15.0 / 32 * longest).value(), 1e-12);
}

TEST_F(PassesInFlightTest, LlamaCppPrefillsABatchByUbatches) {
  struct Case {
    const char* name;
    const char* engine;
    std::optional<int> stated;
    BatchingPolicy batching;
    std::optional<int> want;
  };
  const Case cases[] = {
      {"of llama.cpp", "llama.cpp", std::nullopt, BatchingPolicy::kStatic, 512},
      {"of a version", "llama.cpp@b6918", std::nullopt, BatchingPolicy::kDynamic, 512},
      {"stated", "llama.cpp", 2048, BatchingPolicy::kStatic, 2048},
      {"under continuous batching", "llama.cpp", std::nullopt, BatchingPolicy::kContinuous, 8192},
      {"of a fork", "ik_llama.cpp", std::nullopt, BatchingPolicy::kStatic, std::nullopt},
      {"of another engine", "vllm@0.12.0", std::nullopt, BatchingPolicy::kStatic, std::nullopt},
  };
  for (const Case& c : cases) {
    Deployment deployment{.engine = c.engine, .prefill_chunk_tokens = c.stated};
    EXPECT_EQ(ChunkTokens({.batching = c.batching}, deployment), c.want) << c.name;
  }
}

TEST_F(PassesInFlightTest, WhatIsTakenIsSaid) {
  const auto about = Field(&Warning::field, "deployment.prefill_passes_in_flight");
  scenario_.deployment.engine = "llama.cpp";
  const absl::StatusOr<Estimate> taken = ComputeEstimate(scenario_);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(taken->warnings,
              Contains(Warning{WarningCode::kFigureAbsent,
                               "prefill_passes_in_flight is not stated; llama.cpp is taken to have 1.9 passes of a "
                               "prefill in flight in 2 stages",
                               "deployment.prefill_passes_in_flight"}));
  scenario_.deployment.prefill_passes_in_flight = 2;
  EXPECT_THAT(ComputeEstimate(scenario_)->warnings, Not(Contains(about)));
  scenario_.deployment.prefill_passes_in_flight.reset();
  scenario_.deployment.pipeline_parallel = 1;
  EXPECT_THAT(ComputeEstimate(scenario_)->warnings, Not(Contains(about)));
}

// No engine's limit slows the bound down.
TEST_F(PassesInFlightTest, TheSpeedOfLightHasNone) {
  scenario_.method = Method::kSpeedOfLight;
  const auto estimate = [this] {
    Estimate silent = *ComputeEstimate(scenario_);
    silent.warnings.clear();  // of the engine that is not used
    return silent;
  };
  const Estimate without = estimate();
  scenario_.deployment.engine = "llama.cpp";
  EXPECT_EQ(estimate(), without);
  scenario_.deployment.prefill_passes_in_flight = 1;
  EXPECT_EQ(estimate(), without);
}

}  // namespace
}  // namespace foretoken

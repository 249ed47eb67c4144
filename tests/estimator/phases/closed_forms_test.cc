// Closed forms against what they stand for, counted, drawn or simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/phases/phases.h"
#include "estimator/phases/prefill.h"
#include "estimator/serving/prefill_pool.h"
#include "estimator/step/attention.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

// Context that the chunks of a prompt read again: nc p + C nc (nc - 1) / 2, and in a window the sum of min(p + j C, W).
TEST(PositionsReadTest, ChunksReadThePriorContextAgain) {
  for (const double window : {0.0, 50.0, 1000.0}) {
    const AttentionGroup group{.layers = 1, .window = window};
    for (const double p : {0.0, 7.0, 300.0}) {
      constexpr double kChunk = 64;
      constexpr double kChunks = 11;
      double read = 0;
      double want = 0;
      for (double j = 0; j < kChunks; ++j) {
        read += PositionsRead(group, kChunk, p + j * kChunk) - kChunk;
        want += window > 0 ? std::min(p + j * kChunk, window) : p + j * kChunk;
      }
      EXPECT_EQ(read, want) << window << " " << p;
      if (window > 0) continue;
      EXPECT_EQ(read, kChunks * p + kChunk * kChunks * (kChunks - 1) / 2);
    }
  }
}

// Passes through a pipeline, each stage taking its share of a pass and working on one at a time.
double SimulatePipeline(const std::vector<double>& passes, int stages) {
  std::vector<double> free(static_cast<size_t>(stages), 0.0);  // when each stage has finished what it has
  for (const double pass : passes) {
    double done = 0;
    for (double& stage : free) done = stage = std::max(stage, done) + pass / stages;
  }
  return free.back();
}

TEST(PipelineTest, IsTheSimulatedPipeline) {
  RandomScenarios source(42);
  int pipelines = 0;
  while (pipelines < 300) {
    const Scenario s = source.NextBatch();
    const double fresh = s.workload.prompt_tokens - s.workload.cached_prefix_tokens;
    const bool few = !s.deployment.prefill_chunk_tokens || fresh / *s.deployment.prefill_chunk_tokens < 30;
    if (s.deployment.pipeline_parallel == 1 || !few) continue;
    ++pipelines;
    Efficiencies efficiencies = GenericPrior();
    efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
    const StepModel model = *MakeStepModel(s, efficiencies, nullptr);
    const double batch = std::ceil(1.0 * s.workload.batch_size / s.deployment.data_parallel);
    PrefillShape shape{.sequences = batch, .new_tokens = fresh, .prior = 1.0 * s.workload.cached_prefix_tokens};
    if (s.deployment.prefill_chunk_tokens) shape.chunk_tokens = *s.deployment.prefill_chunk_tokens;
    double best = 1e300;
    for (double size = 1; size < 2 * batch;
         size *= 2) {  // microbatches of a power of two, the last one the whole batch
      PrefillShape part = shape;
      part.sequences = std::min(size, batch);
      std::vector<double> passes;
      for (double m = 0; m < std::ceil(batch / part.sequences); ++m) {
        for (double j = 0; j < PrefillChunks(part); ++j) passes.push_back(PrefillChunk(model, part, j).Total().value());
      }
      best = std::min(best, SimulatePipeline(passes, s.deployment.pipeline_parallel));
    }
    ASSERT_NEAR(PrefillTime(model, shape).Total().value(), best, 1e-9 * best) << Describe(s);
  }
}

// Layers are computed one after the other and sent one after the other, each as soon as it is computed.
TEST(ExposedTransferTest, IsTheSimulatedLink) {
  std::mt19937 random(44);
  std::uniform_real_distribution<double> seconds(0.001, 1);
  for (int i = 0; i < 1000; ++i) {
    const double layers = 1 + static_cast<double>(random() % 120);
    const double whole = seconds(random);
    const double prefill = seconds(random);
    double sent = 0;
    for (double layer = 1; layer <= layers; ++layer) sent = std::max(sent, layer * prefill / layers) + whole / layers;
    const double exposed = ExposedTransfer(Seconds(whole), Seconds(prefill), layers, true).value();
    ASSERT_NEAR(exposed, sent - prefill, 1e-12) << layers << " layers, " << whole << " s beside " << prefill << " s";
  }
}

// What one device holds is the parameters, counted apart from the matrices that are multiplied; biases are left out.
TEST(CapacityTest, OneDeviceHoldsTheParameters) {
  for (const Model& model : Bundled().models) {
    Placement placement{.weight_dtype = Dtype::kFp16};  // no model's experts are stored in it
    ResolveDtypes(model, placement);
    if (model.native_dtype == Dtype::kFp16 && model.mixture_of_experts) continue;
    const double held = MakeShard(model, placement).weights_of_fullest_device / Bytes(2);
    EXPECT_NEAR(held / CountParameters(model).Total(), 1, 7e-4) << model.id;
  }
}

// Memory in use is counted again for one sequence more: it fits up to the largest batch and no further.
TEST(CapacityTest, TheLargestBatchFitsAndNoLarger) {
  RandomScenarios source(43);
  int checked = 0;
  while (checked < 1000) {
    Scenario s = source.NextBatch();
    Hardware hardware = *s.hardware;
    hardware.memory_capacity = Gibibytes(source.LogUniform(1, 2000));
    s.hardware = &hardware;
    s.workload.batch_size = s.deployment.data_parallel;
    const absl::StatusOr<Estimate> one = ComputeEstimate(s);
    if (!one.ok()) {
      ASSERT_EQ(DetailOf(one.status()).reason, Reason::kOutOfMemory) << Describe(s) << one.status();
      continue;
    }
    ++checked;
    const double largest = *one->memory->largest_batch;
    if (largest > 1e6) continue;
    s.workload.batch_size = static_cast<int>(largest);
    const absl::StatusOr<Estimate> full = ComputeEstimate(s);
    ASSERT_TRUE(full.ok()) << Describe(s) << full.status();
    const MemoryUse& m = *full->memory;
    const double used = (m.weights + m.kv_cache + m.activations + *m.free).value();
    ASSERT_NEAR(used, 0.9 * hardware.memory_capacity->value(), 1e-9 * used) << Describe(s);
    ++s.workload.batch_size;
    ASSERT_EQ(DetailOf(ComputeEstimate(s).status()).reason, Reason::kOutOfMemory) << Describe(s);
  }
}

// 1,000 prompt tokens at 100,000 a second take 10 ms; at 4 us a token 4 ms, of a server alone.
TEST(PrefillPhaseTest, APromptTakesTimeBeforeTheEngine) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1000, 2);
  const auto host = [&](Seconds per_token) {
    Efficiencies efficiencies = GenericPrior();
    efficiencies.admission_per_token = per_token;
    const StepModel step = *MakeStepModel(scenario, efficiencies, nullptr);
    return PrefillPhase(step, scenario.workload, scenario.deployment, 1).host.value();
  };
  EXPECT_EQ(host(Seconds(4e-6)), host(Seconds(0)));
  scenario.workload.batching = BatchingPolicy::kContinuous;
  EXPECT_NEAR(host(Seconds(4e-6)) - host(Seconds(0)), 4e-3, 1e-9);
  const double none = host(Seconds(0));
  scenario.workload.tokenizer_tokens_per_second = 1e5;
  EXPECT_NEAR(host(Seconds(4e-6)) - none, 10e-3, 1e-9);
}

}  // namespace
}  // namespace foretoken

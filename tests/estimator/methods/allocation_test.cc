// An estimate that is made where the last one was takes no memory from the heap: what a router asks thousands of times
// a second must not wait for an allocator.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "absl/functional/function_ref.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/calibration.h"
#include "tests/estimator/fixtures.h"

namespace {

long allocations = 0;

}  // namespace

// None is inlined, or GCC takes a free beside a call of `new`, or the reverse, for a mismatch.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace foretoken {
namespace {

// Takes what `change` makes of a scenario of each kind of model.
void ExpectNone(absl::FunctionRef<void(Scenario&)> change) {
  const Model models[] = {Llama31_70b(), Mixtral8x7b(), DeepseekV2Lite(), Gemma2_9b()};
  const Hardware hardware = A100();
  const Calibration calibration{.id = "a name that is too long for a short string",
                                .hardware_id = hardware.id,
                                .engine = "vllm",
                                .efficiencies = GenericPrior(),
                                .bands = {BandRatio{.low = 0.8, .high = 1.2, .coverage = 0.9}}};
  for (const Model& model : models) {
    Scenario scenario = MakeScenario(model, hardware, 4, 500, 200);
    scenario.deployment.tensor_parallel = 8;
    scenario.calibration = &calibration;
    scenario.slo = Slo{.max_tpot = Seconds(0.05)};
    change(scenario);
    StepModelMemo memo;
    Estimate estimate;
    ASSERT_TRUE(ComputeEstimate(scenario, {}, memo, estimate).ok());
    ASSERT_TRUE(estimate.warnings.empty()) << estimate.warnings.front().message;
    const long before = allocations;
    EXPECT_GT(before, 0) << "the counter counts nothing";
    ASSERT_TRUE(ComputeEstimate(scenario, {}, memo, estimate).ok());
    EXPECT_EQ(allocations - before, 0) << model.id;
    EXPECT_EQ(estimate.calibration_id, calibration.id);
  }
}

TEST(AllocationTest, AnEstimateInPlaceTakesNone) {
  ExpectNone([](Scenario&) {});
}

TEST(AllocationTest, NorDoesOneUnderALiveLoad) {
  ExpectNone([](Scenario& scenario) {
    scenario.live_load = LiveLoad{.running_sequences = 12,
                                  .running_context_tokens = 700,
                                  .remaining_output_tokens = 90,
                                  .waiting_requests = 3,
                                  .queued_prefill_tokens = 2000};
  });
}

TEST(AllocationTest, NorDoesOneOfContinuousBatching) {
  ExpectNone([](Scenario& scenario) { scenario.workload.batching = BatchingPolicy::kContinuous; });
  ExpectNone([](Scenario& scenario) {
    scenario.workload.batching = BatchingPolicy::kContinuous;
    scenario.workload.request_rate_per_second = 0.5;
  });
}

}  // namespace
}  // namespace foretoken

// Closed loops against an engine that is simulated step by step.
#include <gtest/gtest.h>

#include <vector>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"
#include "tests/estimator/slow_loop.h"

namespace foretoken {
namespace {

Scenario ClosedLoop(const Model& model, const Hardware& hardware, int concurrency, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, concurrency, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  return scenario;
}

// An engine that admits at no cost and mixes prompts with decode steps: requests follow each other in a train.
Efficiencies InATrain() {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
  efficiencies.prefill_share = 1;
  return efficiencies;
}

MeanTimes Simulated(const Scenario& scenario) {
  std::vector<Warning> warnings;
  const StepModel step = *MakeStepModel(scenario, InATrain(), &warnings);
  return SimulatedLoop(scenario, step).Run(40 * scenario.workload.batch_size);
}

Estimate By(const Scenario& scenario) {
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, InATrain(), Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

TEST(ClosedLoopOracleTest, AgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const int concurrency : {1, 2, 8, 32, 64}) {
    for (const int output : {2, 20, 200}) {
      for (const int prompt : {60, 800}) {
        const Scenario scenario = ClosedLoop(model, hardware, concurrency, prompt, output);
        // Two that ask for two tokens keep in step, and wait for nobody.
        if (concurrency == 2 && output == 2 && prompt < 100) continue;
        // Short prompts come in bursts, which the mean does not know.
        const double bound = (output > 2 ? 0.08 : 0.15) + (prompt < 100 ? 0.04 : 0);
        EXPECT_NEAR(By(scenario).e2e.time.value() / Simulated(scenario).e2e, 1, bound)
            << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

// Long prompts, one to a step: the first token waits for the prompt of the one that came just before.
TEST(ClosedLoopOracleTest, TheFirstTokenAgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(640);
  for (const int concurrency : {1, 2, 4, 8, 16, 32}) {
    for (const int prompt : {5000, 8000}) {
      for (const int output : {300, 1000}) {
        const Scenario scenario = ClosedLoop(model, hardware, concurrency, prompt, output);
        EXPECT_NEAR(By(scenario).ttft.time.value() / Simulated(scenario).ttft, 1, 0.08)
            << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken

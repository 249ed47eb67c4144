// The simulation against the slow closed loop, and against the closed forms of the serving room.
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/simulation/fixtures.h"
#include "tests/estimator/slow_loop.h"

namespace foretoken {
namespace {

Efficiencies InATrain() {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
  efficiencies.prefill_share = 1;
  return efficiencies;
}

// Whole prompts, as many as 8,192 tokens hold beside the decodes.
SimulationSpec AsTheSlowLoop(int concurrency) {
  SimulationSpec spec{.requests = 40 * concurrency, .warmup_requests = 40 * concurrency};
  spec.scheduler = {.policy = SchedulerPolicy::kInFlight,
                    .max_num_batched_tokens = 8192 + concurrency,
                    .max_num_seqs = 8192,
                    .kv_tokens = 100'000'000,
                    .max_utilization = true};
  return spec;
}

TEST(AgreementTest, TheSlowLoopRunsTheSameSteps) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const int concurrency : {1, 2, 8, 32, 64}) {
    for (const int output : {2, 20, 200}) {
      for (const int prompt : {60, 800, 5000}) {
        const Scenario scenario = Served(model, hardware, concurrency, prompt, output);
        const StepModel step = *MakeStepModel(scenario, InATrain(), nullptr);
        const MeanTimes slow = SimulatedLoop(scenario, step).Run(40 * concurrency);
        const SimulationResult fast = MustSimulate(scenario, AsTheSlowLoop(concurrency), InATrain());
        EXPECT_NEAR(fast.e2e->mean.value / slow.e2e, 1, 1e-6) << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

Estimate ClosedForm(const Scenario& scenario, const Efficiencies& efficiencies) {
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

// A request alone waits for nothing, and is what the closed form says, with admission.
TEST(AgreementTest, ARequestAloneIsTheClosedForms) {
  const Hardware hardware = A100();
  for (const Model& model : {Llama2_7b(), DeepseekV2Lite(), Gemma2_9b()}) {
    for (const int prompt : {60, 6000}) {
      const Scenario scenario = Served(model, hardware, 1, prompt, 300);
      SimulationSpec spec{.requests = 10};
      spec.scheduler.max_num_batched_tokens = 8192;
      const SimulationResult result = MustSimulate(scenario, spec);
      const Estimate estimate = ClosedForm(scenario, GenericServedPrior());
      EXPECT_NEAR(result.ttft->mean.value / estimate.ttft.time.value(), 1, 1e-3) << model.id << prompt;
      EXPECT_NEAR(result.e2e->mean.value / estimate.e2e.time.value(), 1, 1e-3) << model.id << prompt;
    }
  }
}

// Mean E2E of fixed lengths at constant concurrency. The closed form takes the mean number of prompts in a step; bursts
// of short prompts keep together, and at 20 tokens and fewer they weigh most.
TEST(AgreementTest, ClosedLoopsTakeWhatTheClosedFormSays) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(640);
  for (const int concurrency : {2, 8, 32, 64}) {
    for (const int prompt : {60, 800, 5000}) {
      for (const int output : {20, 200, 1000}) {
        const Scenario scenario = Served(model, hardware, concurrency, prompt, output);
        SimulationSpec spec{.requests = 40 * concurrency, .warmup_requests = 40 * concurrency};
        spec.scheduler.max_num_batched_tokens = 8192;
        const SimulationResult result = MustSimulate(scenario, spec);
        const Estimate estimate = ClosedForm(scenario, GenericServedPrior());
        const double bound = output >= 1000 ? 0.006 : output >= 200 ? 0.03 : 0.12;
        EXPECT_NEAR(estimate.e2e.time.value() / result.e2e->mean.value, 1, bound)
            << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

// The relative difference, beyond two standard errors of the simulation.
double Difference(double estimate, const SimulatedValue& simulated) {
  return (std::abs(estimate - simulated.value) - 2 * *simulated.error) / simulated.value;
}

// Poisson arrivals up to 80% of the stable rate, with 100 and more tokens out.
TEST(AgreementTest, OpenLoopsTakeWhatTheClosedFormSays) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  struct Case {
    int prompt, output;
    double rate, ttft_bound, tpot_bound;
  };
  const Case cases[] = {{100, 100, 5, 0.01, 0.01},   {100, 100, 25, 0.02, 0.01}, {100, 100, 45, 0.04, 0.02},
                        {1000, 100, 3, 0.02, 0.03},  {1000, 100, 6, 0.03, 0.05}, {1000, 100, 7, 0.04, 0.08},
                        {1000, 300, 1.5, 0.01, 0.02}};
  for (const auto& [prompt, output, rate, ttft_bound, tpot_bound] : cases) {
    Scenario scenario = Served(model, hardware, 1, prompt, output);
    scenario.workload.request_rate_per_second = rate;
    SimulationSpec spec{.requests = 20'000, .max_steps = 10'000'000};
    spec.scheduler = {.max_num_batched_tokens = 8192, .max_num_seqs = 8192};
    const SimulationResult result = MustSimulate(scenario, spec, InATrain());
    const Estimate estimate = ClosedForm(scenario, InATrain());
    SCOPED_TRACE(testing::Message() << prompt << " in, " << output << " out, " << rate << "/s");
    EXPECT_LE(Difference(estimate.ttft.time.value(), result.ttft->mean), ttft_bound);
    EXPECT_LE(Difference(estimate.tpot.time.value(), result.tpot->mean), tpot_bound);
  }
}

}  // namespace
}  // namespace foretoken

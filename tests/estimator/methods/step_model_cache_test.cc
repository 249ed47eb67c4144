#include "estimator/methods/step_model_cache.h"

#include <gtest/gtest.h>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// Routing is part of the workload, which may change without Forget, and of the step model.
TEST(StepModelMemoTest, KeepsAStepModelPerRoutingAndEfficiencies) {
  const Model model = Mixtral8x7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 512, 2);
  StepModelMemo memo;
  EXPECT_EQ(memo.Get(scenario, GenericPrior()).model->expert_routing, ExpertRouting::kIndependent);
  scenario.workload.expert_routing = ExpertRouting::kIdenticalPrompts;
  EXPECT_EQ(memo.Get(scenario, GenericPrior()).model->expert_routing, ExpertRouting::kIdenticalPrompts);
  EXPECT_FALSE(memo.Get(scenario, GenericPrior()).model->efficiencies.speed_of_light);
  EXPECT_TRUE(memo.Get(scenario, SpeedOfLight()).model->efficiencies.speed_of_light);
}

}  // namespace
}  // namespace foretoken

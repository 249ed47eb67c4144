// What an estimate says of the engine that was asked for (WarnOfEngines of operator_model.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "estimator/methods/estimator.h"
#include "estimator/scenario/calibration.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> Messages(const Scenario& scenario) {
  const absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  std::vector<std::string> messages;
  for (const Warning& warning : estimate->warnings) messages.push_back(warning.message);
  return messages;
}

class EngineWarningsTest : public testing::Test {
 protected:
  Scenario Asking(const std::string& engine) {
    Scenario scenario = MakeScenario(model_, hardware_, 1, 100, 10);
    scenario.deployment.engine = engine;
    return scenario;
  }

  const Model model_ = Llama2_7b();
  const Hardware hardware_ = A100();
};

TEST_F(EngineWarningsTest, WhatStandsInIsNamed) {
  struct Case {
    const char* name;
    const char* asked;
    Calibration calibration;
    const char* want;  // empty: no warning
  };
  const std::string here = hardware_.id;
  const Case cases[] = {
      {"none asked", "", {.id = "c", .hardware_id = here, .engine = "vllm"}, ""},
      {"its own", "vllm@1", {.id = "c", .hardware_id = here, .engine = "vllm@1"}, ""},
      {"generic",
       "vllm",
       {.id = "c"},
       "no calibration of engine vllm for static batches; answered by the generic prior"},
      {"another version",
       "vllm@1",
       {.id = "c", .hardware_id = here, .engine = "vllm@2"},
       "engine vllm@1 was not measured on nvidia-a100-sxm-80gb; answered by calibration c, of vllm@2"},
      {"no version stated",
       "vllm@1",
       {.id = "c", .hardware_id = here, .engine = "vllm"},
       "answered by calibration c, of vllm (no version stated)"},
      {"no version asked",
       "vllm",
       {.id = "c", .hardware_id = here, .engine = "vllm@2"},
       "no version of engine vllm is asked for; answered by calibration c, of vllm@2"},
      {"other devices", "vllm", {.id = "c", .engine = "vllm"}, "answered by calibration c, of vllm on other devices"},
      {"both", "vllm@1", {.id = "c", .engine = "vllm@2"}, "answered by calibration c, of vllm@2 on other devices"},
  };
  for (const Case& c : cases) {
    Scenario scenario = Asking(c.asked);
    scenario.calibration = &c.calibration;
    if (c.want[0] == '\0') {
      EXPECT_THAT(Messages(scenario), IsEmpty()) << c.name;
    } else {
      EXPECT_THAT(Messages(scenario), ElementsAre(HasSubstr(c.want))) << c.name;
    }
  }
}

TEST_F(EngineWarningsTest, ThePriorWithoutAnyCalibrationIsSaidToo) {
  EXPECT_THAT(Messages(Asking("")), IsEmpty());
  EXPECT_THAT(Messages(Asking("vllm")), ElementsAre(HasSubstr("no calibration of engine vllm for static batches")));
  Scenario continuous = Asking("vllm");
  continuous.workload.batching = BatchingPolicy::kContinuous;
  EXPECT_THAT(Messages(continuous), ElementsAre(HasSubstr("no calibration of engine vllm for continuous batching")));
}

TEST_F(EngineWarningsTest, TheSpeedOfLightIsOfNoEngine) {
  Scenario light = Asking("vllm");
  light.method = Method::kSpeedOfLight;
  EXPECT_THAT(Messages(light), ElementsAre("engine vllm is not used; the speed of light is of no engine"));
  light.deployment.engine.clear();
  EXPECT_THAT(Messages(light), IsEmpty());
}

TEST_F(EngineWarningsTest, ADraftModelHasTheEngineOfTheScenario) {
  const Calibration calibration{.id = "c", .hardware_id = hardware_.id, .engine = "vllm"};
  const Model draft = Llama2_7b();
  Scenario scenario = Asking("vllm");
  scenario.calibration = &calibration;
  scenario.speculation = Speculation{.draft = &draft, .draft_tokens = 2, .acceptance = 0.5};
  scenario.speculation->deployment = scenario.deployment;
  EXPECT_THAT(Messages(scenario), IsEmpty());
  scenario.speculation->deployment.engine = "sglang";
  EXPECT_THAT(Messages(scenario),
              ElementsAre("draft model: engine sglang is not used; answered by calibration c, which "
                          "deployment.engine selects for all parts"));
}

}  // namespace
}  // namespace foretoken

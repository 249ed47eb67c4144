#include "estimator/step/step.h"

#include <gtest/gtest.h>

#include <limits>

#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// However many operators a step has, its device time is the sum of theirs and of the kernel gaps.
TEST(DeviceTimeTest, IsTheSumOverAnyNumberOfOperators) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const StepShape shape{
      .decode_sequences = 4, .decode_context = 500, .prefill_sequences = 1, .prefill_tokens = 300, .logits_rows = 5};
  for (const double exponent : {2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    for (const int more : {0, 10, 200}) {
      StepModel step = *MakeStepModel(MakeScenario(model, hardware, 4, 300, 2), GenericPrior(), nullptr);
      step.roofline_exponent = exponent;
      for (int i = 0; i < more; ++i) step.operators.after_attention.push_back(step.operators.head);
      TimeParts want{.host = model.num_hidden_layers * GenericPrior().layer_gap};
      for (const OperatorCost& cost : StepOperators(step, shape)) want += cost.Parts(exponent);
      const TimeParts got = DeviceTime(step, shape);
      EXPECT_NEAR(got.compute / want.compute, 1, 1e-12) << exponent << " " << more;
      EXPECT_NEAR(got.memory / want.memory, 1, 1e-12) << exponent << " " << more;
      EXPECT_EQ(got.host, want.host);
    }
  }
}

// 32 layers: 1 ms, and for each layer 20 us in a step of decodes alone, 300 us in one with prompts.
TEST(HostTimeTest, IsLongerWherePromptsAreInTheStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Efficiencies efficiencies = {
      .host_step = Seconds(1e-3), .host_layer = Seconds(20e-6), .host_prompt_layer = Seconds(300e-6)};
  const auto host = [&](const StepShape& shape) {
    return HostTime(*MakeStepModel(MakeScenario(model, hardware, 4, 300, 2), efficiencies, nullptr), shape).value();
  };
  const StepShape decodes{.decode_sequences = 4, .decode_context = 500};
  StepShape mixed = decodes;
  mixed.prefill_sequences = 1;
  mixed.prefill_tokens = 1;
  EXPECT_NEAR(host(decodes), 1.64e-3, 1e-12);
  EXPECT_NEAR(host(mixed), 10.6e-3, 1e-12);
  efficiencies.host_prompt_layer = Seconds(10e-6);  // never less than other steps
  EXPECT_NEAR(host(mixed), 1.64e-3, 1e-12);
}

// A cache takes step models of equal inputs for one another: whatever changes a step must be among them.
TEST(StepModelInputsTest, DifferInWhateverChangesAStep) {
  const Model model = Llama2_7b();
  const Model other_model = Llama31_70b();
  const Hardware hardware = A100();
  const Hardware other_hardware = A100();
  const Scenario base = MakeScenario(model, hardware, 4, 300, 2);
  struct Case {
    const char* what;
    void (*change)(Scenario& s);
  };
  const Case cases[] = {
      {"tensor_parallel", [](Scenario& s) { s.deployment.tensor_parallel = 2; }},
      {"pipeline_parallel", [](Scenario& s) { s.deployment.pipeline_parallel = 2; }},
      {"expert_parallel", [](Scenario& s) { s.deployment.expert_parallel = 2; }},
      {"data_parallel", [](Scenario& s) { s.deployment.data_parallel = 2; }},
      {"expert_load_imbalance", [](Scenario& s) { s.deployment.expert_load_imbalance = 1.5; }},
      {"expert_exchange", [](Scenario& s) { s.deployment.expert_exchange = ExpertExchange::kAllToAll; }},
      {"weight_dtype", [](Scenario& s) { s.deployment.weight_dtype = Dtype::kFp8; }},
      {"activation_dtype", [](Scenario& s) { s.deployment.activation_dtype = Dtype::kFp8; }},
      {"kv_cache_dtype", [](Scenario& s) { s.deployment.kv_cache_dtype = Dtype::kFp8; }},
      {"devices_per_node", [](Scenario& s) { s.deployment.devices_per_node = 4; }},
      {"scale_out", [](Scenario& s) { s.deployment.scale_out = GigabytesPerSecond(50); }},
      {"attention_kernel", [](Scenario& s) { s.deployment.attention_kernel = AttentionKernel::kNaive; }},
      {"unfused_elementwise", [](Scenario& s) { s.deployment.unfused_elementwise = true; }},
      {"roofline_exponent", [](Scenario& s) { s.deployment.roofline_exponent = 3; }},
      {"expert_routing", [](Scenario& s) { s.workload.expert_routing = ExpertRouting::kIdenticalPrompts; }},
  };
  const StepModelInputs inputs = StepModelInputs::Of(base, GenericPrior());
  EXPECT_EQ(inputs, StepModelInputs::Of(base, GenericPrior()));
  EXPECT_NE(inputs, StepModelInputs::Of(base, SpeedOfLight()));
  for (const Case& c : cases) {
    Scenario scenario = base;
    c.change(scenario);
    EXPECT_NE(inputs, StepModelInputs::Of(scenario, GenericPrior())) << c.what;
  }
  Scenario scenario = base;
  scenario.model = &other_model;
  EXPECT_NE(inputs, StepModelInputs::Of(scenario, GenericPrior()));
  scenario = base;
  scenario.hardware = &other_hardware;
  EXPECT_NE(inputs, StepModelInputs::Of(scenario, GenericPrior()));
  scenario = base;
  scenario.workload.batch_size = 8;
  EXPECT_EQ(inputs, StepModelInputs::Of(scenario, GenericPrior()));
}

}  // namespace
}  // namespace foretoken

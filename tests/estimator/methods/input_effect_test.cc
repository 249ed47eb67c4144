// Every input of a deployment, of disaggregated prefill and of speculative decoding changes an answer.
#include <gtest/gtest.h>

#include <string>

#include "estimator/methods/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// A scenario and the entries that it points to. A mixture on four devices in two nodes and two replicas.
struct Question {
  Question() {
    hardware.memory_capacity = Bytes(1e13);
    hardware.tdp_watts = 400;
    other_hardware = hardware;
    other_hardware.memory_bandwidth = GigabytesPerSecond(3000);
    other_hardware.peak.bf16 = Teraflops(900);
    scenario = MakeScenario(model, hardware, 8, 2000, 100);
    scenario.deployment.tensor_parallel = scenario.deployment.data_parallel = 2;
    scenario.deployment.expert_parallel = 4;
    scenario.deployment.devices_per_node = 2;
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  Deployment& deployment() { return scenario.deployment; }
  Disaggregation& disaggregation() { return *scenario.disaggregation; }
  Speculation& speculation() { return *scenario.speculation; }

  Model model = Mixtral8x7b();
  Model draft = Llama2_7b();
  Model other_draft = Gemma2_9b();
  Hardware hardware = A100();
  Hardware other_hardware;
  Scenario scenario;
};

using Change = void (*)(Question&);

void Nothing(Question&) {}

// Two prompts at a time on each of two prefill replicas.
void Disaggregate(Question& q) {
  q.scenario.disaggregation = Disaggregation{.hardware = &q.hardware,
                                             .deployment = q.deployment(),
                                             .batch_size = 2,
                                             .prefill_replicas = 2,
                                             .decode_replicas = 3,
                                             .transfer = GigabytesPerSecond(20),
                                             .transfer_latency = Seconds(1e-3)};
}

void Speculate(Question& q) {
  q.scenario.speculation = Speculation{.draft = &q.draft, .draft_tokens = 4, .acceptance = 0.7};
  q.speculation().deployment.tensor_parallel = 2;
  ResolveDtypes(q.draft, q.speculation().deployment);
}

void SpeculateApart(Question& q) {
  Speculate(q);
  q.speculation().follows = false;
}

// Answers with the detail in which a field may show.
absl::StatusOr<Estimate> Ask(const Question& q) { return ComputeEstimate(q.scenario, {.operators = true}); }

struct Input {
  const char* name;
  Change prepare;
  Change change;
};

class InputTest : public testing::TestWithParam<Input> {};

TEST_P(InputTest, ChangesTheAnswer) {
  Question q;
  GetParam().prepare(q);
  const absl::StatusOr<Estimate> before = Ask(q);
  ASSERT_TRUE(before.ok()) << before.status();
  GetParam().change(q);
  const absl::StatusOr<Estimate> after = Ask(q);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_FALSE(*before == *after);
}

std::string NameOf(const testing::TestParamInfo<Input>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Deployment, InputTest,
    testing::Values(
        Input{"tensor_parallel", Nothing, [](Question& q) { q.deployment().tensor_parallel = 4; }},
        Input{"pipeline_parallel", Nothing, [](Question& q) { q.deployment().pipeline_parallel = 2; }},
        Input{"expert_parallel", Nothing, [](Question& q) { q.deployment().expert_parallel = 2; }},
        Input{"data_parallel", Nothing, [](Question& q) { q.deployment().data_parallel = 4; }},
        Input{"expert_load_imbalance", Nothing, [](Question& q) { q.deployment().expert_load_imbalance = 1.5; }},
        Input{"expert_exchange", Nothing,
              [](Question& q) { q.deployment().expert_exchange = ExpertExchange::kAllToAll; }},
        Input{"weight_dtype", Nothing, [](Question& q) { q.deployment().weight_dtype = Dtype::kInt4; }},
        Input{"activation_dtype", Nothing, [](Question& q) { q.deployment().activation_dtype = Dtype::kFp32; }},
        Input{"kv_cache_dtype", Nothing, [](Question& q) { q.deployment().kv_cache_dtype = Dtype::kFp8; }},
        Input{"engine", Nothing, [](Question& q) { q.deployment().engine = "an-engine"; }},
        Input{"prefill_chunk_tokens", Nothing, [](Question& q) { q.deployment().prefill_chunk_tokens = 256; }},
        Input{"prefill_passes_in_flight",
              [](Question& q) { q.deployment().pipeline_parallel = 2, q.deployment().prefill_chunk_tokens = 256; },
              [](Question& q) { q.deployment().prefill_passes_in_flight = 1; }},
        Input{"memory_utilization", Nothing, [](Question& q) { q.deployment().memory_utilization = 0.5; }},
        Input{"devices_per_node", Nothing, [](Question& q) { q.deployment().devices_per_node = 4; }},
        Input{"scale_out", Nothing, [](Question& q) { q.deployment().scale_out = GigabytesPerSecond(1); }},
        Input{"attention_kernel", Nothing,
              [](Question& q) { q.deployment().attention_kernel = AttentionKernel::kNaive; }},
        Input{"unfused_elementwise", Nothing, [](Question& q) { q.deployment().unfused_elementwise = true; }},
        Input{"roofline_exponent", Nothing, [](Question& q) { q.deployment().roofline_exponent = 3; }},
        Input{"price_per_device_hour", Nothing, [](Question& q) { q.deployment().price_per_device_hour = 2; }}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Disaggregation, InputTest,
    testing::Values(
        Input{"hardware", Disaggregate, [](Question& q) { q.disaggregation().hardware = &q.other_hardware; }},
        Input{"tensor_parallel", Disaggregate, [](Question& q) { q.disaggregation().deployment.tensor_parallel = 4; }},
        Input{"prefill_chunk_tokens", Disaggregate,
              [](Question& q) { q.disaggregation().deployment.prefill_chunk_tokens = 256; }},
        Input{"batch_size", Disaggregate, [](Question& q) { q.disaggregation().batch_size = 4; }},
        Input{"prefill_replicas", Disaggregate, [](Question& q) { q.disaggregation().prefill_replicas = 3; }},
        Input{"decode_replicas", Disaggregate, [](Question& q) { q.disaggregation().decode_replicas = 4; }},
        Input{"transfer", Disaggregate, [](Question& q) { q.disaggregation().transfer = GigabytesPerSecond(40); }},
        Input{"no_transfer", Disaggregate, [](Question& q) { q.disaggregation().transfer.reset(); }},
        Input{"transfer_latency", Disaggregate,
              [](Question& q) { q.disaggregation().transfer_latency = Seconds(2e-3); }},
        Input{"no_transfer_latency", Disaggregate, [](Question& q) { q.disaggregation().transfer_latency.reset(); }},
        Input{"layerwise_transfer", Disaggregate, [](Question& q) { q.disaggregation().layerwise_transfer = true; }}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Speculation, InputTest,
    testing::Values(
        Input{"draft", Speculate, [](Question& q) { q.speculation().draft = &q.other_draft; }},
        Input{"weight_dtype", Speculate, [](Question& q) { q.speculation().deployment.weight_dtype = Dtype::kInt4; }},
        Input{"kv_cache_dtype", Speculate,
              [](Question& q) { q.speculation().deployment.kv_cache_dtype = Dtype::kFp8; }},
        Input{"tensor_parallel", SpeculateApart, [](Question& q) { q.speculation().deployment.tensor_parallel = 1; }},
        Input{"follows",
              [](Question& q) {
                Speculate(q);
                q.speculation().deployment.tensor_parallel = 1;
              },
              [](Question& q) { q.speculation().follows = false; }},
        Input{"draft_tokens", Speculate, [](Question& q) { q.speculation().draft_tokens = 5; }},
        Input{"acceptance", Speculate, [](Question& q) { q.speculation().acceptance = 0.8; }}),
    NameOf);

// A new input does not compile until it has a name here, and a case above. `follows` of a pool is for the solver.
TEST(InputListTest, EveryInputIsListed) {
  const auto& [hardware, pool, pool_follows, batch_size, prefill_replicas, decode_replicas, transfer, transfer_latency,
               layerwise_transfer] = Disaggregation{};
  EXPECT_EQ(hardware, nullptr);
  const auto& [draft, deployment, follows, draft_tokens, acceptance] = Speculation{};
  EXPECT_EQ(draft, nullptr);
}

}  // namespace
}  // namespace foretoken

// Every field that says how a model is placed changes an answer: one that the server forgot to read would not.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "estimator/serving/coverage.h"
#include "estimator/serving/coverage_rows.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

struct Input {
  const char* field;
  std::function<void(v1::Scenario&)> change;
};

class InputFieldsTest : public SecondaryTest {
 protected:
  // The estimate without its warnings: an input has to change a figure.
  std::string FiguresOf(const v1::Scenario& scenario) {
    v1::Estimate estimate = MustEstimate(scenario);
    estimate.clear_warnings();
    return estimate.SerializeAsString();
  }

  // How the engine schedules shows under continuous batching alone.
  static v1::Scenario ThatUses(const std::string& field, v1::Scenario base) {
    if (field == "max_num_seqs" || field == "scheduler") {
      base.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
    }
    return base;
  }

  // Each input changes the answer to `base`, and all fields of `type` are among them.
  void ExpectEachChangesTheAnswer(const google::protobuf::Descriptor& type, const v1::Scenario& base,
                                  const std::vector<Input>& inputs) {
    std::set<std::string> fields;
    for (int i = 0; i < type.field_count(); ++i) fields.insert(type.field(i)->name());
    for (const Input& input : inputs) {
      EXPECT_EQ(fields.erase(input.field), 1u) << input.field;
      const v1::Scenario asked = ThatUses(input.field, base);
      const std::string before = FiguresOf(asked);
      v1::Scenario changed = asked;
      input.change(changed);
      EXPECT_NE(FiguresOf(changed), before) << type.name() << "." << input.field << " changes nothing";
    }
    EXPECT_TRUE(fields.empty()) << *fields.begin() << " of " << type.name() << " needs a change in this test";
  }
};

// Two replicas of two stages of 4 devices, on nodes of 4, share the experts of one model.
v1::Scenario Placed() {
  v1::Scenario scenario;
  scenario.set_model_id("mixtral-8x7b");
  scenario.set_hardware_id("nvidia-h100-sxm-80gb");
  v1::Deployment& deployment = *scenario.mutable_deployment();
  deployment.set_tensor_parallel(4);
  deployment.set_pipeline_parallel(2);
  deployment.set_data_parallel(2);
  deployment.set_expert_parallel(8);
  deployment.set_devices_per_node(4);
  scenario.mutable_workload()->set_batch_size(16);
  scenario.mutable_workload()->set_prompt_tokens(4000);
  scenario.mutable_workload()->set_output_tokens(100);
  return scenario;
}

// Every field of the deployment with a value that is not its default.
std::vector<Input> DeploymentInputs() {
  const auto d = [](v1::Scenario& s) { return s.mutable_deployment(); };
  return {
      {"tensor_parallel", [=](auto& s) { d(s)->set_tensor_parallel(8); }},
      {"pipeline_parallel", [=](auto& s) { d(s)->set_pipeline_parallel(4); }},
      {"expert_parallel", [=](auto& s) { d(s)->set_expert_parallel(4); }},
      {"data_parallel", [=](auto& s) { d(s)->set_data_parallel(4); }},
      {"weight_dtype", [=](auto& s) { d(s)->set_weight_dtype(v1::DTYPE_FP8); }},
      {"activation_dtype", [=](auto& s) { d(s)->set_activation_dtype(v1::DTYPE_FP8); }},
      {"kv_cache_dtype", [=](auto& s) { d(s)->set_kv_cache_dtype(v1::DTYPE_FP8); }},
      {"engine", [=](auto& s) { d(s)->set_engine("vllm"); }},
      {"prefill_chunk_tokens", [=](auto& s) { d(s)->set_prefill_chunk_tokens(512); }},
      {"prefill_passes_in_flight", [=](auto& s) { d(s)->set_prefill_passes_in_flight(1); }},
      {"memory_utilization", [=](auto& s) { d(s)->set_memory_utilization(0.7); }},
      {"devices_per_node", [=](auto& s) { d(s)->set_devices_per_node(8); }},
      {"scale_out_bytes_per_second", [=](auto& s) { d(s)->set_scale_out_bytes_per_second(1e9); }},
      {"attention_kernel", [=](auto& s) { d(s)->set_attention_kernel(v1::ATTENTION_KERNEL_NAIVE); }},
      {"unfused_elementwise", [=](auto& s) { d(s)->set_unfused_elementwise(true); }},
      {"roofline_exponent", [=](auto& s) { d(s)->set_roofline_exponent(1); }},
      {"price_per_device_hour", [=](auto& s) { d(s)->set_price_per_device_hour(3); }},
      {"expert_load_imbalance", [=](auto& s) { d(s)->set_expert_load_imbalance(4); }},
      {"expert_exchange", [=](auto& s) { d(s)->set_expert_exchange(v1::EXPERT_EXCHANGE_ALL_TO_ALL); }},
      {"max_num_seqs", [=](auto& s) { d(s)->set_max_num_seqs(2); }},
      {"scheduler", [=](auto& s) { d(s)->set_scheduler(v1::SCHEDULER_POLICY_PREFILL_FIRST); }},
  };
}

TEST_F(InputFieldsTest, OfTheDeployment) {
  ExpectEachChangesTheAnswer(*v1::Deployment::descriptor(), Placed(), DeploymentInputs());
}

// The features of the coverage table that a scenario states.
std::set<Feature> FeaturesOf(const v1::Scenario& message, const catalog::Snapshot& snapshot) {
  ScenarioReader reader(snapshot, absl::UnixEpoch());
  ScenarioEstimator estimator(reader, snapshot);
  reader.ReadAll(message, "");
  const absl::StatusOr<const foretoken::Scenario*> scenario = estimator.scenario();
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  std::set<Feature> features;
  for (int i = 0; scenario.ok() && i < static_cast<int>(Feature::kEnd); ++i) {
    if (States(**scenario, static_cast<Feature>(i))) features.insert(static_cast<Feature>(i));
  }
  return features;
}

// A method that ignores a field has to say so: each field is a feature of the table, unless every method uses it.
TEST_F(InputFieldsTest, EachFieldOfTheDeploymentIsAFeatureOfTheCoverageTable) {
  const std::set<std::string> used_by_all = {"weight_dtype", "activation_dtype", "kv_cache_dtype",
                                             "memory_utilization"};
  for (const Input& input : DeploymentInputs()) {
    v1::Scenario base = Scenario(1, 1000, 10);
    const std::string field = input.field;
    if (field.starts_with("expert_")) base.mutable_deployment()->set_tensor_parallel(4);
    if (field == "expert_load_imbalance") base.mutable_deployment()->set_expert_parallel(4);
    v1::Scenario changed = base;
    input.change(changed);
    const bool is_feature = FeaturesOf(changed, *catalog_->snapshot()) != FeaturesOf(base, *catalog_->snapshot());
    EXPECT_NE(is_feature, used_by_all.contains(input.field)) << input.field;
  }
}

TEST_F(InputFieldsTest, OfSpeculativeDecoding) {
  const auto speculative = [](v1::Scenario& s) { return s.mutable_speculative_decoding(); };
  v1::GetModelRequest get;
  get.set_model_id("llama-3.2-3b");
  v1::GetModelResponse larger;
  ASSERT_TRUE(Call(&v1::CatalogService::Stub::GetModel, get, &larger).ok());
  ExpectEachChangesTheAnswer(
      *v1::SpeculativeDecoding::descriptor(), Speculative(),
      {
          {"draft_model_id", [=](auto& s) { speculative(s)->set_draft_model_id("llama-3.2-3b"); }},
          {"draft_model_spec", [=](auto& s) { *speculative(s)->mutable_draft_model_spec() = larger.entry().spec(); }},
          {"draft_tokens", [=](auto& s) { speculative(s)->set_draft_tokens(6); }},
          {"acceptance_rate", [=](auto& s) { speculative(s)->set_acceptance_rate(0.5); }},
          {"draft_deployment",
           [=](auto& s) { speculative(s)->mutable_draft_deployment()->set_weight_dtype(v1::DTYPE_FP8); }},
      });
}

TEST_F(InputFieldsTest, OfDisaggregatedPrefill) {
  const auto prefill = [](v1::Scenario& s) { return s.mutable_disaggregated_prefill(); };
  v1::Scenario base = Disaggregated();
  prefill(base)->set_transfer_latency_seconds(0.001);
  ExpectEachChangesTheAnswer(
      *v1::DisaggregatedPrefill::descriptor(), base,
      {
          {"hardware_id", [=](auto& s) { prefill(s)->set_hardware_id("nvidia-h100-sxm-80gb"); }},
          {"hardware_spec",
           [=](auto& s) {
             v1::HardwareSpec& spec = *prefill(s)->mutable_hardware_spec();
             spec.set_memory_capacity_bytes(80'000'000'000);
             spec.set_memory_bandwidth_bytes_per_second(1e12);
             spec.mutable_peak()->set_bf16_flops_per_second(1e14);
             spec.set_interconnect_bytes_per_second(1e11);
           }},
          {"deployment", [=](auto& s) { prefill(s)->mutable_deployment()->set_tensor_parallel(4); }},
          {"batch_size", [=](auto& s) { prefill(s)->set_batch_size(2); }},
          {"prefill_replicas", [=](auto& s) { prefill(s)->set_prefill_replicas(3); }},
          {"decode_replicas", [=](auto& s) { prefill(s)->set_decode_replicas(4); }},
          {"transfer_bytes_per_second", [=](auto& s) { prefill(s)->set_transfer_bytes_per_second(1e9); }},
          {"transfer_latency_seconds", [=](auto& s) { prefill(s)->set_transfer_latency_seconds(0.1); }},
          {"layerwise_transfer", [=](auto& s) { prefill(s)->set_layerwise_transfer(true); }},
      });
}

// A formula that nobody wrote would leave its metric at 0 or absent in every scenario.
TEST_F(InputFieldsTest, EveryMetricIsKnownInSomeScenario) {
  v1::Scenario usual = Placed();
  usual.mutable_deployment()->set_price_per_device_hour(3);
  usual.mutable_slo()->set_max_ttft_seconds(0.001);
  v1::Scenario dense = Scenario(4, 1000, 100);
  dense.mutable_deployment()->set_engine("vllm");
  v1::Scenario kpi = Scenario(1, 1000, 100);
  kpi.set_method(v1::METHOD_KPI);
  kpi.mutable_slo()->set_max_ttft_seconds(1);
  kpi.mutable_slo()->set_max_tpot_seconds(1);
  v1::Scenario queued = Disaggregated();
  queued.mutable_workload()->clear_batch_size();
  queued.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  queued.mutable_workload()->set_request_rate_per_second(1);
  v1::Scenario loaded = Scenario(1, 1000, 100);
  loaded.mutable_live_load()->set_running_sequences(8);
  loaded.mutable_live_load()->set_waiting_requests(4);
  v1::Scenario closed_loop = Scenario(16, 1000, 100);
  closed_loop.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  closed_loop.mutable_slo()->set_simulated_steps(100'000);
  v1::Scenario brief = Disaggregated();  // so short that a large batch is bound by compute
  brief.mutable_workload()->set_prompt_tokens(16);
  brief.mutable_workload()->set_output_tokens(16);
  v1::Scenario recurs = Disaggregated();
  recurs.set_model_id("qwen3.5-0.8b");
  std::set<int> known;
  for (const v1::Scenario& base :
       {usual, dense, kpi, Speculative(), Disaggregated(), queued, loaded, closed_loop, brief, recurs}) {
    v1::SweepRequest request;
    *request.mutable_base() = base;
    request.add_axes()->set_field("workload.prompt_tokens");
    request.mutable_axes(0)->mutable_numbers()->add_values(base.workload().prompt_tokens());
    for (int metric = 1; metric <= v1::Metric_MAX; ++metric) request.add_metrics(static_cast<v1::Metric>(metric));
    const v1::SweepChunk chunk = MustSweep(request);
    for (const v1::SweepColumn& column : chunk.columns()) {
      if (std::isfinite(column.values(0)) && column.values(0) != 0) known.insert(column.metric());
    }
  }
  for (int metric = 1; metric <= v1::Metric_MAX; ++metric) {
    EXPECT_TRUE(known.contains(metric)) << v1::Metric_Name(static_cast<v1::Metric>(metric)) << " is nowhere known";
  }
}

}  // namespace
}  // namespace foretoken::rpc

#include "client/cli/scenario/scenario_flags.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

struct Case {
  const char* flag;
  const char* value;  // null: a switch
  const char* want;   // the scenario, beside model and hardware
};

constexpr Case kCases[] = {
    {"--method", "kpi", "method: METHOD_KPI"},
    {"--batch", "2", "workload { batch_size: 2 }"},
    {"--prompt", "2", "workload { prompt_tokens: 2 }"},
    {"--output-tokens", "2", "workload { output_tokens: 2 }"},
    {"--cached-prefix", "2", "workload { cached_prefix_tokens: 2 }"},
    {"--prefix-load-bandwidth", "2", "workload { prefix_load_bytes_per_second: 2 }"},
    {"--output-mean", "2", "workload { output_length_distribution { mean_tokens: 2 } }"},
    {"--output-max", "2", "workload { output_length_distribution { max_tokens: 2 } }"},
    {"--batching", "dynamic", "workload { batching_policy: BATCHING_POLICY_DYNAMIC }"},
    {"--kv-mode", "none", "workload { kv_cache_mode: KV_CACHE_MODE_NONE }"},
    {"--prompt-rate", "2", "workload { prompt_arrival_tokens_per_second: 2 }"},
    {"--request-rate", "2", "workload { request_rate_per_second: 2 }"},
    {"--prompt-spread", "2", "workload { prompt_spread_tokens: 2 }"},
    {"--output-spread", "2", "workload { output_spread_tokens: 2 }"},
    {"--run-requests", "2", "workload { closed_loop_requests: 2 }"},
    {"--batching-window", "2ms", "workload { batching_window_seconds: 0.002 }"},
    {"--capacity", "waves", "workload { capacity_policy: CAPACITY_POLICY_WAVES }"},
    {"--routing", "independent", "workload { expert_routing: EXPERT_ROUTING_INDEPENDENT }"},
    {"--tokenizer-rate", "2", "workload { tokenizer_tokens_per_second: 2 }"},
    {"--parallel-prompt-tokens", "2", "workload { parallel_prompt_tokens: 2 }"},
    {"--compute-utilization", "0.5", "workload { compute_utilization: 0.5 }"},
    {"--write-back", nullptr, "workload { kv_cache_written_back: true }"},
    {"--tp", "2", "deployment { tensor_parallel: 2 }"},
    {"--pp", "2", "deployment { pipeline_parallel: 2 }"},
    {"--ep", "2", "deployment { expert_parallel: 2 }"},
    {"--dp", "2", "deployment { data_parallel: 2 }"},
    {"--expert-imbalance", "2", "deployment { expert_load_imbalance: 2 }"},
    {"--expert-exchange", "all-to-all", "deployment { expert_exchange: EXPERT_EXCHANGE_ALL_TO_ALL }"},
    {"--weight-dtype", "fp8", "deployment { weight_dtype: DTYPE_FP8 }"},
    {"--activation-dtype", "fp8", "deployment { activation_dtype: DTYPE_FP8 }"},
    {"--kv-dtype", "fp8", "deployment { kv_cache_dtype: DTYPE_FP8 }"},
    {"--engine", "vllm", "deployment { engine: \"vllm\" }"},
    {"--chunk", "2", "deployment { prefill_chunk_tokens: 2 }"},
    {"--passes-in-flight", "2", "deployment { prefill_passes_in_flight: 2 }"},
    {"--max-running", "2", "deployment { max_num_seqs: 2 }"},
    {"--scheduler", "prefill-first", "deployment { scheduler: SCHEDULER_POLICY_PREFILL_FIRST }"},
    {"--memory-utilization", "0.5", "deployment { memory_utilization: 0.5 }"},
    {"--devices-per-node", "2", "deployment { devices_per_node: 2 }"},
    {"--scale-out-bandwidth", "2", "deployment { scale_out_bytes_per_second: 2 }"},
    {"--attention", "flash", "deployment { attention_kernel: ATTENTION_KERNEL_FLASH }"},
    {"--unfused", nullptr, "deployment { unfused_elementwise: true }"},
    {"--roofline-exponent", "2", "deployment { roofline_exponent: 2 }"},
    {"--price", "2", "deployment { price_per_device_hour: 2 }"},
    {"--draft", "d", "speculative_decoding { draft_model_id: \"d\" }"},
    {"--draft-tokens", "2", "speculative_decoding { draft_tokens: 2 }"},
    {"--acceptance", "0.5", "speculative_decoding { acceptance_rate: 0.5 }"},
    {"--draft-tp", "2", "speculative_decoding { draft_deployment { tensor_parallel: 2 } }"},
    {"--prefill-replicas", "2", "disaggregated_prefill { prefill_replicas: 2 }"},
    {"--decode-replicas", "2", "disaggregated_prefill { decode_replicas: 2 }"},
    {"--prefill-hardware", "h", "disaggregated_prefill { hardware_id: \"h\" }"},
    {"--prefill-tp", "2", "disaggregated_prefill { deployment { tensor_parallel: 2 } }"},
    {"--prefill-pp", "2", "disaggregated_prefill { deployment { pipeline_parallel: 2 } }"},
    {"--prefill-price", "2", "disaggregated_prefill { deployment { price_per_device_hour: 2 } }"},
    {"--prefill-batch", "2", "disaggregated_prefill { batch_size: 2 }"},
    {"--transfer-bandwidth", "2", "disaggregated_prefill { transfer_bytes_per_second: 2 }"},
    {"--transfer-latency", "2", "disaggregated_prefill { transfer_latency_seconds: 2 }"},
    {"--layerwise-transfer", nullptr, "disaggregated_prefill { layerwise_transfer: true }"},
    {"--load-time", "1970-01-01T00:00:02Z", "live_load { time_observed { seconds: 2 } }"},
    {"--running", "2", "live_load { running_sequences: 2 }"},
    {"--running-context", "2", "live_load { running_context_tokens: 2 }"},
    {"--remaining-output", "2", "live_load { remaining_output_tokens: 2 }"},
    {"--least-remaining", "2", "live_load { least_remaining_output_tokens: 2 }"},
    {"--waiting", "2", "live_load { waiting_requests: 2 }"},
    {"--queued-tokens", "2", "live_load { queued_prefill_tokens: 2 }"},
    {"--in-flight-tokens", "2", "live_load { in_flight_prefill_tokens: 2 }"},
    {"--free-kv-tokens", "2", "live_load { free_kv_tokens: 2 }"},
    {"--kv-usage", "0.5", "live_load { kv_cache_usage_ratio: 0.5 }"},
    {"--max-num-seqs", "2", "live_load { max_num_seqs: 2 }"},
    {"--max-batched-tokens", "2", "live_load { max_num_batched_tokens: 2 }"},
    {"--kv-block", "2", "live_load { kv_block_tokens: 2 }"},
    {"--slo-ttft", "2", "slo { max_ttft_seconds: 2 }"},
    {"--slo-tpot", "2", "slo { max_tpot_seconds: 2 }"},
    {"--slo-e2e", "2", "slo { max_e2e_seconds: 2 }"},
    {"--slo-ttft-p50", "2", "slo { max_ttft_p50_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-ttft-p90", "2", "slo { max_ttft_p90_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-ttft-p95", "2", "slo { max_ttft_p95_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-ttft-p99", "2", "slo { max_ttft_p99_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-tpot-p50", "2", "slo { max_tpot_p50_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-tpot-p90", "2", "slo { max_tpot_p90_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-tpot-p95", "2", "slo { max_tpot_p95_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-tpot-p99", "2", "slo { max_tpot_p99_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-itl-p50", "2", "slo { max_itl_p50_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-itl-p90", "2", "slo { max_itl_p90_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-itl-p95", "2", "slo { max_itl_p95_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-itl-p99", "2", "slo { max_itl_p99_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-e2e-p50", "2", "slo { max_e2e_p50_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-e2e-p90", "2", "slo { max_e2e_p90_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-e2e-p95", "2", "slo { max_e2e_p95_seconds: 2 simulated_steps: 200000 }"},
    {"--slo-e2e-p99", "2", "slo { max_e2e_p99_seconds: 2 simulated_steps: 200000 }"},
    {"--simulated-steps", "2", "slo { simulated_steps: 2 }"},
    {"--percentiles", nullptr, "slo { simulated_steps: 200000 }"},
    {"--decide-by", "band", "slo { decide_by: DECIDE_BY_BAND }"},
};

TEST(ScenarioFlagsTest, EachFlagIsAFieldOfItsOwn) {
  client::FakeServer server;
  for (const Case& c : kCases) {
    std::vector<std::string> arguments = {"estimate", "small", "gpu-a", c.flag};
    if (c.value != nullptr) arguments.emplace_back(c.value);
    const CliResult result = RunCli(server, arguments);
    EXPECT_LE(result.code, 1) << c.flag << ": " << result.err;
    v1::Scenario scenario = server.estimator.last.scenario();
    scenario.clear_model_id();
    scenario.clear_hardware_id();
    EXPECT_EQ(scenario.ShortDebugString(), c.want) << c.flag;
  }
}

// A flag that is added stands above too.
TEST(ScenarioFlagsTest, NoFlagIsMissingAbove) {
  client::FakeServer server;
  std::set<std::string> known = {"--model", "--hardware"};
  for (const Case& c : kCases) known.insert(c.flag);
  const std::string help = RunCli(server, {"estimate", "--help"}).out;
  for (size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
    const std::string flag = help.substr(at, help.find_first_not_of("-abcdefghijklmnopqrstuvwxyz0123456789", at) - at);
    EXPECT_TRUE(!FindScenarioFlag(flag.substr(2)).has_value() || known.contains(flag)) << flag;
  }
}

// The names of the fields that some case sets in a part of the scenario.
std::set<std::string> FieldsWithAFlag(const std::string& part) {
  std::set<std::string> names;
  for (const Case& c : kCases) {
    v1::Scenario scenario;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(c.want, &scenario)) << c.want;
    const auto* field = v1::Scenario::descriptor()->FindFieldByName(part);
    const google::protobuf::Message& message = scenario.GetReflection()->GetMessage(scenario, field);
    std::vector<const google::protobuf::FieldDescriptor*> set;
    message.GetReflection()->ListFields(message, &set);
    for (const auto* one : set) names.insert(one->name());
  }
  return names;
}

// A field of the API without a flag can be asked for by --scenario only; specs and lists are read from files.
TEST(ScenarioFlagsTest, EveryFieldHasAFlag) {
  for (const char* part :
       {"deployment", "workload", "live_load", "slo", "speculative_decoding", "disaggregated_prefill"}) {
    const google::protobuf::Descriptor& type = *v1::Scenario::descriptor()->FindFieldByName(part)->message_type();
    const std::set<std::string> known = FieldsWithAFlag(part);
    for (int i = 0; i < type.field_count(); ++i) {
      const bool of_a_file = type.field(i)->name().ends_with("_spec") || type.field(i)->is_repeated();
      EXPECT_NE(known.contains(type.field(i)->name()), of_a_file) << part << "." << type.field(i)->name();
    }
  }
}

}  // namespace
}  // namespace foretoken::cli

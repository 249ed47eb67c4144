#include "client/cli/scenario/scenario_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/scenario/field_path.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

using google::protobuf::FieldDescriptor;

struct Flag {
  const char* names;
  const char* path;
  const char* help;
};

struct Group {
  const char* name;
  std::span<const Flag> flags;
};

constexpr Flag kQuestion[] = {
    {"MODEL,--model", "model_id", "Model, a catalog id or an alias (foretoken list models)"},
    {"HARDWARE,--hardware", "hardware_id", "Hardware, a catalog id or an alias (foretoken list hardware)"},
    {"--method", "method", "How to estimate; default: the best method available"}};

constexpr Flag kWorkload[] = {
    {"-b,--batch", "workload.batch_size", "Sequences in the batch; with continuous batching the concurrency"},
    {"-p,--prompt", "workload.prompt_tokens", "Prompt tokens of each sequence"},
    {"-o,--output-tokens", "workload.output_tokens", "Output tokens of each sequence, the first included"},
    {"--cached-prefix", "workload.cached_prefix_tokens", "Prompt tokens whose KV cache already exists"},
    {"--prefix-load-bandwidth", "workload.prefix_load_bytes_per_second",
     "Bytes/s per device at which a cached prefix is loaded, if it is not in device memory"},
    {"--output-mean", "workload.output_length_distribution.mean_tokens",
     "Mean output length if sequences differ, tokens"},
    {"--output-max", "workload.output_length_distribution.max_tokens", "Longest output if sequences differ, tokens"},
    {"--batching", "workload.batching_policy", "How requests are batched"},
    {"--kv-mode", "workload.kv_cache_mode", "What is cached of earlier tokens"},
    {"--prompt-rate", "workload.prompt_arrival_tokens_per_second",
     "Tokens/s at which the prompt arrives (pipelined prompt cache)"},
    {"--request-rate", "workload.request_rate_per_second", "Arriving requests/s; default: closed loop"},
    {"--prompt-spread", "workload.prompt_spread_tokens",
     "Closed loop: tokens that prompts are longer or shorter at most"},
    {"--output-spread", "workload.output_spread_tokens",
     "Closed loop: tokens that outputs are longer or shorter at most"},
    {"--run-requests", "workload.closed_loop_requests",
     "Closed loop: requests of the whole run; default: steady state"},
    {"--batching-window", "workload.batching_window_seconds", "Longest time that a dynamic batch waits for requests"},
    {"--capacity", "workload.capacity_policy", "What happens when the batch does not fit"},
    {"--routing", "workload.expert_routing", "How the tokens of a batch choose their experts"},
    {"--tokenizer-rate", "workload.tokenizer_tokens_per_second", "Tokens/s of the tokenizer; default: not counted"},
    {"--parallel-prompt-tokens", "workload.parallel_prompt_tokens",
     "KPI method: tokens whose prefill shares one read of the weights"},
    {"--compute-utilization", "workload.compute_utilization",
     "KPI method: share of the peak rate that prefill reaches"},
    {"--write-back", "workload.kv_cache_written_back",
     "KPI method: each output token writes the whole KV cache back, not its new entry alone"}};

constexpr Flag kDeployment[] = {
    {"--tp", "deployment.tensor_parallel", "Tensor parallel degree"},
    {"--pp", "deployment.pipeline_parallel", "Pipeline parallel degree"},
    {"--ep", "deployment.expert_parallel", "Expert parallel degree"},
    {"--dp", "deployment.data_parallel", "Data parallel degree"},
    {"--expert-imbalance", "deployment.expert_load_imbalance",
     "Tokens of the busiest expert-parallel device over their mean"},
    {"--expert-exchange", "deployment.expert_exchange", "How tokens reach the experts on other devices"},
    {"--weight-dtype", "deployment.weight_dtype", "Dtype of the weights; default: the model's own"},
    {"--activation-dtype", "deployment.activation_dtype", "Dtype of the activations; default: the model's own"},
    {"--kv-dtype", "deployment.kv_cache_dtype", "Dtype of the KV cache; default: the model's own"},
    {"--engine", "deployment.engine", "Serving engine, for example vllm or vllm@0.12.0"},
    {"--chunk", "deployment.prefill_chunk_tokens", "Tokens per chunk of chunked prefill"},
    {"--passes-in-flight", "deployment.prefill_passes_in_flight",
     "Chunks of a prefill that pipeline stages work on at once; 1: one after the other"},
    {"--max-running", "deployment.max_num_seqs",
     "Sequences that a replica runs at once at most (max_num_seqs), where no live load states them"},
    {"--scheduler", "deployment.scheduler", "How the engine fills a step; default: as --engine does"},
    {"--memory-utilization", "deployment.memory_utilization", "Share of device memory that the engine may use, 0 to 1"},
    {"--devices-per-node", "deployment.devices_per_node", "Devices joined by the fast link"},
    {"--scale-out-bandwidth", "deployment.scale_out_bytes_per_second",
     "Bytes/s per device between nodes, one direction"},
    {"--attention", "deployment.attention_kernel", "How the attention kernel handles its scores"},
    {"--unfused", "deployment.unfused_elementwise", "Elementwise operators are not fused: each is a pass over memory"},
    {"--roofline-exponent", "deployment.roofline_exponent", "Exponent of the roofline's smooth maximum, or inf"},
    {"--price", "deployment.price_per_device_hour", "Price per device-hour, in any currency"}};

constexpr Flag kSpeculativeDecoding[] = {
    {"--draft", "speculative_decoding.draft_model_id", "Draft model, a catalog id or an alias"},
    {"--draft-tokens", "speculative_decoding.draft_tokens",
     "Tokens that the draft model proposes per speculative step"},
    {"--acceptance", "speculative_decoding.acceptance_rate",
     "Probability that a proposed token is accepted, given that the previous ones were"},
    {"--draft-tp", "speculative_decoding.draft_deployment.tensor_parallel",
     "Tensor parallel degree of the draft model; default: that of the model"}};

constexpr Flag kDisaggregatedPrefill[] = {
    {"--prefill-replicas", "disaggregated_prefill.prefill_replicas", "Replicas of the prefill pool"},
    {"--decode-replicas", "disaggregated_prefill.decode_replicas", "Replicas of the decode pool"},
    {"--prefill-hardware", "disaggregated_prefill.hardware_id", "Hardware of the prefill pool; default: the same"},
    {"--prefill-tp", "disaggregated_prefill.deployment.tensor_parallel",
     "Tensor parallel degree of a prefill replica; if any --prefill- flag of a deployment is given, the others take "
     "defaults"},
    {"--prefill-pp", "disaggregated_prefill.deployment.pipeline_parallel",
     "Pipeline parallel degree of a prefill replica"},
    {"--prefill-price", "disaggregated_prefill.deployment.price_per_device_hour",
     "Price per device-hour of the prefill pool"},
    {"--prefill-batch", "disaggregated_prefill.batch_size", "Prompts per batch of a prefill replica"},
    {"--transfer-bandwidth", "disaggregated_prefill.transfer_bytes_per_second",
     "Bytes/s at which KV cache is transferred between replicas"},
    {"--transfer-latency", "disaggregated_prefill.transfer_latency_seconds", "Latency of a KV cache transfer"},
    {"--layerwise-transfer", "disaggregated_prefill.layerwise_transfer",
     "Transfer the KV cache of each layer as soon as it is computed"}};

constexpr Flag kLiveLoad[] = {
    {"--load-time", "live_load.time_observed", "Time at which the load was observed, for example 2026-01-31T12:00:00Z"},
    {"--running", "live_load.running_sequences", "Sequences that are decoding"},
    {"--running-context", "live_load.running_context_tokens", "Mean context of the running sequences, tokens"},
    {"--remaining-output", "live_load.remaining_output_tokens",
     "Mean output tokens that the running sequences have yet to generate"},
    {"--least-remaining", "live_load.least_remaining_output_tokens",
     "Output tokens that each of them has yet to generate at least"},
    {"--waiting", "live_load.waiting_requests", "Requests in the queue"},
    {"--queued-tokens", "live_load.queued_prefill_tokens", "Prompt tokens of the queued requests"},
    {"--in-flight-tokens", "live_load.in_flight_prefill_tokens",
     "Prompt tokens not yet prefilled of scheduled requests"},
    {"--free-kv-tokens", "live_load.free_kv_tokens", "Free KV cache, tokens"},
    {"--kv-usage", "live_load.kv_cache_usage_ratio", "Share of the KV cache that is in use, 0 to 1"},
    {"--max-num-seqs", "live_load.max_num_seqs", "Batch slots of the engine (max_num_seqs)"},
    {"--max-batched-tokens", "live_load.max_num_batched_tokens",
     "Token budget of one engine step (max_num_batched_tokens)"},
    {"--kv-block", "live_load.kv_block_tokens", "Tokens per block of the KV cache"}};

constexpr Flag kSlo[] = {
    {"--slo-ttft", "slo.max_ttft_seconds", "Longest time to first token"},
    {"--slo-tpot", "slo.max_tpot_seconds", "Longest time per output token"},
    {"--slo-e2e", "slo.max_e2e_seconds", "Longest end-to-end time"},
    {"--slo-ttft-p50", "slo.max_ttft_p50_seconds", "Longest median TTFT"},
    {"--slo-ttft-p90", "slo.max_ttft_p90_seconds", "Longest 90th percentile of TTFT"},
    {"--slo-ttft-p95", "slo.max_ttft_p95_seconds", "Longest 95th percentile of TTFT"},
    {"--slo-ttft-p99", "slo.max_ttft_p99_seconds", "Longest 99th percentile of TTFT"},
    {"--slo-tpot-p50", "slo.max_tpot_p50_seconds", "Longest median TPOT"},
    {"--slo-tpot-p90", "slo.max_tpot_p90_seconds", "Longest 90th percentile of TPOT"},
    {"--slo-tpot-p95", "slo.max_tpot_p95_seconds", "Longest 95th percentile of TPOT"},
    {"--slo-tpot-p99", "slo.max_tpot_p99_seconds", "Longest 99th percentile of TPOT"},
    {"--slo-itl-p50", "slo.max_itl_p50_seconds", "Longest median gap between two tokens"},
    {"--slo-itl-p90", "slo.max_itl_p90_seconds", "Longest 90th percentile of gap between two tokens"},
    {"--slo-itl-p95", "slo.max_itl_p95_seconds", "Longest 95th percentile of gap between two tokens"},
    {"--slo-itl-p99", "slo.max_itl_p99_seconds", "Longest 99th percentile of gap between two tokens"},
    {"--slo-e2e-p50", "slo.max_e2e_p50_seconds", "Longest median E2E"},
    {"--slo-e2e-p90", "slo.max_e2e_p90_seconds", "Longest 90th percentile of E2E"},
    {"--slo-e2e-p95", "slo.max_e2e_p95_seconds", "Longest 95th percentile of E2E"},
    {"--slo-e2e-p99", "slo.max_e2e_p99_seconds", "Longest 99th percentile of E2E"},
    {"--simulated-steps", "slo.simulated_steps", "Steps that a simulation of percentiles may take"},
    {"--decide-by", "slo.decide_by", "What the verdict compares with them"}};

constexpr Group kGroups[] = {
    {"Question", kQuestion},
    {"Workload", kWorkload},
    {"Deployment", kDeployment},
    {"Speculative decoding", kSpeculativeDecoding},
    {"Disaggregated prefill (--tp and the other deployment flags then describe the decode pool)",
     kDisaggregatedPrefill},
    {"Live load (current state of the replica)", kLiveLoad},
    {"SLO (exit 1 if it is missed, or by its error band may be)", kSlo},
};

const FieldDescriptor& FieldOf(const Flag& flag) { return *FindField(*v1::Scenario::descriptor(), flag.path); }

// What the value of a flag looks like, for --help.
std::string Kind(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
      return "INT";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.name().ends_with("_seconds") ? "TIME" : "NUMBER";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "TIMESTAMP";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "NAME";
    default:
      return "TEXT";
  }
}

std::string Help(const Flag& flag, const FieldDescriptor& field) {
  // The number formats are many, so they are listed once.
  const bool listed = field.name() == "activation_dtype" || field.name() == "kv_cache_dtype";
  if (field.enum_type() == nullptr || listed) return flag.help;
  return absl::StrCat(flag.help, ": ", EnumChoices(*field.enum_type()));
}

void AddFlag(CLI::App& command, const Group& group, const Flag& flag, std::string& text) {
  const FieldDescriptor& field = FieldOf(flag);
  const bool is_switch = field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
  CLI::Option* option = is_switch ? command.add_flag(flag.names, text, Help(flag, field))
                                  : command.add_option(flag.names, text, Help(flag, field))->type_name(Kind(field));
  option->group(group.name)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

bool IsIn(ScenarioScope scope, const Flag& flag) {
  const std::string_view path = flag.path;
  switch (scope) {
    case ScenarioScope::kWhole:
      return true;
    case ScenarioScope::kWithoutHardware:
      return path != "hardware_id";
    case ScenarioScope::kDeployment:
      return path == "model_id" || path == "hardware_id" || path.starts_with("deployment.");
  }
  return false;
}

// Token counts of a voice assistant and of text generation, from the source of the KPI method.
absl::Status TakePreset(const std::string& name, v1::Scenario& scenario) {
  if (name.empty()) return absl::OkStatus();
  if (name != "voice" && name != "text") {
    return absl::InvalidArgumentError(absl::StrCat("--preset: \"", name, "\"; allowed: voice, text"));
  }
  const bool voice = name == "voice";
  scenario.mutable_workload()->set_prompt_tokens(voice ? 1024 : 512);
  scenario.mutable_workload()->set_output_tokens(voice ? 10 : 512);
  return absl::OkStatus();
}

// Allows the simulation that percentiles need, where it is asked for or a percentile is bounded.
void AllowSimulation(bool asked, v1::Scenario& scenario) {
  constexpr int kSteps = 200'000;  // up to a fifth of a second
  if (scenario.slo().has_simulated_steps()) return;
  const v1::Slo& slo = scenario.slo();
  std::vector<const FieldDescriptor*> stated;
  v1::Slo::GetReflection()->ListFields(slo, &stated);
  const bool bounds = std::any_of(stated.begin(), stated.end(), [](const FieldDescriptor* field) {
    return absl::StrContains(field->name(), "_p5") || absl::StrContains(field->name(), "_p9");
  });
  if (asked || bounds) scenario.mutable_slo()->set_simulated_steps(kSteps);
}

}  // namespace

std::optional<ScenarioFlag> FindScenarioFlag(const std::string& called) {
  const std::string field_name = absl::StrReplaceAll(called, {{"-", "_"}});
  std::optional<ScenarioFlag> by_field;
  for (const Group& group : kGroups) {
    for (const Flag& flag : group.flags) {
      const std::string names = flag.names;
      const ScenarioFlag found{.name = names.substr(names.find("--")), .path = flag.path};
      if (found.name == "--" + called) return found;
      if (!by_field && FieldOf(flag).name() == field_name) by_field = found;
    }
  }
  return by_field;
}

void ScenarioFlags::AddTo(CLI::App& command, ScenarioScope scope) {
  for (const Group& group : kGroups) {
    for (const Flag& flag : group.flags) {
      if (IsIn(scope, flag)) AddFlag(command, group, flag, texts_[flag.path]);
    }
  }
  if (scope == ScenarioScope::kDeployment) return;
  command
      .add_option("--preset", preset_,
                  "Typical token counts: voice (1024 in, 10 out), text (512 in, 512 out); other flags override them")
      ->type_name("NAME")
      ->group("Workload");
  command
      .add_flag("--percentiles", percentiles_,
                "Find p50, p90, p95 and p99 of TTFT, TPOT, ITL and E2E under continuous batching, as --simulated-steps "
                "200000")
      ->group("Workload");
  command
      .add_option("--scenario", file_,
                  "foretoken.v1.Scenario as textproto or JSON, - for standard input; flags override it")
      ->type_name("FILE")
      ->group("Question");
}

absl::StatusOr<v1::Scenario> ScenarioFlags::Build(std::istream& in) const {
  v1::Scenario scenario;
  if (!file_.empty()) {
    const absl::Status status = ReadMessage(file_, in, scenario);
    if (!status.ok()) return status;
  }
  if (absl::Status status = TakePreset(preset_, scenario); !status.ok()) return status;
  for (const Group& group : kGroups) {
    for (const Flag& flag : group.flags) {
      const auto text = texts_.find(flag.path);
      if (text == texts_.end() || text->second.empty()) continue;
      const absl::Status status = SetField(scenario, flag.path, text->second);
      if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(flag.names, ": ", status.message()));
    }
  }
  AllowSimulation(percentiles_, scenario);
  return scenario;
}

}  // namespace foretoken::cli

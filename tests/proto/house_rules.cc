#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "tests/proto/lint.h"

namespace foretoken::api {
namespace pb = google::protobuf;
namespace {

// A quantity's name ends in its unit.
constexpr char kUnitSuffix[] =
    "(.*_)?(seconds|bytes|tokens|watts|year|bytes_per_second|bytes_per_token|bytes_per_sequence|flops_per_second|"
    "ops_per_second|joules_per_request|joules_per_output_token|tokens_per_second|tokens_per_second_per_device|tokens_per_"
    "second_per_user|requests_per_second|rate_per_second)";

// Numbers that carry no unit, and why. The names stand between blanks.
struct Unitless {
  const char* why;
  const char* names;
};
constexpr Unitless kUnitless[] = {
    {"parallel degrees",
     " tensor_parallel pipeline_parallel expert_parallel data_parallel "
     "max_tensor_parallel max_pipeline_parallel "},
    {"elements, heads, layers and experts, named as in config.json",
     " num_full_attention_layers q_lora_rank kv_lora_rank qk_rope_head_dim qk_nope_head_dim v_head_dim "
     "num_experts num_experts_per_tok moe_intermediate_size num_shared_experts "
     "shared_expert_intermediate_size first_k_dense_replace moe_layer_freq dense_intermediate_size "
     "num_hidden_layers hidden_size num_attention_heads num_key_value_heads head_dim intermediate_size "
     "vocab_size mlp_matrices norms_per_layer learned_position_rows max_position_embeddings "
     "num_layers num_attention_layers num_mlp_layers num_key_heads num_value_heads key_head_dim value_head_dim "
     "conv_kernel_size chunk_size index_n_heads index_head_dim index_topk num_indexer_layers moe_latent_size "
     "full_attention_head_dim num_full_attention_key_value_heads num_windowed_layers residual_streams "
     "num_sparse_layers num_heavy_layers sparse_compression heavy_compression o_groups o_lora_rank "
     "parameter_count active_parameter_count "},
    {"counts of things that the name says",
     " devices_per_node batch_size running_sequences waiting_requests max_num_seqs largest_batch "
     "compute_bound_batch kv_tokens_capacity count flops decode_steps waves devices prefill_devices "
     "prefill_replicas decode_replicas prefill_passes_in_flight prefill_samples decode_samples page_size total_size "
     "total_points "
     "num_points ok_points refused_points frontier_points max_error_details chunk_points evaluations "
     "num_samples num_probes samples_used kernels_used num_kernels rows closed_loop_requests "
     "requests warmup_requests concurrency steps max_steps simulated_steps preemptions mean_running_sequences "
     "most_running_sequences "
     "mean_waiting_requests most_waiting_requests "},
    {"deviations of a natural logarithm", " prior_log_deviation posterior_log_deviation "},
    {"shares and ratios",
     " memory_utilization compute_utilization bandwidth_utilization peak_to_average_bandwidth probability "
     "coverage headroom mbu mfu r2 prefill_r2 decode_r2 progress roofline_exponent acceptance_rate "
     "expert_load_imbalance max_vector_balance "
     "low_ratio high_ratio max_median_ape in_sample_median_ape in_sample_mean_ape in_sample_bias "
     "cross_validated_median_ape parent_median_ape prefill_utilization decode_utilization "
     "kv_cache_usage_ratio coefficient_of_variation relative_error mean_kv_cache_share most_kv_cache_share "},
    {"amounts in the caller's currency", " price_per_device_hour cost_per_request cost_per_million_output_tokens "},
    {"positions, revisions and codes",
     " index sample_indices ranking first_point point store_revision statuses model_version seed "},
    {"in the unit of the field, metric or fit that they belong to",
     " low high slope intercept residuals start stop values value min_value max_value nearest_value "
     "prior_value "},
};

bool HasDocumentedLackOfUnit(const std::string& name) {
  return std::any_of(std::begin(kUnitless), std::end(kUnitless), [&name](const Unitless& group) {
    return std::string(group.names).find(" " + name + " ") != std::string::npos;
  });
}

bool IsNumber(const pb::FieldDescriptor& field) {
  return field.cpp_type() <= pb::FieldDescriptor::CPPTYPE_FLOAT;  // INT32, INT64, UINT32, UINT64, DOUBLE, FLOAT
}

template <typename Element>
std::string CommentOf(const Element& element) {
  pb::SourceLocation location;
  return element.GetSourceLocation(&location) ? location.leading_comments : "";
}

template <typename Element>
void CheckComment(const Element& element, Faults& faults) {
  if (CommentOf(element).empty()) faults.push_back({"COMMENT", element.full_name(), "has no comment above it"});
}

void CheckEnum(const pb::EnumDescriptor& type, Faults& faults) {
  CheckComment(type, faults);
  for (int i = 0; i < type.value_count(); ++i) CheckComment(*type.value(i), faults);
}

// Messages in which an absent figure means "the default" or "not known", so that zero must stay sayable.
bool TellsAbsentFromZero(const pb::Descriptor& message) {
  static const auto* const kMessages =
      new std::set<std::string>{"Deployment", "Workload", "LiveLoad", "Slo", "HardwareSpec", "PeakCompute"};
  return kMessages->contains(message.name());
}

void CheckField(const pb::FieldDescriptor& field, Faults& faults) {
  static const auto* const kUnit = new std::regex(kUnitSuffix);
  CheckComment(field, faults);
  if (!IsNumber(field)) return;
  if (!std::regex_match(field.name(), *kUnit) && !HasDocumentedLackOfUnit(field.name())) {
    faults.push_back({"UNIT", field.full_name(), "ends in no unit and is not listed in house_rules.cc as without one"});
  }
  if (TellsAbsentFromZero(*field.containing_type()) && !field.is_repeated() && !field.has_presence()) {
    faults.push_back({"PRESENCE", field.full_name(), "absent reads as zero; make it optional"});
  }
}

void CheckMessage(const pb::Descriptor& message, Faults& faults) {
  CheckComment(message, faults);
  for (int i = 0; i < message.field_count(); ++i) CheckField(*message.field(i), faults);
  for (int i = 0; i < message.real_oneof_decl_count(); ++i) CheckComment(*message.oneof_decl(i), faults);
}

// The last paragraph of an RPC's comment tells its errors.
void CheckRpc(const pb::MethodDescriptor& rpc, Faults& faults) {
  CheckComment(rpc, faults);
  const std::string comment = CommentOf(rpc);
  const size_t blank = comment.rfind("\n\n");
  const std::string last = blank == std::string::npos ? comment : comment.substr(blank + 2);
  if (last.starts_with(" Errors: ")) return;
  faults.push_back({"ERRORS", rpc.full_name(), "the comment's last paragraph does not begin with \"Errors:\""});
}

}  // namespace

Faults CheckHouse(const Api& api) {
  Faults faults;
  for (const pb::FileDescriptor* file : api.files) {
    for (const pb::EnumDescriptor* type : EnumsOf(*file)) CheckEnum(*type, faults);
    for (const pb::Descriptor* message : MessagesOf(*file)) CheckMessage(*message, faults);
    for (int s = 0; s < file->service_count(); ++s) {
      CheckComment(*file->service(s), faults);
      for (int m = 0; m < file->service(s)->method_count(); ++m) CheckRpc(*file->service(s)->method(m), faults);
    }
  }
  return faults;
}

}  // namespace foretoken::api

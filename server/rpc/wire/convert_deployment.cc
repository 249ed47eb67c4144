#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr int kMaxDegree = 1024;
constexpr int kMaxRanks = kMaxDegree * kMaxDegree;  // over which experts are spread
constexpr int kMaxNode = 1'000'000;                 // devices
constexpr size_t kMaxEngineBytes = 128;

void ReadExperts(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  if (message.has_expert_parallel()) {
    const int64_t ranks = int64_t{deployment.tensor_parallel} * deployment.data_parallel;
    deployment.expert_parallel = fields.Int("expert_parallel", message.expert_parallel(), 1, kMaxRanks);
    if (deployment.expert_parallel >= 1 && ranks % deployment.expert_parallel != 0) {
      fields.Fault("expert_parallel",
                   absl::StrCat(" ", deployment.expert_parallel,
                                "; allowed are divisors of tensor_parallel * data_parallel = ", ranks));
    }
  }
  if (message.has_expert_load_imbalance()) {
    deployment.expert_load_imbalance = fields.Between("expert_load_imbalance", message.expert_load_imbalance(), 1,
                                                      std::max(1, deployment.expert_parallel));
  }
  const int exchange = fields.Enum("expert_exchange", message.expert_exchange(), v1::ExpertExchange_MAX);
  deployment.expert_exchange =
      exchange == v1::EXPERT_EXCHANGE_ALL_TO_ALL ? ExpertExchange::kAllToAll : ExpertExchange::kAllGather;
}

void ReadParallelism(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  if (message.has_tensor_parallel()) {
    deployment.tensor_parallel = fields.Int("tensor_parallel", message.tensor_parallel(), 1, kMaxDegree);
  }
  if (message.has_pipeline_parallel()) {
    deployment.pipeline_parallel = fields.Int("pipeline_parallel", message.pipeline_parallel(), 1, kMaxDegree);
  }
  if (message.has_data_parallel()) {
    deployment.data_parallel = fields.Int("data_parallel", message.data_parallel(), 1, kMaxDegree);
  }
  ReadExperts(message, fields, deployment);
}

void ReadDtypes(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  deployment.weight_dtype = fields.Dtype("weight_dtype", message.weight_dtype());
  deployment.activation_dtype = fields.Dtype("activation_dtype", message.activation_dtype());
  deployment.kv_cache_dtype = fields.Dtype("kv_cache_dtype", message.kv_cache_dtype());
}

void ReadEngine(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  bool printable = message.engine().size() <= kMaxEngineBytes;
  for (const char c : message.engine()) printable = printable && c > ' ' && c < 0x7f;
  if (!printable) fields.Add("engine", "allowed: up to 128 printable characters without spaces, \"name@version\"");
  deployment.engine = message.engine();
}

void ReadNode(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  if (message.has_devices_per_node()) {
    deployment.devices_per_node = fields.Int("devices_per_node", message.devices_per_node(), 1, kMaxNode);
  }
  if (message.has_scale_out_bytes_per_second()) {
    deployment.scale_out =
        BytesPerSecond(fields.Positive("scale_out_bytes_per_second", message.scale_out_bytes_per_second()));
  }
}

void ReadKernels(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  const int kernel = fields.Enum("attention_kernel", message.attention_kernel(), v1::AttentionKernel_MAX);
  deployment.attention_kernel =
      kernel == v1::ATTENTION_KERNEL_NAIVE ? AttentionKernel::kNaive : AttentionKernel::kFlash;
  deployment.unfused_elementwise = message.unfused_elementwise();
  if (!message.has_roofline_exponent()) return;
  deployment.roofline_exponent = message.roofline_exponent();
  if (!(deployment.roofline_exponent >= 1)) {
    fields.Fault("roofline_exponent",
                 absl::StrCat(" ", deployment.roofline_exponent, "; allowed 1 or more, or infinity"));
  }
}

void ReadScheduling(const v1::Deployment& message, FieldChecker& fields, Deployment& deployment) {
  if (message.has_max_num_seqs()) {
    deployment.max_num_seqs = fields.Int("max_num_seqs", message.max_num_seqs(), 1, kMaxBatch);
  }
  deployment.scheduler = ReadSchedulerPolicy("scheduler", message.scheduler(), fields);
}

}  // namespace

std::optional<SchedulerPolicy> ReadSchedulerPolicy(const std::string& field, v1::SchedulerPolicy stated,
                                                   FieldChecker& fields) {
  switch (static_cast<v1::SchedulerPolicy>(fields.Enum(field, stated, v1::SchedulerPolicy_MAX))) {
    case v1::SCHEDULER_POLICY_MIXED:
      return SchedulerPolicy::kMixed;
    case v1::SCHEDULER_POLICY_PREFILL_FIRST:
      return SchedulerPolicy::kPrefillFirst;
    case v1::SCHEDULER_POLICY_IN_FLIGHT:
      return SchedulerPolicy::kInFlight;
    default:
      static_assert(v1::SchedulerPolicy_ARRAYSIZE == 4);
      return std::nullopt;
  }
}

v1::SchedulerPolicy ToApi(SchedulerPolicy policy) {
  switch (policy) {
    case SchedulerPolicy::kMixed:
      return v1::SCHEDULER_POLICY_MIXED;
    case SchedulerPolicy::kPrefillFirst:
      return v1::SCHEDULER_POLICY_PREFILL_FIRST;
    case SchedulerPolicy::kInFlight:
      return v1::SCHEDULER_POLICY_IN_FLIGHT;
  }
  return v1::SCHEDULER_POLICY_UNSPECIFIED;
}

Deployment ReadDeployment(const v1::Deployment& message, FieldChecker& fields) {
  Deployment deployment;
  ReadParallelism(message, fields, deployment);
  ReadDtypes(message, fields, deployment);
  ReadEngine(message, fields, deployment);
  ReadNode(message, fields, deployment);
  ReadKernels(message, fields, deployment);
  ReadScheduling(message, fields, deployment);
  if (message.has_prefill_chunk_tokens()) {
    deployment.prefill_chunk_tokens = fields.Int("prefill_chunk_tokens", message.prefill_chunk_tokens(), 1, kMaxTokens);
  }
  if (message.has_prefill_passes_in_flight()) {
    deployment.prefill_passes_in_flight =
        fields.Int("prefill_passes_in_flight", message.prefill_passes_in_flight(), 1, kMaxDegree);
  }
  if (message.has_price_per_device_hour()) {
    deployment.price_per_device_hour = fields.NotNegative("price_per_device_hour", message.price_per_device_hour());
  }
  if (message.has_memory_utilization()) {
    deployment.memory_utilization = fields.Share("memory_utilization", message.memory_utilization());
  }
  return deployment;
}

}  // namespace foretoken::rpc

// The scenarios that the benchmarks measure, from the bundled catalog as a caller would name them.
#ifndef FORETOKEN_TESTS_BENCH_SCENARIOS_H_
#define FORETOKEN_TESTS_BENCH_SCENARIOS_H_

#include <initializer_list>

#include "foretoken/v1/estimator_service.pb.h"

namespace foretoken::bench {

// A dense model, tensor parallel, by an engine that is calibrated on this very device.
inline v1::Scenario DenseScenario() {
  v1::Scenario scenario;
  scenario.set_model_id("llama-3.1-70b");
  scenario.set_hardware_id("nvidia-h100-sxm-80gb");
  scenario.mutable_deployment()->set_engine("vllm");
  scenario.mutable_deployment()->set_tensor_parallel(8);
  scenario.mutable_workload()->set_batch_size(16);
  scenario.mutable_workload()->set_prompt_tokens(1000);
  scenario.mutable_workload()->set_output_tokens(256);
  return scenario;
}

// Experts and latent attention.
inline v1::Scenario MoeScenario() {
  v1::Scenario scenario = DenseScenario();
  scenario.set_model_id("deepseek-v3");
  scenario.set_hardware_id("nvidia-h200-sxm-141gb");
  scenario.mutable_deployment()->set_expert_parallel(8);
  return scenario;
}

// One question about requests of different lengths.
inline v1::BatchEstimateRequest WorkloadCandidates(int count) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = DenseScenario();
  for (int i = 0; i < count; ++i) {
    v1::Workload* workload = request.add_candidates()->mutable_workload();
    *workload = request.base().workload();
    workload->set_prompt_tokens(100 + i);
  }
  request.set_rank_by(v1::RANK_BY_TTFT);
  return request;
}

// A router's question: one request, replicas with different loads.
inline v1::BatchEstimateRequest LiveLoadCandidates(int count) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = DenseScenario();
  request.mutable_base()->mutable_workload()->set_batch_size(1);
  for (int i = 0; i < count; ++i) {
    v1::LiveLoad* load = request.add_candidates()->mutable_live_load();
    load->set_running_sequences(1 + i % 64);
    load->set_running_context_tokens(500 + 10 * (i % 100));
    load->set_waiting_requests(i % 4);
    load->set_queued_prefill_tokens(1000 * (i % 4));
  }
  request.set_rank_by(v1::RANK_BY_TTFT);
  return request;
}

inline void AddRange(const char* field, double start, double stop, int count, v1::SweepRequest& request) {
  v1::SweepAxis* axis = request.add_axes();
  axis->set_field(field);
  axis->mutable_linear()->set_start(start);
  axis->mutable_linear()->set_stop(stop);
  axis->mutable_linear()->set_count(count);
}

inline void AddTexts(const char* field, std::initializer_list<const char*> texts, v1::SweepRequest& request) {
  v1::SweepAxis* axis = request.add_axes();
  axis->set_field(field);
  for (const char* text : texts) axis->mutable_texts()->add_values(text);
}

// Fifteen metrics: the latencies, the throughputs, both phases' parts, memory.
inline void AddMetrics(v1::SweepRequest& request) {
  for (const v1::Metric metric :
       {v1::METRIC_TTFT_SECONDS, v1::METRIC_TPOT_SECONDS, v1::METRIC_E2E_SECONDS, v1::METRIC_OUTPUT_TOKENS_PER_SECOND,
        v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_DEVICE, v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_USER,
        v1::METRIC_REQUESTS_PER_SECOND, v1::METRIC_PREFILL_COMPUTE_SECONDS, v1::METRIC_DECODE_COMPUTE_SECONDS,
        v1::METRIC_DECODE_MEMORY_SECONDS, v1::METRIC_DECODE_COMMUNICATION_SECONDS, v1::METRIC_DECODE_HOST_SECONDS,
        v1::METRIC_KV_CACHE_BYTES, v1::METRIC_FREE_BYTES, v1::METRIC_MBU}) {
    request.add_metrics(metric);
  }
}

inline void AddAllMetrics(v1::SweepRequest& request) {
  for (int metric = 1; metric <= v1::Metric_MAX; ++metric) request.add_metrics(static_cast<v1::Metric>(metric));
}

// Batch x prompt x output, each of `values`, output innermost.
inline v1::SweepRequest DenseSweep(int values) {
  v1::SweepRequest request;
  *request.mutable_base() = DenseScenario();
  AddRange("workload.batch_size", 1, values, values, request);
  AddRange("workload.prompt_tokens", 100, 4000, values, request);
  AddRange("workload.output_tokens", 10, 1000, values, request);
  AddMetrics(request);
  return request;
}

// Dense, experts and latent attention, on several devices, in several dtypes: 96 combinations of them.
inline v1::SweepRequest MixedSweep(int values) {
  v1::SweepRequest request;
  *request.mutable_base() = DenseScenario();
  request.mutable_base()->mutable_workload()->set_capacity_policy(v1::CAPACITY_POLICY_WAVES);
  AddTexts("hardware_id",
           {"nvidia-h100-sxm-80gb", "nvidia-h200-sxm-141gb", "nvidia-b200-sxm-180gb", "amd-mi300x-192gb"}, request);
  AddTexts("model_id", {"llama-3.1-70b", "mixtral-8x7b", "deepseek-v2-lite", "qwen3-30b-a3b"}, request);
  v1::SweepAxis* dtypes = request.add_axes();
  dtypes->set_field("deployment.weight_dtype");
  for (const v1::Dtype dtype : {v1::DTYPE_BF16, v1::DTYPE_FP8, v1::DTYPE_INT4}) {
    dtypes->mutable_dtypes()->add_values(dtype);
  }
  AddRange("deployment.tensor_parallel", 4, 8, 2, request);
  AddRange("workload.batch_size", 1, 64, 10, request);
  AddRange("workload.prompt_tokens", 100, 4000, 10, request);
  AddRange("workload.output_tokens", 10, 1000, values, request);
  AddMetrics(request);
  return request;
}

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_SCENARIOS_H_

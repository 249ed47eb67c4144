// TensorRT-LLM's report of trtllm-bench. It has the mean number of requests at once, not their limit.
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {
namespace {

struct NamedDtype {
  const char* name;
  v1::Dtype dtype;
};

// Quantization by its name in TensorRT-LLM (QuantAlgo), and dtypes of the model.
constexpr NamedDtype kWeights[] = {
    {"FP8", v1::DTYPE_FP8},       {"FP8_BLOCK_SCALES", v1::DTYPE_FP8_BLOCK},
    {"NVFP4", v1::DTYPE_NVFP4},   {"W4A16_AWQ", v1::DTYPE_INT4},
    {"W4A16", v1::DTYPE_INT4},    {"W8A16", v1::DTYPE_INT8},
    {"bfloat16", v1::DTYPE_BF16}, {"float16", v1::DTYPE_FP16},
    {"float32", v1::DTYPE_FP32},
};

std::optional<v1::Dtype> DtypeNamed(const std::string& name) {
  for (const NamedDtype& one : kWeights) {
    if (absl::EqualsIgnoreCase(name, one.name)) return one.dtype;
  }
  return std::nullopt;
}

void ReadDtypes(FieldReader& fields, ImportedRun& run) {
  const std::string dtype = fields.Text("engine.dtype");
  const std::string quantization = fields.Text("engine.quantization");
  run.weights = quantization.empty() ? dtype : quantization;
  if (const auto weights = DtypeNamed(run.weights)) run.sample.mutable_deployment()->set_weight_dtype(*weights);
  if (const auto cache = DtypeNamed(fields.Text("engine.kv_cache_dtype"))) {
    run.sample.mutable_deployment()->set_kv_cache_dtype(*cache);
  }
}

void ReadWorld(FieldReader& fields, ImportedRun& run) {
  v1::Deployment& deployment = *run.sample.mutable_deployment();
  if (const auto tp = fields.Count("world_info.tp_size", 1)) deployment.set_tensor_parallel(*tp);
  if (const auto pp = fields.Count("world_info.pp_size", 1)) deployment.set_pipeline_parallel(*pp);
  // -1 where the runtime chose it, which the report does not tell.
  if (const auto ep = fields.Count("world_info.ep_size", -1); ep.value_or(-1) > 0) deployment.set_expert_parallel(*ep);
  if (const auto slots = fields.Count("world_info.max_batch_size", 1)) deployment.set_max_num_seqs(*slots);
  if (const auto tokens = fields.Count("world_info.max_num_tokens", 1)) deployment.set_prefill_chunk_tokens(*tokens);
}

void ReadTimes(FieldReader& fields, ImportedRun& run) {
  SetMean("ttft", fields.Seconds("streaming_metrics.avg_ttft_ms", kMilliseconds), run);
  SetMean("tpot", fields.Seconds("streaming_metrics.avg_tpot_ms", kMilliseconds), run);
  SetMean("e2e", fields.Seconds("performance.avg_request_latency_ms", kMilliseconds), run);
  const auto read = [&](const std::string& metric, const std::string& path) {
    for (const int percent : {50, 90, 95, 99}) {
      SetPercentile(metric, percent, fields.Seconds(absl::StrCat(path, ".p", percent), kMilliseconds), run);
    }
  };
  read("ttft", "streaming_metrics.ttft_percentiles");
  read("tpot", "streaming_metrics.tpot_percentiles");
  read("e2e", "performance.request_latency_percentiles_ms");
}

}  // namespace

void ReadTrtllmBench(FieldReader& fields, ImportedRun& run) {
  run.engine = "tensorrt-llm";
  run.engine_version = fields.Text("engine.version");
  run.model = fields.Text("engine.model");
  run.hardware = fields.Text("machine.name");
  ReadDtypes(fields, run);
  ReadWorld(fields, run);
  run.sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  if (const auto requests = fields.Count("request_info.num_requests", 1)) {
    run.sample.set_closed_loop_requests(*requests);
  }
  if (const auto prompt = fields.Positive("request_info.avg_input_length")) {
    run.sample.set_prompt_tokens(WholeTokens(*prompt));
  }
  if (const auto output = fields.Positive("request_info.avg_output_length")) {
    run.sample.set_output_tokens(WholeTokens(*output));
  }
  ReadTimes(fields, run);
  fields.MustBeOff("decoding_stats", "a row has no column for speculative decoding");
}

}  // namespace foretoken::cli

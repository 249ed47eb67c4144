// llama-bench, one object a test: "pp512" prefills 512 tokens, "tg128" decodes 128, "pp512+tg128" does both, and
// "@ d4096" stands after a context of 4,096 tokens.
//
// A decode of N tokens has N steps. A row's first token comes with the prefill, so that its output has N + 1 tokens.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {
namespace {

struct Quantization {
  const char* ending;  // of the model's description: "llama 7B Q4_K - Medium"
  v1::Dtype dtype;
};
constexpr Quantization kQuantizations[] = {
    {"BF16", v1::DTYPE_BF16},       {"F16", v1::DTYPE_FP16},  {"F32", v1::DTYPE_FP32},
    {"Q8_0", v1::DTYPE_Q8_0},       {"Q4_0", v1::DTYPE_Q4_0}, {"Q4_K - Medium", v1::DTYPE_Q4_K_M},
    {"MXFP4 MoE", v1::DTYPE_MXFP4},
};

struct CacheType {
  const char* name;
  v1::Dtype dtype;
};
constexpr CacheType kCacheTypes[] = {{"f32", v1::DTYPE_FP32},
                                     {"f16", v1::DTYPE_FP16},
                                     {"bf16", v1::DTYPE_BF16},
                                     {"q8_0", v1::DTYPE_Q8_0},
                                     {"q4_0", v1::DTYPE_Q4_0}};

// Layers that -ngl takes to mean all of them: llama-bench wrote 99 before -1.
constexpr double kAllLayers = 99;

void ReadModel(FieldReader& fields, ImportedRun& run) {
  run.model = fields.Text("model_type");
  for (const Quantization& one : kQuantizations) {
    if (run.weights.empty() && absl::EndsWith(run.model, one.ending)) {
      run.weights = one.ending;
      run.sample.mutable_deployment()->set_weight_dtype(one.dtype);
    }
  }
}

void ReadCache(FieldReader& fields, ImportedRun& run) {
  const std::string keys = fields.Text("type_k");
  const std::string values = fields.Text("type_v");
  if (keys.empty() && values.empty()) return;  // f16, or as --kv-dtype says
  const auto* type = std::find_if(std::begin(kCacheTypes), std::end(kCacheTypes),
                                  [&keys](const CacheType& one) { return keys == one.name; });
  if (keys == values && type != std::end(kCacheTypes)) {
    run.sample.mutable_deployment()->set_kv_cache_dtype(type->dtype);
    return;
  }
  fields.AddFault("type_k", absl::StrCat("\"", keys, "\", type_v \"", values,
                                         "\"; allowed: the same of f32, f16, bf16, q8_0, q4_0; else --kv-dtype with "
                                         "--ignore-field type_k --ignore-field type_v"));
}

void ReadPlacement(FieldReader& fields, ImportedRun& run) {
  run.engine = "llama.cpp";
  if (const auto build = fields.Count("build_number", 1)) run.engine_version = absl::StrCat("b", *build);
  const auto batch = fields.Count("n_batch", 1);
  const auto chunk = fields.Count("n_ubatch", 1);
  if (chunk) run.sample.mutable_deployment()->set_prefill_chunk_tokens(std::min(*chunk, batch.value_or(*chunk)));
  run.hardware = fields.Text("gpu_info");
  ReadCache(fields, run);
  const std::string layers = "n_gpu_layers";
  const auto on_gpu = fields.Count(layers, -1);
  if (on_gpu && *on_gpu >= 0 && *on_gpu < kAllLayers) {
    fields.AddFault(layers, absl::StrCat(*on_gpu, "; other layers stay on the host; allowed: -1, or 99 and more; ",
                                         "--ignore-field ", layers, " where the model has no more layers"));
  }
  for (const char* host : {"n_cpu_moe", "no_kv_offload"})
    fields.MustBeOff(host, "a row has all of the model on devices");
}

// Of the whole test; 0 if the file does not say.
double ReadTime(double tokens, FieldReader& fields) {
  const auto whole = fields.Seconds("avg_ns", kNanoseconds);
  const auto rate = fields.Positive("avg_ts");
  return whole ? *whole : rate ? tokens / *rate : 0;
}

void SetTest(int32_t prompt, int32_t output, int32_t depth, double seconds, ImportedRun& run) {
  v1::ProfileSample& sample = run.sample;
  sample.set_prompt_tokens(prompt > 0 ? prompt : depth);
  run.without_prompt = prompt == 0 && depth == 0;
  sample.set_output_tokens(output + 1);
  if (prompt > 0 && depth > 0) {
    run.left_out =
        absl::StrCat("a prompt of ", prompt, " after a context of ", depth, " tokens: no column has the context");
  } else if (prompt == 0 && output == 0) {
    run.left_out = "a test of no tokens";
  } else if (seconds <= 0) {
    run.left_out = "no time";
  } else if (output == 0) {
    sample.set_ttft_seconds(seconds);
  } else if (prompt == 0) {
    sample.set_tpot_seconds(seconds / output);
  } else {
    sample.set_e2e_seconds(seconds);
  }
}

}  // namespace

void ReadLlamaBench(FieldReader& fields, ImportedRun& run) {
  ReadModel(fields, run);
  ReadPlacement(fields, run);
  run.sample.set_batching_policy(v1::BATCHING_POLICY_STATIC);
  run.sample.set_batch_size(1);
  const int32_t prompt = fields.Count("n_prompt", 0).value_or(0);
  const int32_t output = fields.Count("n_gen", 0).value_or(0);
  const int32_t depth = fields.Count("n_depth", 0).value_or(0);
  SetTest(prompt, output, depth, ReadTime(static_cast<double>(prompt) + output, fields), run);
  fields.MustBeOff("embeddings", "a row generates text");
}

}  // namespace foretoken::cli

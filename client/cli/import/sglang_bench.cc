// SGLang's benchmark of a server, one line a run. server_info is what the server says of itself, where it is SGLang.
#include <algorithm>

#include "absl/strings/match.h"
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {
namespace {

constexpr char kSpeculative[] = "a row has no column for speculative decoding";

void ReadServer(FieldReader& fields, ImportedRun& run) {
  if (!fields.Has("server_info")) return;
  run.engine = "sglang";
  run.engine_version = fields.Text("server_info.version");
  run.model = fields.Text("server_info.model_path");
  v1::Deployment& deployment = *run.sample.mutable_deployment();
  if (const auto tp = fields.Count("server_info.tp_size", 1)) deployment.set_tensor_parallel(*tp);
  if (const auto pp = fields.Count("server_info.pp_size", 1)) deployment.set_pipeline_parallel(*pp);
  if (const auto ep = fields.Count("server_info.ep_size", 1)) deployment.set_expert_parallel(*ep);
  // -1: prompts are not chunked.
  const auto chunk = fields.Count("server_info.chunked_prefill_size", -1);
  if (chunk.value_or(-1) > 0) deployment.set_prefill_chunk_tokens(*chunk);
  if (const auto slots = fields.Count("server_info.max_running_requests", 1)) deployment.set_max_num_seqs(*slots);
  if (absl::StartsWith(fields.Text("server_info.kv_cache_dtype"), "fp8")) deployment.set_kv_cache_dtype(v1::DTYPE_FP8);
  if (fields.Count("server_info.dp_size", 1).value_or(1) > 1) {
    fields.AddFault("server_info.dp_size", fields.Shown("server_info.dp_size") +
                                               "; the file does not say whether it splits attention alone; --dp states "
                                               "it, with --ignore-field server_info.dp_size");
  }
  fields.MustBeOff("server_info.speculative_algorithm", kSpeculative);
}

// Lengths of the data set "random" are uniform from random_range_ratio times the stated length, at least 1, to it.
void SetUniform(int32_t longest, double ratio, void (v1::ProfileSample::*set_mean)(int32_t),
                void (v1::ProfileSample::*set_spread)(int32_t), v1::ProfileSample& sample) {
  const int32_t least = std::clamp(static_cast<int32_t>(longest * ratio), 1, longest);
  const int32_t spread = (longest - least) / 2;
  (sample.*set_mean)(longest - spread);
  if (spread > 0) (sample.*set_spread)(spread);
}

void ReadRandomLengths(FieldReader& fields, ImportedRun& run) {
  const std::string ratio_path = "random_range_ratio";
  const auto prompt = fields.Count("random_input_len", 1);
  const auto output = fields.Count("random_output_len", 1);
  const double ratio = fields.Seconds(ratio_path, 1).value_or(0);
  if (ratio > 1) fields.AddFault(ratio_path, fields.Shown(ratio_path) + "; allowed: 0 to 1");
  using Sample = v1::ProfileSample;
  if (prompt) SetUniform(*prompt, ratio, &Sample::set_prompt_tokens, &Sample::set_prompt_spread_tokens, run.sample);
  if (output) SetUniform(*output, ratio, &Sample::set_output_tokens, &Sample::set_output_spread_tokens, run.sample);
}

}  // namespace

void ReadSglangBenchServing(FieldReader& fields, ImportedRun& run) {
  ReadServer(fields, run);
  const auto requests = fields.Count("completed", 1);
  ReadTraffic("request_rate", "max_concurrency", requests, fields, run);
  const std::string data = fields.Text("dataset_name");
  if (data == "random" || data == "random-ids") {
    ReadRandomLengths(fields, run);
  } else {
    ReadMeanLengths("total_input_tokens", "total_output_tokens", requests, fields, run);
  }
  ReadNamedTimes("e2e_latency", "_ms", kMilliseconds, fields, run);
  fields.MustBeOff("accept_length", kSpeculative);
  fields.MustBeOff("total_input_vision_tokens", "a row has prompts of text alone");
}

}  // namespace foretoken::cli

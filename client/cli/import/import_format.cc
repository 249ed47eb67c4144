#include "client/cli/import/import_format.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/import/formats.h"
#include "client/cli/import/json_records.h"
#include "client/cli/import/llama_bench_table.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

constexpr size_t kMostNamed = 12;  // fields that one line names
constexpr char kEachRequest[] = "each request";
constexpr char kThroughput[] = "throughput";
constexpr char kSpread[] = "other statistics";
constexpr char kLabels[] = "labels of the run";
constexpr char kSettings[] = "settings of the tool";
constexpr char kTotals[] = "duration and totals";

LostFields RequestsOf() {
  return {kEachRequest,
          {"input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "queue_times", "generated_texts",
           "errors"}};
}

std::vector<LostFields> LostOfVllm() {
  return {RequestsOf(),
          {kThroughput, {"*_throughput", "request_goodput", "max_output_tokens_per_s", "rtfx"}},
          {kSpread, {"std_*", "p*_ms", "mean_itl_ms", "*_client_queue_time_ms", "*_including_queue_ms"}},
          {kLabels, {"date", "endpoint_type", "backend", "label", "tokenizer_id"}},
          {kTotals, {"duration", "num_prompts", "max_concurrent_requests"}},
          {"requests that failed", {"failed"}},
          {"the pattern of arrivals", {"burstiness"}}};
}

std::vector<LostFields> LostOfSglang() {
  return {RequestsOf(),
          {kThroughput, {"*_throughput", "max_output_tokens_per_s"}},
          {kSpread, {"std_*", "p*_ms", "mean_itl_ms", "max_itl_ms"}},
          {kLabels, {"tag", "backend"}},
          {kSettings, {"server_info", "server_info.*", "sharegpt_output_len", "random_*"}},
          {kTotals, {"duration", "total_*", "concurrency", "max_concurrent_requests"}}};
}

std::vector<LostFields> LostOfTrtllm() {
  return {{kThroughput, {"*_tok_s", "*_req_s", "streaming_metrics.gen_tps_percentiles"}},
          {kSpread, {"*.minimum", "*.maximum", "*.average"}},
          {kSettings, {"engine.*", "machine.*", "world_info.*", "dataset"}},
          {kTotals, {"performance.total_latency_ms", "request_info.avg_num_concurrent_requests"}}};
}

std::vector<LostFields> LostOfGenaiPerf() {
  return {
      {kThroughput, {"*_throughput", "*_throughput_per_user"}},
      {kSpread, {"*.min", "*.max", "*.std", "*.p1", "*.p5", "*.p10", "*.p25", "*.p75", "*.count", "*.sum"}},
      {"percentiles of lengths", {"*_sequence_length.*"}},
      {"other times",
       {"time_to_second_token", "time_to_first_output_token", "inter_chunk_latency", "*_duration", "*_latency",
        "http_req_*"}},
      {kSettings, {"input_config.*", "run_info", "telemetry_data", "telemetry_stats", "sessions"}},
      {kLabels, {"schema_version", "aiperf_version", "benchmark_id", "start_time", "end_time", "*_timestamp"}},
      {"requests that failed", {"error_request_count", "error_summary", "request_error_rate"}},
      {"checks of the tool", {"*_pct", "is_complete"}},
      {kTotals, {"*_count", "*_tokens", "*_length", "*_concurrency", "tokens_in_flight", "total_isl", "total_osl"}}};
}

std::vector<LostFields> LostOfLlamaBench() {
  return {{"each repetition", {"samples_ns", "samples_ts"}},
          {kSpread, {"stddev_*"}},
          {kLabels, {"build_commit", "cpu_info", "backends", "model_filename", "test_time"}},
          {"size of the model", {"model_size", "model_n_params"}},
          {kSettings,
           {"n_threads",
            "cpu_mask",
            "cpu_strict",
            "poll",
            "split_mode",
            "main_gpu",
            "flash_attn",
            "devices",
            "tensor_split",
            "tensor_buft_overrides",
            "use_mmap",
            "use_direct_io",
            "no_op_offload",
            "no_host",
            "repack",
            "fit_*",
            "load_mode",
            "moe_cache",
            "n_gen_warmup",
            "fa",
            "sm",
            "mmap",
            "dev"}}};
}

std::vector<LostFields> LostOfInferencex() {
  return {{kThroughput, {"*tput*", "*_intvty"}},
          {kSpread, {"std_*", "mean_itl", "p*_ttft", "p*_tpot", "p*_itl", "p*_e2el"}},
          {kLabels, {"image", "infmax_model_prefix", "benchmark_client", "router", "kv_p2p_transfer"}},
          {"power", {"*joules*", "*power*"}}};
}

const LostFields* LossOf(const std::string& path, const std::vector<LostFields>& lost) {
  const auto matches = [&path](absl::string_view pattern) {
    const bool from_start = absl::ConsumePrefix(&pattern, "*");
    const bool to_end = absl::ConsumeSuffix(&pattern, "*");
    if (from_start && to_end) return absl::StrContains(path, pattern);
    if (from_start) return absl::EndsWith(path, pattern);
    if (to_end) return absl::StartsWith(path, pattern);
    const size_t star = pattern.find('*');
    if (star == absl::string_view::npos) return path == pattern;
    return absl::StartsWith(path, pattern.substr(0, star)) && absl::EndsWith(path, pattern.substr(star + 1));
  };
  for (const LostFields& one : lost) {
    if (std::any_of(one.patterns.begin(), one.patterns.end(), matches)) return &one;
  }
  return nullptr;
}

void AddLeftOut(const ImportFormat& format, const FieldReader& fields, const ImportedRun& run, LeftOut& left_out) {
  for (const std::string& path : fields.IgnoredHere()) left_out.ignored.insert(path);
  for (const std::string& path : fields.Unread()) {
    const LostFields* loss = LossOf(path, format.lost);
    if (loss == nullptr) {
      left_out.unknown.insert(path);
    } else {
      left_out.lost[loss->meaning].insert(path);
    }
  }
  if (!run.left_out.empty()) left_out.runs.push_back(absl::StrCat(run.place, ": ", run.left_out));
}

// "std_ttft_ms, std_tpot_ms and 4 more".
std::string Named(const std::set<std::string>& names) {
  std::vector<std::string> first(names.begin(), std::next(names.begin(), std::min(names.size(), kMostNamed)));
  const size_t more = names.size() - first.size();
  return absl::StrCat(absl::StrJoin(first, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

absl::StatusOr<std::vector<JsonRecord>> RecordsOf(const ImportFormat& format, const std::string& file,
                                                  const std::string& text) {
  const bool table = format.read == &ReadLlamaBench && IsLlamaBenchTable(text);
  return table ? ReadLlamaBenchTable(file, text) : ReadJsonRecords(file, text);
}

}  // namespace

const std::vector<ImportFormat>& ImportFormats() {
  static const auto& formats = *new std::vector<ImportFormat>{
      {"vllm-bench-serve", "vllm bench serve --save-result", &ReadVllmBenchServe, LostOfVllm()},
      {"vllm-bench-latency",
       "vllm bench latency --output-json",
       &ReadVllmBenchLatency,
       {RequestsOf(), {kSpread, {"percentiles.*"}}}},
      {"sglang-bench-serving", "python -m sglang.bench_serving --output-file", &ReadSglangBenchServing, LostOfSglang()},
      {"trtllm-bench", "trtllm-bench throughput --report_json", &ReadTrtllmBench, LostOfTrtllm()},
      {"genai-perf", "genai-perf profile (profile_export_genai_perf.json)", &ReadGenaiPerf, LostOfGenaiPerf()},
      {"aiperf", "aiperf profile (profile_export_aiperf.json)", &ReadAiperf, LostOfGenaiPerf()},
      {"llama-bench", "llama-bench -o json, or its table", &ReadLlamaBench, LostOfLlamaBench()},
      {"inferencex", "InferenceX (InferenceMAX) results", &ReadInferencex, LostOfInferencex()}};
  return formats;
}

const ImportFormat* FindImportFormat(const std::string& name) {
  for (const ImportFormat& format : ImportFormats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::string NoteOfLeftOut(const LeftOut& left_out) {
  std::string note;
  for (const auto& [meaning, fields] : left_out.lost) {
    absl::StrAppend(&note, "note: no column for ", meaning, ": ", Named(fields), "\n");
  }
  if (!left_out.unknown.empty()) absl::StrAppend(&note, "note: unknown fields: ", Named(left_out.unknown), "\n");
  const size_t most = std::min(left_out.runs.size(), kMostImportFaults);
  for (size_t i = 0; i < most; ++i) absl::StrAppend(&note, "note: left out ", left_out.runs[i], "\n");
  const size_t more = left_out.runs.size() - most;
  if (more > 0) absl::StrAppend(&note, "note: left out ", more, " more runs\n");
  return client::Printable(note);
}

absl::StatusOr<std::vector<ImportedRun>> ReadImport(const ImportFormat& format, const std::string& file,
                                                    const std::string& text, const std::set<std::string>& ignored,
                                                    LeftOut& left_out) {
  const absl::StatusOr<std::vector<JsonRecord>> records = RecordsOf(format, file, text);
  if (!records.ok()) return records.status();
  std::vector<ImportedRun> runs;
  std::vector<std::string> faults;
  for (const JsonRecord& record : *records) {
    FieldReader fields(record.fields, ignored);
    ImportedRun run;
    format.read(fields, run);
    for (const FieldReader::Fault& fault : fields.faults()) {
      const std::string path = absl::StrCat(record.root, record.root.empty() ? "" : ".", fault.path);
      faults.push_back(absl::StrCat(file, ":", LineOf(record, fault.path), ": ", path, " ", fault.what));
    }
    if (faults.size() >= kMostImportFaults) break;
    run.place = absl::StrCat(file, record.root.empty() ? absl::StrCat(":", record.line) : record.root);
    AddLeftOut(format, fields, run, left_out);
    if (run.left_out.empty()) runs.push_back(std::move(run));
  }
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  return runs;
}

}  // namespace foretoken::cli

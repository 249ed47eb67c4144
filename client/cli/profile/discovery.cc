#include "client/cli/profile/discovery.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// A field of the JSON object at a path, and the engine that has this path; an engine of none follows from elsewhere.
struct Field {
  const char* path;
  const char* name;
  Fact fact;
  const char* engine;
};

constexpr Field kFields[] = {
    // vLLM and TensorRT-LLM: /version.
    {"/version", "version", Fact::kVersion, ""},
    // SGLang: python/sglang/srt/entrypoints/http_server.py, the fields of its ServerArgs.
    {"/get_server_info", "version", Fact::kVersion, "sglang"},
    {"/get_server_info", "tp_size", Fact::kTensorParallel, "sglang"},
    {"/get_server_info", "max_running_requests", Fact::kMaxNumSeqs, "sglang"},
    {"/get_server_info", "chunked_prefill_size", Fact::kBatchedTokens, "sglang"},
    {"/get_server_info", "page_size", Fact::kBlockTokens, "sglang"},
    {"/get_server_info", "max_total_num_tokens", Fact::kKvTokens, "sglang"},
    // llama.cpp: tools/server/README.md, GET /props.
    {"/props", "build_info", Fact::kVersion, "llama.cpp"},
    {"/props", "total_slots", Fact::kMaxNumSeqs, "llama.cpp"},
    // Text Generation Inference: GET /info.
    {"/info", "version", Fact::kVersion, "tgi"},
    {"/info", "max_concurrent_requests", Fact::kMaxNumSeqs, "tgi"},
    {"/info", "max_batch_prefill_tokens", Fact::kBatchedTokens, "tgi"},
};

// `owned_by` of the models in /v1/models.
struct Owner {
  const char* owned_by;
  const char* engine;
};
constexpr Owner kOwners[] = {{"vllm", "vllm"},
                             {"sglang", "sglang"},
                             {"llamacpp", "llama.cpp"},
                             {"tensorrt_llm", "tensorrt-llm"},
                             {"lmdeploy", "lmdeploy"}};

constexpr size_t kMostModels = 100;  // of a server, with its adapters

// Text, or a number without a point where it is whole; empty otherwise, also if the text cannot be shown as it is.
std::string TextOf(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  if (found == object.fields().end()) return "";
  if (found->second.has_string_value()) {
    const std::string& text = found->second.string_value();
    return client::PrintableLine(text) == text ? text : "";
  }
  const double number = found->second.number_value();
  if (!found->second.has_number_value() || std::abs(number) > 1e15) return "";
  return number == std::floor(number) ? absl::StrCat(static_cast<int64_t>(number)) : absl::StrCat(number);
}

absl::StatusOr<Struct> GetObject(HttpClient& http, const std::string& url) {
  const absl::StatusOr<std::string> body = http.Get(url);
  if (!body.ok()) return body.status();
  Struct object;
  if (!google::protobuf::util::JsonStringToMessage(*body, &object).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(url, ": not a JSON object"));
  }
  return object;
}

void Learn(Fact fact, const std::string& value, const std::string& source, ServerFacts& facts) {
  if (!value.empty()) facts.facts.insert({fact, {.value = value, .source = source}});
}

absl::Status LearnModels(HttpClient& http, const std::string& url, ServerFacts& facts) {
  const absl::StatusOr<Struct> list = GetObject(http, url + "/v1/models");
  if (!list.ok()) return list.status();
  const auto data = list->fields().find("data");
  if (data == list->fields().end() || data->second.list_value().values().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(url, "/v1/models: no model in \"data\""));
  }
  for (const Value& value : data->second.list_value().values()) {
    const Struct& model = value.struct_value();
    const std::string id = TextOf(model, "id");
    if (id.empty()) continue;
    if (facts.models.size() < kMostModels) facts.models.push_back(id);
    Learn(Fact::kModel, id, "/v1/models", facts);
    Learn(Fact::kMaxModelLen, TextOf(model, "max_model_len"), "/v1/models", facts);
    for (const Owner& owner : kOwners) {
      if (TextOf(model, "owned_by") == owner.owned_by) Learn(Fact::kEngine, owner.engine, "/v1/models", facts);
    }
  }
  return absl::OkStatus();
}

void LearnFields(HttpClient& http, const std::string& url, ServerFacts& facts) {
  std::map<std::string, std::optional<Struct>> asked;
  for (const Field& field : kFields) {
    if (!asked.contains(field.path)) {
      absl::StatusOr<Struct> object = GetObject(http, url + field.path);
      asked[field.path] = object.ok() ? std::optional<Struct>(*std::move(object)) : std::nullopt;
    }
    const std::optional<Struct>& object = asked[field.path];
    if (!object.has_value()) continue;
    const std::string value = TextOf(*object, field.name);
    if (!value.empty()) Learn(Fact::kEngine, field.engine, field.path, facts);
    Learn(field.fact, value, field.path, facts);
  }
}

// The value of a label in a line of the Prometheus text format: name{label="value",...} 1.
std::string Label(std::string_view line, const std::string& label) {
  const size_t at = line.find(label + "=\"");
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + label.size() + 2);
  return std::string(line.substr(0, line.find('"')));
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

void LearnMetrics(HttpClient& http, const std::string& url, ServerFacts& facts) {
  const absl::StatusOr<std::string> text = http.Get(url + "/metrics");
  if (!text.ok()) return;
  for (const std::string& line : Lines(*text)) {
    if (!absl::StartsWith(line, "vllm:cache_config_info{")) continue;
    Learn(Fact::kEngine, "vllm", "/metrics", facts);
    int32_t size = 0, blocks = 0;
    if (!absl::SimpleAtoi(Label(line, "block_size"), &size)) continue;
    Learn(Fact::kBlockTokens, absl::StrCat(size), "/metrics", facts);
    if (absl::SimpleAtoi(Label(line, "num_gpu_blocks"), &blocks)) {
      Learn(Fact::kKvTokens, absl::StrCat(int64_t{size} * blocks), "/metrics", facts);
    }
  }
}

}  // namespace

std::string ServerFacts::Text(Fact fact) const {
  const auto found = facts.find(fact);
  return found == facts.end() ? "" : found->second.value;
}

int ServerFacts::Number(Fact fact) const {
  int number = 0;
  return absl::SimpleAtoi(Text(fact), &number) && number > 0 ? number : 0;
}

const char* NameOf(Fact fact) {
  constexpr const char* kNames[] = {"engine",          "version",         "model",
                                    "max_model_len",   "max_num_seqs",    "max_num_batched_tokens",
                                    "tensor_parallel", "KV block tokens", "KV cache tokens"};
  return kNames[static_cast<size_t>(fact)];
}

absl::StatusOr<ServerFacts> Discover(HttpClient& http, const std::string& url) {
  ServerFacts facts;
  if (absl::Status status = LearnModels(http, url, facts); !status.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("--endpoint: ", status.message()));
  }
  LearnFields(http, url, facts);
  LearnMetrics(http, url, facts);
  return facts;
}

PrefixCounters ReadPrefixCounters(HttpClient& http, const std::string& url) {
  PrefixCounters counters;
  const absl::StatusOr<std::string> text = http.Get(url + "/metrics");
  if (!text.ok()) return counters;
  for (const std::string& line : Lines(*text)) {
    const auto add = [&line](const char* name, double& to) {
      double value = 0;
      if (absl::StartsWith(line, name) && absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value)) to += value;
    };
    add("vllm:prefix_cache_queries_total", counters.queries);
    add("vllm:prefix_cache_hits_total", counters.hits);
  }
  return counters;
}

}  // namespace foretoken::cli

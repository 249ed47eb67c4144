#include "client/gauges.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace foretoken::client {
namespace {

// Names of gauges: docs.vllm.ai (Production Metrics, of V1), docs.sglang.io (Production Metrics), the model server
// protocol of kubernetes-sigs/gateway-api-inference-extension (trtllm-serve), tools/server/README.md of llama.cpp,
// docs.nvidia.com/dynamo (Metrics).
constexpr char kRunning[] = "running_sequences";
constexpr char kWaiting[] = "waiting_requests";
constexpr char kUsage[] = "kv_cache_usage_ratio";
constexpr char kBlock[] = "kv_block_tokens";

// One line of the text: name{labels} value.
struct Series {
  std::string_view name;
  std::string_view labels;
  double value = 0;
};

std::optional<Series> Parse(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos) return std::nullopt;
  Series series{.name = line.substr(0, end)};
  std::string_view rest = line.substr(end);
  if (rest.front() == '{') {
    const size_t close = rest.rfind('}');
    if (close == std::string_view::npos) return std::nullopt;
    series.labels = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  }
  const size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(begin);
  rest = rest.substr(0, rest.find(' '));  // a time may follow
  if (!absl::SimpleAtod(absl::string_view(rest.data(), rest.size()), &series.value)) series.value = std::nan("");
  return series;
}

// The value of a label: block_size="16".
double LabelOf(std::string_view labels, const std::string& name) {
  const size_t at = labels.find(name + "=\"");
  if (at == std::string_view::npos) return std::nan("");
  labels.remove_prefix(at + name.size() + 2);
  labels = labels.substr(0, labels.find('"'));
  double value = 0;
  const bool number = absl::SimpleAtod(absl::string_view(labels.data(), labels.size()), &value);
  return number ? value : std::nan("");
}

// The series of each field.
using Read = std::map<std::string, std::vector<double>>;

absl::Status Take(const Series& series, const Gauge& gauge, Read& read) {
  const bool of_label = std::string_view(gauge.field) == kBlock;
  const double value = of_label ? LabelOf(series.labels, "block_size") : series.value;
  if (of_label && std::isnan(value)) return absl::OkStatus();  // told later, or never
  if (!(value >= 0) || !(value <= 1e15)) {
    return absl::InvalidArgumentError(absl::StrCat(gauge.name, " is ", value, "; allowed: a number of at least 0"));
  }
  read[gauge.field].push_back(value);
  return absl::OkStatus();
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

v1::LiveLoad LoadOf(const Read& read) {
  v1::LiveLoad load;
  const auto count = [&read](const char* field) { return static_cast<int>(std::min(1e9, Sum(read.at(field)))); };
  if (read.contains(kRunning)) load.set_running_sequences(count(kRunning));
  if (read.contains(kWaiting)) load.set_waiting_requests(count(kWaiting));
  if (read.contains(kBlock)) load.set_kv_block_tokens(static_cast<int>(std::min(1e8, read.at(kBlock).front())));
  if (read.contains(kUsage)) {
    const std::vector<double>& shares = read.at(kUsage);
    load.set_kv_cache_usage_ratio(std::min(1.0, Sum(shares) / static_cast<double>(shares.size())));
  }
  return load;
}

absl::Status NothingKnown() {
  std::vector<std::string> names;
  for (const Gauge& gauge : KnownGauges()) names.push_back(gauge.name);
  return absl::InvalidArgumentError(
      absl::StrCat("no gauge of a known engine in the metrics; known: ", absl::StrJoin(names, ", ")));
}

}  // namespace

const std::vector<Gauge>& KnownGauges() {
  static const auto& gauges = *new std::vector<Gauge>{
      {"vLLM", "vllm:num_requests_running", kRunning},
      {"vLLM", "vllm:num_requests_waiting", kWaiting},
      {"vLLM", "vllm:kv_cache_usage_perc", kUsage},
      {"older vLLM", "vllm:gpu_cache_usage_perc", kUsage},
      {"vLLM", "vllm:cache_config_info", kBlock},
      {"SGLang", "sglang:num_running_reqs", kRunning},
      {"SGLang", "sglang:num_queue_reqs", kWaiting},
      {"SGLang", "sglang:token_usage", kUsage},
      {"TensorRT-LLM", "trtllm_num_requests_running", kRunning},
      {"TensorRT-LLM", "trtllm_num_requests_waiting", kWaiting},
      {"TensorRT-LLM", "trtllm_kv_cache_utilization", kUsage},
      {"llama.cpp", "llamacpp:requests_processing", kRunning},
      {"llama.cpp", "llamacpp:requests_deferred", kWaiting},
      {"llama.cpp, older", "llamacpp:kv_cache_usage_ratio", kUsage},
      {"Dynamo", "dynamo_component_kvstats_gpu_cache_usage_percent", kUsage},
  };
  return gauges;
}

absl::StatusOr<v1::LiveLoad> LiveLoadOf(const std::string& metrics) {
  if (metrics.size() > kMaxMetricsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("metrics of ", metrics.size(), " bytes; allowed: at most ", kMaxMetricsBytes));
  }
  std::map<std::string_view, const Gauge*> known;
  for (const Gauge& gauge : KnownGauges()) known[gauge.name] = &gauge;
  Read read;
  std::string_view left = metrics;
  while (!left.empty()) {
    const size_t end = left.find('\n');
    const std::optional<Series> series = Parse(left.substr(0, end));
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    const auto gauge = series.has_value() ? known.find(series->name) : known.end();
    if (gauge == known.end()) continue;
    if (absl::Status status = Take(*series, *gauge->second, read); !status.ok()) return status;
  }
  if (read.empty()) return NothingKnown();
  return LoadOf(read);
}

}  // namespace foretoken::client

#include "tests/profile/fake_endpoint.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step_model.h"
#include "server/catalog/entries/embedded.h"

namespace foretoken::fake {
namespace {

template <typename Record>
const Record* Find(const std::vector<Record>& records, std::string_view id) {
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const Record& record) { return record.entry.spec().id() == id; });
  return found == records.end() ? nullptr : &*found;
}

// As vLLM's errors.
void Error(HttpConnection& connection, const char* status, absl::string_view message, const std::string& headers = "") {
  connection.Answer(
      status, "application/json",
      absl::StrCat("{\"error\":{\"message\":\"", message, "\",\"type\":\"", absl::string_view(status).substr(4),
                   "\",\"param\":null,\"code\":", absl::string_view(status).substr(0, 3), "}}"),
      headers);
}

int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

absl::StatusOr<StepModel> MakeFakeStepModel(std::string_view model, std::string_view hardware,
                                            const Efficiencies& efficiencies) {
  static const auto* const bundle = new absl::StatusOr<catalog::Bundle>(catalog::LoadEmbeddedBundle());
  if (!bundle->ok()) return bundle->status();
  const auto* const of_model = Find((*bundle)->models, model);
  const auto* const of_hardware = Find((*bundle)->hardware, hardware);
  if (of_model == nullptr || of_hardware == nullptr) {
    const std::string_view unknown = of_model == nullptr ? model : hardware;
    return absl::NotFoundError(
        absl::StrCat("\"", absl::string_view(unknown.data(), unknown.size()), "\" is no id of the catalog"));
  }
  Scenario scenario{.model = &of_model->model, .hardware = &of_hardware->hardware};
  scenario.workload.batching = BatchingPolicy::kContinuous;
  ResolveDtypes(of_model->model, scenario.deployment);
  return MakeStepModel(scenario, efficiencies, nullptr);
}

absl::StatusOr<std::unique_ptr<FakeEndpoint>> FakeEndpoint::Start(StepModel model, FakeEndpointOptions options) {
  const int port = options.port;
  std::unique_ptr<FakeEndpoint> endpoint(new FakeEndpoint(std::move(model), std::move(options)));
  auto server = HttpServer::Start(port, [of = endpoint.get()](const HttpRequest& request, HttpConnection& connection) {
    of->Handle(request, connection);
  });
  if (!server.ok()) return server.status();
  endpoint->server_ = *std::move(server);
  return endpoint;
}

FakeEndpoint::FakeEndpoint(StepModel model, FakeEndpointOptions options)
    : options_(std::move(options)),
      engine_(std::move(model), options_.scheduler, options_.faults, options_.time_scale) {}

FakeEndpoint::~FakeEndpoint() {
  engine_.Stop();  // no thread of the server waits for tokens any more
  server_.reset();
}

std::string FakeEndpoint::url() const { return absl::StrCat("http://127.0.0.1:", port()); }

void FakeEndpoint::Handle(const HttpRequest& request, HttpConnection& connection) {
  const std::string asked = absl::StrCat(request.method, " ", request.path);
  const bool hides = options_.faults.without_metrics > 0;
  if (asked == "POST /v1/completions") return Complete(request, false, connection);
  if (asked == "POST /v1/chat/completions") return Complete(request, true, connection);
  if (asked == "GET /v1/models") {
    connection.Answer("200 OK", "application/json", ModelsText());
  } else if (asked == "GET /version" && !hides) {
    connection.Answer("200 OK", "application/json", absl::StrCat("{\"version\":\"", options_.version, "\"}"));
  } else if (asked == "GET /health") {
    connection.Answer("200 OK", "text/plain", "");
  } else if (asked == "GET /metrics" && !hides) {
    connection.Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", MetricsText());
  } else {
    Error(connection, "404 Not Found", "Not Found");
  }
}

void FakeEndpoint::Complete(const HttpRequest& request, bool chat, HttpConnection& connection) {
  const int64_t number = requests_++;
  if (Refuse(number, connection)) return;
  const auto word_tokens = static_cast<int64_t>(options_.faults.tokens_per_word);
  const absl::StatusOr<AskedCompletion> asked = ParseCompletion(request.body, chat, word_tokens);
  if (!asked.ok()) return Error(connection, "400 Bad Request", asked.status().message());
  if (asked->model != options_.served_model) {
    return Error(connection, "404 Not Found", absl::StrCat("The model `", asked->model, "` does not exist."));
  }
  const FakeAnswer answer = AnswerTo(*asked, chat, number);
  const int64_t most = answer.prompt_tokens + MostOutput(*asked, chat, answer.prompt_tokens);
  if (answer.output_tokens < 1 || most > options_.max_model_len ||
      !engine_.CanHold(answer.prompt_tokens + answer.output_tokens)) {
    return Error(connection, "400 Bad Request",
                 absl::StrCat("This model's maximum context length is ", options_.max_model_len,
                              " tokens. However, you requested ", most, " tokens."));
  }
  const auto generation = engine_.Submit(answer.prompt_tokens, answer.output_tokens,
                                         HashBlocks(asked->prompt, options_.scheduler.block_tokens));
  const bool sent = asked->stream ? StreamAnswer(answer, *generation, options_.faults, connection)
                                  : WriteAnswer(answer, *generation, connection);
  if (!sent) engine_.Abort(*generation);
}

FakeAnswer FakeEndpoint::AnswerTo(const AskedCompletion& asked, bool chat, int64_t number) const {
  const auto added = static_cast<int64_t>(options_.faults.added_prompt_tokens);
  const int64_t prompt = static_cast<int64_t>(asked.prompt.size()) + added;
  const int64_t most = MostOutput(asked, chat, prompt);
  const int64_t output = OutputOf(asked, most, number);
  const bool asks_usage = asked.include_usage || !asked.stream;
  return {.chat = chat,
          .number = number,
          .model = options_.served_model,
          .created = UnixSeconds(),
          .prompt_tokens = prompt,
          .output_tokens = output,
          .stops = output < most,
          .has_usage = asks_usage && !IsOfShare(options_.faults.without_usage, number)};
}

// Whether it was.
bool FakeEndpoint::Refuse(int64_t number, HttpConnection& connection) const {
  if (IsOfShare(options_.faults.http_429, number)) {
    Error(connection, "429 Too Many Requests", "Too many requests",
          absl::StrCat("retry-after: ", static_cast<int64_t>(options_.faults.retry_after_seconds), "\r\n"));
    return true;
  }
  if (!IsOfShare(options_.faults.http_500, number)) return false;
  Error(connection, "500 Internal Server Error", "Internal server error");
  return true;
}

// vLLM's default of a completion is 16; of a chat, all that fits.
int64_t FakeEndpoint::MostOutput(const AskedCompletion& asked, bool chat, int64_t prompt) const {
  if (asked.max_tokens > 0) return asked.max_tokens;
  return chat ? options_.max_model_len - prompt : 16;
}

int64_t FakeEndpoint::OutputOf(const AskedCompletion& asked, int64_t most, int64_t number) const {
  if (IsOfShare(options_.faults.early_stop, number)) return std::max<int64_t>(std::min<int64_t>(1, most), most / 2);
  return asked.ignore_eos ? most : std::min(most, std::max(asked.min_tokens, options_.eos_tokens));
}

std::string FakeEndpoint::ModelsText() const {
  return absl::StrCat("{\"object\":\"list\",\"data\":[{\"id\":\"", options_.served_model,
                      "\",\"object\":\"model\",\"created\":", UnixSeconds(), ",\"owned_by\":\"vllm\",\"root\":\"",
                      options_.served_model, "\",\"parent\":null,\"max_model_len\":", options_.max_model_len, "}]}");
}

std::string FakeEndpoint::MetricsText() const {
  const SchedulerCounts counts = engine_.counts();
  const SchedulerSettings& settings = options_.scheduler;
  const std::string labels = absl::StrCat("engine=\"0\",model_name=\"", options_.served_model, "\"");
  std::string text;
  const auto add = [&](const char* type, const char* name, double value) {
    absl::StrAppend(&text, "# TYPE vllm:", name, " ", type, "\nvllm:", name, "{", labels, "} ",
                    absl::StrFormat("%.15g", value), "\n");
  };
  add("gauge", "num_requests_running", static_cast<double>(counts.running));
  add("gauge", "num_requests_waiting", static_cast<double>(counts.waiting));
  add("gauge", "kv_cache_usage_perc",
      static_cast<double>(counts.used_blocks) / static_cast<double>(settings.num_gpu_blocks));
  add("counter", "prefix_cache_queries_total", static_cast<double>(counts.prefix_cache_queries));
  add("counter", "prefix_cache_hits_total", static_cast<double>(counts.prefix_cache_hits));
  add("counter", "num_preemptions_total", static_cast<double>(counts.preemptions));
  add("counter", "prompt_tokens_total", static_cast<double>(counts.prompt_tokens));
  add("counter", "generation_tokens_total", static_cast<double>(counts.output_tokens));
  const bool caches = settings.prefix_caching || options_.faults.prefix_caching > 0;
  absl::StrAppend(&text, "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"",
                  settings.block_tokens, "\",enable_prefix_caching=\"", caches ? "True" : "False",
                  "\",engine=\"0\",num_gpu_blocks=\"", settings.num_gpu_blocks, "\"} 1.0\n");
  return text;
}

}  // namespace foretoken::fake

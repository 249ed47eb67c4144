#include "client/cli/profile/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

constexpr size_t kMaxErrorBytes = 1000;
constexpr size_t kMaxGetBytes = 8 << 20;

// curl's own state of the process, which must stand before the first handle.
void InitialiseCurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)code;
}

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct HttpClient::Multi {
  CURLM* handle = curl_multi_init();
  ~Multi() { curl_multi_cleanup(handle); }
};

struct HttpClient::Transfer {
  CURL* easy = curl_easy_init();
  curl_slist* headers = nullptr;
  std::string body;
  HttpHandler handler;
  absl::Status refused;  // by the handler
  std::string error_body;

  ~Transfer() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }

  int http_status() const {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
  }

  // Of CURLOPT_WRITEFUNCTION: fewer bytes than it got end the transfer.
  static size_t OnBytes(char* data, size_t, size_t size, void* self) {
    Transfer& transfer = *static_cast<Transfer*>(self);
    if (transfer.http_status() != 200) {
      transfer.error_body.append(data, std::min(size, kMaxErrorBytes - transfer.error_body.size()));
      return size;
    }
    transfer.refused = transfer.handler.on_bytes(std::string_view(data, size));
    return transfer.refused.ok() ? size : 0;
  }
};

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), multi_((InitialiseCurl(), std::make_unique<Multi>())) {}

HttpClient::~HttpClient() { CancelAll(); }

void HttpClient::CancelAll() {
  for (const auto& transfer : transfers_) curl_multi_remove_handle(multi_->handle, transfer->easy);
  transfers_.clear();
}

HttpClient::Transfer& HttpClient::Start(const std::string& url, HttpHandler handler) {
  Transfer& transfer = *transfers_.emplace_back(std::make_unique<Transfer>());
  transfer.handler = std::move(handler);
  CURL* easy = transfer.easy;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::OnBytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options_.connect_timeout)));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(absl::ToInt64Seconds(options_.silence_timeout)));
  if (!options_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  if (!options_.bearer_token.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
    curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, options_.bearer_token.c_str());
  }
  return transfer;
}

void HttpClient::Post(const std::string& url, std::string body, HttpHandler handler) {
  Transfer& transfer = Start(url, std::move(handler));
  transfer.body = std::move(body);
  transfer.headers = curl_slist_append(nullptr, "Content-Type: application/json");
  // Without the body held back until the server says "100 Continue", which long prompts would wait for.
  transfer.headers = curl_slist_append(transfer.headers, "Expect:");
  curl_easy_setopt(transfer.easy, CURLOPT_HTTPHEADER, transfer.headers);
  curl_easy_setopt(transfer.easy, CURLOPT_POSTFIELDS, transfer.body.c_str());
  curl_easy_setopt(transfer.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(transfer.body.size()));
  curl_multi_add_handle(multi_->handle, transfer.easy);
}

void HttpClient::Finish(Transfer& transfer, int curl_code) {
  HttpEnd end{.status = transfer.refused,
              .http_status = transfer.http_status(),
              .error_body = client::PrintableLine(transfer.error_body)};
  if (end.status.ok() && curl_code != CURLE_OK) {
    const char* why = curl_easy_strerror(static_cast<CURLcode>(curl_code));
    end.status = curl_code == CURLE_OPERATION_TIMEDOUT ? absl::DeadlineExceededError(why) : absl::UnavailableError(why);
  }
  const HttpHandler handler = std::move(transfer.handler);
  curl_multi_remove_handle(multi_->handle, transfer.easy);
  transfers_.remove_if([&transfer](const auto& held) { return held.get() == &transfer; });
  handler.on_end(end);
}

void HttpClient::Poll(absl::Duration wait) {
  int running = 0;
  curl_multi_perform(multi_->handle, &running);
  int left = 0;
  bool ended = false;
  while (const CURLMsg* message = curl_multi_info_read(multi_->handle, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    Finish(*transfer, message->data.result);
    ended = true;
  }
  // A handler may have begun a request, which is to be sent at once.
  const int64_t milliseconds = ended ? 0 : std::max<int64_t>(0, absl::ToInt64Milliseconds(wait));
  curl_multi_poll(multi_->handle, nullptr, 0, static_cast<int>(milliseconds), nullptr);
}

absl::StatusOr<std::string> HttpClient::Get(const std::string& url) {
  std::string body;
  std::optional<HttpEnd> end;
  const auto take = [&body](std::string_view bytes) {
    body.append(bytes);
    return body.size() > kMaxGetBytes ? absl::ResourceExhaustedError("an answer of over 8 MB; allowed: at most that")
                                      : absl::OkStatus();
  };
  Transfer& transfer = Start(url, {.on_bytes = take, .on_end = [&end](const HttpEnd& ended) { end = ended; }});
  curl_easy_setopt(transfer.easy, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(options_.connect_timeout)));
  curl_multi_add_handle(multi_->handle, transfer.easy);
  while (!end.has_value()) Poll(absl::Milliseconds(100));
  if (!end->status.ok()) return absl::Status(end->status.code(), absl::StrCat(url, ": ", end->status.message()));
  if (end->http_status != 200) return absl::NotFoundError(absl::StrCat(url, ": HTTP ", end->http_status));
  return body;
}

}  // namespace foretoken::cli

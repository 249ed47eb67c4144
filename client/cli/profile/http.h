// HTTP requests that run at once on one thread, over libcurl: answers are seen piece by piece, as they arrive.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_HTTP_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_HTTP_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace foretoken::cli {

// Seconds of a clock that never steps.
double SteadySeconds();

struct HttpOptions {
  std::string bearer_token;  // empty: none is sent
  std::string ca_file;       // PEM of who signed the server's certificate; empty: the system's
  absl::Duration connect_timeout = absl::Seconds(10);
  absl::Duration silence_timeout = absl::Seconds(60);  // longest wait for the next byte
};

// How a request ended.
struct HttpEnd {
  // UNAVAILABLE: no connection, or it broke; DEADLINE_EXCEEDED: silence; what a handler refused; else OK, whatever
  // http_status says.
  absl::Status status;
  int http_status = 0;     // 0: no answer came
  std::string error_body;  // of an http_status that is not 200, its first 1,000 bytes
};

struct HttpHandler {
  // Gets the body of an answer 200 in pieces. An error ends the request.
  std::function<absl::Status(std::string_view bytes)> on_bytes;
  std::function<void(const HttpEnd& end)> on_end;
};

class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();  // ends what still runs, without a call of its handlers
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Starts a request with a JSON body. Handlers are called from Poll.
  void Post(const std::string& url, std::string body, HttpHandler handler);

  // Sends, receives and calls handlers; waits for at most `wait` until something happens. Handlers may call Post.
  void Poll(absl::Duration wait);

  // Requests that run.
  size_t active() const { return transfers_.size(); }

  // Ends what runs, without a call of its handlers.
  void CancelAll();

  // The body of an answer 200 of at most 8 MB. Waits for it. REQUIRES: no other request runs. Errors: UNAVAILABLE,
  // DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED: too long; NOT_FOUND: another status.
  absl::StatusOr<std::string> Get(const std::string& url);

 private:
  struct Transfer;
  struct Multi;

  Transfer& Start(const std::string& url, HttpHandler handler);
  void Finish(Transfer& transfer, int curl_code);

  const HttpOptions options_;
  const std::unique_ptr<Multi> multi_;
  std::list<std::unique_ptr<Transfer>> transfers_;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_HTTP_H_

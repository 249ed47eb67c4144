// HTTP/1.1 for the fake endpoint: one thread for each connection, every write sent at once, and connections that can be
// cut and reset. Libraries hide the connection, so this is written on sockets.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_HTTP_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_HTTP_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::fake {

struct HttpRequest {
  std::string method;
  std::string path;
  std::string body;
};

// One connection. For its own thread alone, Shut apart.
class HttpConnection {
 public:
  explicit HttpConnection(int socket) : socket_(socket) {}
  ~HttpConnection() { End(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // The next request; false: the client left, or sent none that is one.
  bool Read(HttpRequest& request);
  // False: the client left.
  bool Write(std::string_view bytes);
  // A whole answer. `headers`: lines, each with "\r\n".
  bool Answer(std::string_view status, std::string_view type, std::string_view body, std::string_view headers = "");
  // The head of an event stream. Chunks follow, the last is empty.
  bool BeginStream();
  // After this request it ends with a reset, so that the client's read fails.
  void Reset();
  // After this request it ends.
  void Close() { open_ = false; }
  bool open() const { return open_; }
  // Makes reads and writes fail. For another thread, but not beside End.
  void Shut() const;
  // Closes the socket, with a reset where one was asked for.
  void End();

 private:
  bool Fill();

  int socket_;
  std::string buffer_;
  bool open_ = true;
};

// "5\r\nhello\r\n".
std::string HttpChunk(std::string_view bytes);

class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, HttpConnection&)>;

  // Listens on 127.0.0.1. port 0: a free one. Errors: UNAVAILABLE where the port is taken.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(int port, Handler handler);
  // Cuts all connections, and returns when their threads have ended. The handler must not wait for ever.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  struct Worker {
    explicit Worker(int socket) : connection(socket) {}
    HttpConnection connection;
    std::atomic<bool> done = false;
    std::thread thread;
  };

  HttpServer(int listener, int port, Handler handler);
  void Accept();
  void Serve(Worker& worker);

  int listener_;
  int port_;
  Handler handler_;
  std::mutex mutex_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::thread thread_;
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_HTTP_H_

#include "tests/profile/fake_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace foretoken::fake {
namespace {

constexpr size_t kLongestHead = size_t{1} << 16;
constexpr size_t kLongestBody = size_t{1} << 26;

absl::Status Failed(std::string_view what, int port) {
  return absl::UnavailableError(absl::StrCat(absl::string_view(what.data(), what.size()), " of 127.0.0.1:", port,
                                             " failed: ", std::strerror(errno)));
}

// The value of a header, from the lines of a head; "": there is none.
std::string HeaderOf(const std::vector<std::string>& lines, absl::string_view name) {
  for (const std::string& line : lines) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::EqualsIgnoreCase(parts.first, name)) return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return "";
}

}  // namespace

void HttpConnection::End() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

bool HttpConnection::Fill() {
  std::array<char, 1 << 14> bytes;
  const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  buffer_.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

bool HttpConnection::Read(HttpRequest& request) {
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (buffer_.size() > kLongestHead || !Fill()) return false;
  }
  const std::vector<std::string> lines = absl::StrSplit(buffer_.substr(0, end), "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() != 3) return false;
  const std::string stated = HeaderOf(lines, "content-length");
  size_t length = 0;
  if (!stated.empty() && (!absl::SimpleAtoi(stated, &length) || length > kLongestBody)) return false;
  if (absl::EqualsIgnoreCase(HeaderOf(lines, "expect"), "100-continue") && !Write("HTTP/1.1 100 Continue\r\n\r\n")) {
    return false;
  }
  if (absl::EqualsIgnoreCase(HeaderOf(lines, "connection"), "close")) Close();
  buffer_.erase(0, end + 4);
  while (buffer_.size() < length) {
    if (!Fill()) return false;
  }
  request = {.method = words[0], .path = words[1], .body = buffer_.substr(0, length)};
  buffer_.erase(0, length);
  return true;
}

bool HttpConnection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      Close();
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpConnection::Answer(std::string_view status, std::string_view type, std::string_view body,
                            std::string_view headers) {
  std::string text("HTTP/1.1 ");
  text.append(status).append("\r\nserver: uvicorn\r\ncontent-type: ").append(type).append("\r\n").append(headers);
  absl::StrAppend(&text, "content-length: ", body.size(), "\r\n\r\n");
  return Write(text.append(body));
}

bool HttpConnection::BeginStream() {
  return Write(
      "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
      "transfer-encoding: chunked\r\n\r\n");
}

void HttpConnection::Reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

void HttpConnection::Shut() const { shutdown(socket_, SHUT_RDWR); }

std::string HttpChunk(std::string_view bytes) {
  return absl::StrCat(absl::Hex(bytes.size()), "\r\n", absl::string_view(bytes.data(), bytes.size()), "\r\n");
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(int port, Handler handler) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return Failed("a socket", port);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, plain, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, plain, &size) != 0) {
    const absl::Status failed = Failed("listening", port);
    close(listener);
    return failed;
  }
  return std::unique_ptr<HttpServer>(new HttpServer(listener, ntohs(address.sin_port), std::move(handler)));
}

HttpServer::HttpServer(int listener, int port, Handler handler)
    : listener_(listener), port_(port), handler_(std::move(handler)), thread_([this] { Accept(); }) {}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& worker : workers_) worker->connection.Shut();
  }
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  for (const auto& worker : workers_) worker->thread.join();
  close(listener_);
}

void HttpServer::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (socket < 0 && !stopping_ && errno == ECONNABORTED) continue;
    if (socket < 0 || stopping_) {
      if (socket >= 0) close(socket);
      return;
    }
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::erase_if(workers_, [](const auto& worker) {
      if (worker->done) worker->thread.join();
      return worker->done.load();
    });
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>(socket));
    worker.thread = std::thread([this, &worker] { Serve(worker); });
  }
}

void HttpServer::Serve(Worker& worker) {
  HttpRequest request;
  while (worker.connection.open() && worker.connection.Read(request)) handler_(request, worker.connection);
  const std::lock_guard lock(mutex_);
  worker.connection.End();
  worker.done = true;
}

}  // namespace foretoken::fake

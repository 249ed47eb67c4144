#include "tests/profile/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace foretoken::fake {
namespace {

constexpr size_t kMostBytes = 20'000'000;

size_t BodyAt(const std::string& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  return end == std::string::npos ? bytes.size() : end + 4;
}

bool IsChunked(const std::string& bytes) {
  return absl::StrContains(bytes.substr(0, BodyAt(bytes)), "transfer-encoding: chunked");
}

}  // namespace

RawClient::RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(static_cast<uint16_t>(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  reset_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0;
}

RawClient::~RawClient() { close(socket_); }

void RawClient::Send(const std::string& method, const std::string& path, const std::string& body) {
  bytes_.clear();
  whole_ = false;
  const std::string text = absl::StrCat(
      method, " ", path, " HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  reset_ = send(socket_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size());
}

bool RawClient::Fill() {
  std::array<char, 1 << 16> bytes;
  const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
  reset_ |= got < 0 && errno == ECONNRESET;
  if (got > 0) bytes_.append(bytes.data(), static_cast<size_t>(got));
  return got > 0;
}

bool RawClient::ReadUntil(const std::string& text) {
  while (!absl::StrContains(bytes_, text)) {
    if (!Fill()) return false;
  }
  return true;
}

void RawClient::ReadAnswer() {
  while (!(whole_ = IsWhole()) && bytes_.size() < kMostBytes && Fill()) {
  }
}

bool RawClient::IsWhole() const {
  const size_t body = BodyAt(bytes_);
  if (body == bytes_.size() && !absl::EndsWith(bytes_, "\r\n\r\n")) return false;
  if (IsChunked(bytes_)) return absl::EndsWith(bytes_, "\r\n0\r\n\r\n");
  const std::vector<std::string> parts = absl::StrSplit(bytes_.substr(0, body), "content-length: ");
  size_t length = 0;
  const std::vector<std::string> lines = absl::StrSplit(parts.back(), "\r\n");
  return parts.size() == 2 && absl::SimpleAtoi(lines[0], &length) && bytes_.size() == body + length;
}

std::string RawClient::Status() const {
  return bytes_.substr(0, bytes_.find("\r\n")).substr(std::string("HTTP/1.1 ").size());
}

std::string RawClient::Body() const {
  size_t at = BodyAt(bytes_);
  if (!IsChunked(bytes_)) return bytes_.substr(at);
  std::string body;
  while (at < bytes_.size()) {
    const size_t line = bytes_.find("\r\n", at);
    if (line == std::string::npos) break;
    const size_t length = std::stoul(bytes_.substr(at, line - at), nullptr, 16);
    body += bytes_.substr(line + 2, length);
    at = line + 2 + length + 2;
  }
  return body;
}

std::vector<std::string> RawClient::Events() const {
  std::vector<std::string> events;
  for (const absl::string_view event : absl::StrSplit(Body(), "\n\n", absl::SkipEmpty())) {
    events.emplace_back(absl::StripPrefix(event, "data: "));
  }
  return events;
}

}  // namespace foretoken::fake

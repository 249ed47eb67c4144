#include "server/guard/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace foretoken::guard {
namespace {

constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
constexpr unsigned kUnacknowledgedMs = 20'000;  // as gRPC's keepalive timeout

absl::Status Fault(const std::string& address, const char* what) {
  return absl::UnavailableError(
      absl::StrCat("listen ", address, ": cannot listen there (", what, "); is the port taken?"));
}

// Whether somebody listens at the path.
bool IsServed(const sockaddr_un& path) {
  const int probe = socket(AF_UNIX, kFlags, 0);
  const bool served = connect(probe, reinterpret_cast<const sockaddr*>(&path), sizeof(path)) == 0 || errno == EAGAIN;
  close(probe);
  return served;
}

absl::StatusOr<BoundSockets> ListenAtPath(const std::string& address) {
  const std::string path(absl::StripPrefix(address, "unix:"));
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return Fault(address, "the path is too long");
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  struct stat file = {};
  if (stat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && !IsServed(name)) unlink(path.c_str());
  const int fd = socket(AF_UNIX, kFlags, 0);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 && listen(fd, SOMAXCONN) == 0) {
    return BoundSockets{{fd}, address};
  }
  const int error = errno;
  close(fd);
  return Fault(address, std::strerror(error));
}

void SetPort(sockaddr* address, uint16_t port) {
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
}

uint16_t PortOf(int fd) {
  sockaddr_in6 name = {};
  socklen_t size = sizeof(name);
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  return ntohs(name.sin6_port);  // at the same place in an IPv4 address
}

// -1 with errno: cannot.
int ListenOn(const addrinfo& found) {
  const int fd = socket(found.ai_family, kFlags, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (found.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, found.ai_addr, found.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<BoundSockets> ListenAt(const std::string& address) {
  if (absl::StartsWith(address, "unix:")) return ListenAtPath(address);
  const size_t colon = address.rfind(':');
  const absl::string_view host = absl::StripPrefix(absl::string_view(address).substr(0, colon), "[");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* all = nullptr;
  const int failed =
      getaddrinfo(std::string(absl::StripSuffix(host, "]")).c_str(), address.substr(colon + 1).c_str(), &hints, &all);
  if (failed != 0) return Fault(address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> release(all, freeaddrinfo);
  BoundSockets bound;
  uint16_t port = 0;
  int error = 0;
  for (const addrinfo* found = all; found != nullptr; found = found->ai_next) {
    if (port != 0) SetPort(found->ai_addr, port);  // all addresses of a host have one port
    const int fd = ListenOn(*found);
    if (fd < 0) error = errno;
    if (fd < 0) continue;
    port = PortOf(fd);
    bound.sockets.push_back(fd);
  }
  if (bound.sockets.empty()) return Fault(address, std::strerror(error));
  bound.address = absl::StrCat(address.substr(0, colon), ":", port);
  return bound;
}

std::optional<uint64_t> CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return std::nullopt;
  return cookie;
}

std::string PeerHost(int fd) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  std::array<char, NI_MAXHOST> host = {};
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  if (peer.ss_family == AF_UNIX) return "unix";
  getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return host.data();
}

void SetUpConnection(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs, sizeof(kUnacknowledgedMs));
}

}  // namespace foretoken::guard

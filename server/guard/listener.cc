#include "server/guard/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/guard/sockets.h"

namespace foretoken::guard {
namespace {

constexpr int64_t kPruneIntervalNs = 10'000'000;
constexpr auto kRest = absl::Milliseconds(10);  // where the system refuses even with a descriptor free

bool IsUnix(absl::string_view address) { return absl::StartsWith(address, "unix:"); }

void RemoveSocketFiles(absl::string_view addresses) {
  for (const absl::string_view address : absl::StrSplit(addresses, ',')) {
    if (IsUnix(address)) unlink(std::string(address.substr(5)).c_str());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const ListenerOptions& options) {
  std::vector<Socket> sockets;
  std::vector<std::string> addresses;
  for (const absl::string_view address : absl::StrSplit(options.address, ',')) {
    absl::StatusOr<BoundSockets> bound = ListenAt(std::string(address));
    if (!bound.ok()) {
      for (const Socket& socket : sockets) close(socket.fd);
      RemoveSocketFiles(absl::StrJoin(addresses, ","));
      return bound.status();
    }
    for (const int fd : bound->sockets) sockets.push_back({.fd = fd, .is_unix = IsUnix(address)});
    addresses.push_back(std::move(bound->address));
  }
  return std::unique_ptr<Listener>(new Listener(options, std::move(sockets), absl::StrJoin(addresses, ",")));
}

Listener::Listener(const ListenerOptions& options, std::vector<Socket> sockets, std::string address)
    : options_(options),
      sockets_(std::move(sockets)),
      address_(std::move(address)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC)) {}

Listener::~Listener() {
  Stop();
  if (thread_.joinable()) thread_.join();
  close(spare_);
  close(wake_);
}

void Listener::Start(Accept accept) {
  thread_ = std::thread([this, accept = std::move(accept)] { Run(accept); });
}

void Listener::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    stopped_ = true;
  }
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  for (const Socket& socket : sockets_) close(socket.fd);
  RemoveSocketFiles(address_);
}

void Listener::Run(const Accept& accept) {
  std::vector<pollfd> waiting = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  for (const Socket& socket : sockets_) waiting.push_back({.fd = socket.fd, .events = POLLIN, .revents = 0});
  while (true) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    for (size_t i = 1; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) AcceptFrom(sockets_[i - 1], accept);
    }
  }
}

void Listener::AcceptFrom(const Socket& socket, const Accept& accept) {
  const int fd = accept4(socket.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      RefuseForWantOfDescriptors(socket.fd);
    return;
  }
  if (std::atomic<uint64_t>* const refusal = Admit(fd); refusal != nullptr) {
    ++*refusal;
    close(fd);
    return;
  }
  SetUpConnection(fd);
  accept(socket.fd, fd, socket.is_unix);
}

void Listener::RefuseForWantOfDescriptors(int socket) {
  ++refused_descriptors_;
  close(spare_);
  const int fd = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) {
    close(fd);
  } else {
    absl::SleepFor(kRest);
  }
  spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

std::atomic<uint64_t>* Listener::Admit(int fd) {
  if (short_) return &refused_memory_;
  std::string host = PeerHost(fd);
  const std::optional<uint64_t> cookie = CookieOf(fd);
  absl::MutexLock lock(&mutex_);
  if (const auto old = connections_.find(fd); old != connections_.end()) Forget(old);  // it ended: its number is free
  const bool limited = host != "unix";
  const int most_of_host =
      std::min(options_.max_connections_per_address, options_.max_connections - options_.max_connections / 4);
  const auto full = [&] { return static_cast<int>(connections_.size()) >= options_.max_connections; };
  const auto host_full = [&] {
    const auto found = of_host_.find(host);
    return limited && found != of_host_.end() && found->second >= most_of_host;
  };
  if (full() || host_full()) Prune();
  if (full()) return &refused_all_;
  if (host_full()) return &refused_address_;
  ++of_host_[host];
  connections_[fd] = {.cookie = cookie.value_or(0), .host = std::move(host), .received = 0};
  return nullptr;
}

void Listener::Forget(absl::flat_hash_map<int, Connection>::iterator connection) {
  const auto host = of_host_.find(connection->second.host);
  if (--host->second == 0) of_host_.erase(host);
  connections_.erase(connection);
}

void Listener::Prune() {
  const int64_t now = absl::GetCurrentTimeNanos();
  if (now - pruned_ns_ < kPruneIntervalNs) return;
  pruned_ns_ = now;
  for (auto it = connections_.begin(); it != connections_.end();) {
    const auto here = it++;
    if (CookieOf(here->first) != here->second.cookie) Forget(here);
  }
}

void Listener::Measure() {
  absl::MutexLock lock(&mutex_);
  Prune();
  for (auto& [fd, connection] : connections_) connection.received = BytesReceived(fd);
}

std::string Listener::CutHeaviest(int64_t least) {
  absl::MutexLock lock(&mutex_);
  int heaviest = -1;
  int64_t most = least;
  for (const auto& [fd, connection] : connections_) {
    const int64_t received = BytesReceived(fd) - connection.received;
    if (received < most || CookieOf(fd) != connection.cookie) continue;
    heaviest = fd;
    most = received;
  }
  if (heaviest < 0) return "";
  shutdown(heaviest, SHUT_RDWR);  // whoever has it closes it
  return connections_[heaviest].host;
}

Listener::Refused Listener::refused() const {
  return {
      .all = refused_all_, .address = refused_address_, .descriptors = refused_descriptors_, .memory = refused_memory_};
}

int Listener::connections() {
  absl::MutexLock lock(&mutex_);
  Prune();
  return static_cast<int>(connections_.size());
}

}  // namespace foretoken::guard

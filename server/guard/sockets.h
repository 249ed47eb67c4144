// What the listener asks of the system about sockets.
#ifndef FORETOKEN_SERVER_GUARD_SOCKETS_H_
#define FORETOKEN_SERVER_GUARD_SOCKETS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::guard {

struct BoundSockets {
  std::vector<int> sockets;  // listening, closed by whoever has them
  std::string address;       // with the port that was picked
};

// Listens at "HOST:PORT", on every address that the host has, or at "unix:PATH". Errors: UNAVAILABLE.
absl::StatusOr<BoundSockets> ListenAt(const std::string& address);

// A number that no other socket of this machine has; none where `fd` is no socket.
std::optional<uint64_t> CookieOf(int fd);

// "10.0.0.7", or "unix" for a Unix socket: who is at the other end.
std::string PeerHost(int fd);

// Bytes that a TCP connection received; 0 for any other.
int64_t BytesReceived(int fd);

// Low latency, and an end for a peer that acknowledges nothing for 20 s.
void SetUpConnection(int fd);

}  // namespace foretoken::guard

#endif  // FORETOKEN_SERVER_GUARD_SOCKETS_H_

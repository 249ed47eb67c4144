// Who calls, as far as fairness and limits go: the calls of one name share turns and bounds.
//
// The name is that of the caller's token, else of its certificate, else its address: all of an IPv4 address, the /64 of
// an IPv6 address, without the port. Behind a proxy that the server was told to trust, the address is the one that the
// proxy forwards. Nobody can take the name of another without the other's token, certificate or address.
#ifndef FORETOKEN_SERVER_RPC_WIRE_CALLER_NAMES_H_
#define FORETOKEN_SERVER_RPC_WIRE_CALLER_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "grpcpp/server_context.h"
#include "server/ops/write_tokens.h"

namespace foretoken::rpc {

// The address of a gRPC peer without its port: "ipv4:127.0.0.1:4711" -> "127.0.0.1", "ipv6:%5B2001:db8::1%5D:4711" ->
// "2001:db8::/64", "unix:" -> "unix".
std::string AddressOfPeer(const std::string& peer);

// The same for an address alone, as a flag states it: "2001:db8::1" -> "2001:db8::/64", "unix" -> "unix"; empty: none.
std::string NameOfAddress(const std::string& address);

// The last address of `forwarded` (values of x-forwarded-for, in order) that is none of `proxies`; empty: none is an
// address. Addresses before it are what its sender claims.
std::string ForwardedAddress(const std::vector<std::string>& forwarded, const std::vector<std::string>& proxies);

// Thread-safe.
class CallerNames {
 public:
  // `tokens`: null: calls have none. `proxies`: addresses as AddressOfPeer writes them.
  CallerNames(const ops::WriteTokens* tokens, std::vector<std::string> proxies)
      : tokens_(tokens), proxies_(std::move(proxies)) {}

  // "token ci", "certificate ci.example", "address 192.0.2.1".
  std::string NameOf(const grpc::ServerContextBase& context) const;

 private:
  std::string NameOfToken(const grpc::ServerContextBase& context) const;
  std::string AddressOf(const grpc::ServerContextBase& context) const;

  const ops::WriteTokens* const tokens_;
  const std::vector<std::string> proxies_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_CALLER_NAMES_H_

#include "server/rpc/wire/caller_names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace foretoken::rpc {
namespace {

constexpr size_t kMaxNameBytes = 256;

// In the one way that each address is written; empty: no address.
std::string Canonical(std::string text) {
  constexpr absl::string_view kMapped = "::ffff:";  // an IPv4 address, as a socket for both kinds tells it
  if (absl::StartsWithIgnoreCase(text, kMapped) && absl::StrContains(text, '.')) text.erase(0, kMapped.size());
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> written{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) {
    inet_ntop(AF_INET, bytes.data(), written.data(), written.size());
    return written.data();
  }
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return "";
  std::fill(bytes.begin() + 8, bytes.end(), 0);  // one customer has a /64, and all of its addresses
  inet_ntop(AF_INET6, bytes.data(), written.data(), written.size());
  return absl::StrCat(written.data(), "/64");
}

std::string WithoutPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  absl::string_view host = colon == absl::string_view::npos ? address : address.substr(0, colon);
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

}  // namespace

std::string AddressOfPeer(const std::string& peer) {
  const size_t colon = peer.find(':');
  const absl::string_view kind = absl::string_view(peer).substr(0, colon);
  if (colon == std::string::npos || (kind != "ipv4" && kind != "ipv6")) return std::string(kind);
  const std::string plain = absl::StrReplaceAll(peer.substr(colon + 1), {{"%5B", "["}, {"%5D", "]"}});
  const std::string address = Canonical(WithoutPort(plain));
  return address.empty() ? std::string(kind) : address;
}

std::string NameOfAddress(const std::string& address) { return address == "unix" ? address : Canonical(address); }

std::string ForwardedAddress(const std::vector<std::string>& forwarded, const std::vector<std::string>& proxies) {
  std::vector<std::string> chain;
  for (const std::string& value : forwarded) {
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      const std::string text(absl::StripAsciiWhitespace(part));
      std::string address = Canonical(text);
      if (address.empty()) address = Canonical(WithoutPort(text));
      chain.push_back(std::move(address));
    }
  }
  for (auto address = chain.rbegin(); address != chain.rend(); ++address) {
    if (address->empty()) return "";
    if (std::find(proxies.begin(), proxies.end(), *address) == proxies.end()) return *address;
  }
  return "";
}

std::string CallerNames::NameOfToken(const grpc::ServerContextBase& context) const {
  if (tokens_ == nullptr || context.client_metadata().count("authorization") != 1) return "";
  const grpc::string_ref given = context.client_metadata().find("authorization")->second;
  const std::optional<ops::TokenOwner> owner = tokens_->OwnerOf({given.data(), given.size()});
  return owner ? owner->name : "";
}

std::string CallerNames::AddressOf(const grpc::ServerContextBase& context) const {
  std::string address = AddressOfPeer(context.peer());
  if (std::find(proxies_.begin(), proxies_.end(), address) == proxies_.end()) return address;
  std::vector<std::string> forwarded;
  const auto [first, last] = context.client_metadata().equal_range("x-forwarded-for");
  for (auto value = first; value != last; ++value) forwarded.emplace_back(value->second.data(), value->second.size());
  std::string client = ForwardedAddress(forwarded, proxies_);
  return client.empty() ? address : client;
}

std::string CallerNames::NameOf(const grpc::ServerContextBase& context) const {
  if (const std::string token = NameOfToken(context); !token.empty()) return absl::StrCat("token ", token);
  const std::vector<grpc::string_ref> identity = context.auth_context()->GetPeerIdentity();
  if (!identity.empty()) {
    return absl::StrCat("certificate ",
                        absl::string_view(identity[0].data(), std::min(identity[0].size(), kMaxNameBytes)));
  }
  return absl::StrCat("address ", AddressOf(context));
}

}  // namespace foretoken::rpc

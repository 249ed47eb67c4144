#include "server/rpc/wire/access.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "estimator/base/errors.h"
#include "text/printable.h"

namespace foretoken::rpc {
namespace {

using Context = grpc::CallbackServerContext;
using ops::AuthenticationFailure;

constexpr char kAuthorization[] = "authorization";
constexpr size_t kMaxAuthorBytes = 256;

std::string_view MetadataOf(const Context& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// Of two headers a proxy in between may have checked the other one.
bool HasSeveralTokens(const Context& context) { return context.client_metadata().count(kAuthorization) > 1; }

constexpr absl::string_view kSeveralTokens =
    "the metadata \"authorization\" stands there more than once; allowed: once";

AuthenticationFailure FailureOf(std::string_view authorization) {
  return authorization.empty() ? AuthenticationFailure::kNoToken : AuthenticationFailure::kUnknownToken;
}

absl::StatusOr<std::string> WriterByToken(const Context& context, const ServiceDeps& deps) {
  if (HasSeveralTokens(context)) {
    deps.metrics->AuthenticationFailed(AuthenticationFailure::kSeveralTokens);
    return Refusal(Reason::kWriteNotAllowed, "", std::string(kSeveralTokens));
  }
  const std::string_view authorization = MetadataOf(context, kAuthorization);
  absl::StatusOr<std::string> writer = deps.write_tokens->WriterOf(authorization);
  if (writer.ok() || absl::IsUnavailable(writer.status())) return writer;
  const bool reader = deps.write_tokens->OwnerOf(authorization).has_value();
  deps.metrics->AuthenticationFailed(reader ? AuthenticationFailure::kRole : FailureOf(authorization));
  return writer;
}

}  // namespace

absl::Status CheckReader(const Context& context, const ServiceDeps& deps) {
  if (!deps.require_token_to_read) return absl::OkStatus();
  if (HasSeveralTokens(context)) {
    deps.metrics->AuthenticationFailed(AuthenticationFailure::kSeveralTokens);
    return absl::UnauthenticatedError(kSeveralTokens);
  }
  const std::string_view authorization = MetadataOf(context, kAuthorization);
  if (deps.write_tokens->OwnerOf(authorization)) return absl::OkStatus();
  deps.metrics->AuthenticationFailed(FailureOf(authorization));
  return absl::UnauthenticatedError(authorization.empty()
                                        ? "this server answers those alone who send a token of it in the metadata "
                                          "\"authorization\", as \"Bearer TOKEN\"; found none"
                                        : "the token in the metadata \"authorization\" is none of this server's");
}

absl::StatusOr<std::string> AuthorOf(const Context& context, const ServiceDeps& deps) {
  if (deps.write_tokens != nullptr) return WriterByToken(context, deps);
  const std::vector<grpc::string_ref> identity = context.auth_context()->GetPeerIdentity();
  const std::string_view name = identity.empty() ? MetadataOf(context, "foretoken-author")
                                                 : std::string_view(identity[0].data(), identity[0].size());
  const std::string line = absl::StrReplaceAll(absl::string_view(name.data(), std::min(name.size(), kMaxAuthorBytes)),
                                               {{"\n", " "}, {"\t", " "}});
  return Printable(line, Escape::kLines);
}

ops::Role RoleOf(const Context& context, const ServiceDeps& deps) {
  if (deps.write_tokens == nullptr) return ops::Role::kAdmin;
  if (HasSeveralTokens(context)) return ops::Role::kRead;
  const auto owner = deps.write_tokens->OwnerOf(MetadataOf(context, kAuthorization));
  return owner ? owner->role : ops::Role::kRead;
}

}  // namespace foretoken::rpc

// The endpoint that is profiled: how it takes prompts, and how it counts them.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_ENDPOINT_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_ENDPOINT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/profile/load.h"

namespace foretoken::cli {

// "http://127.0.0.1:8000/" as "http://127.0.0.1:8000". Errors: INVALID_ARGUMENT: it does not begin with http:// or
// https://, or names no host.
absl::StatusOr<std::string> EndpointUrl(const std::string& text);

// The way that the endpoint takes prompts: `asked`, else the first that works of token ids, words and chat. For words,
// how many tokens they make, from two requests. Errors: FAILED_PRECONDITION: none works, with what each said;
// CANCELLED.
absl::StatusOr<Target> FindTarget(HttpClient& http, const std::string& url, const std::string& model,
                                  std::optional<Api> asked, const LoadLimits& limits);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_ENDPOINT_H_

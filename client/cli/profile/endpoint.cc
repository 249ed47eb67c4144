#include "client/cli/profile/endpoint.h"

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace foretoken::cli {
namespace {

constexpr int kFewWords = 32;
constexpr int kManyWords = 160;

const char* NameOf(Api api) {
  switch (api) {
    case Api::kCompletions:
      return "token ids";
    case Api::kWords:
      return "words";
    case Api::kChat:
      return "chat";
  }
  return "";
}

// The tokens that the endpoint counts for a prompt of `size` (tokens or words); 0: it does not count them.
absl::StatusOr<int> CountTokens(HttpClient& http, const Target& target, int size, const LoadLimits& limits) {
  const LoadPoint one = {.requests = 1, .prompt_least = size, .prompt_most = size, .output_least = 2, .output_most = 2};
  std::mt19937_64 random(static_cast<uint64_t>(size));
  const absl::StatusOr<LoadRun> run = RunLoad(http, target, one, limits, random);
  if (!run.ok()) return run.status();
  if (!run->requests.front().status.ok()) return run->requests.front().status;
  return run->requests.front().prompt_tokens.value_or(0);
}

// How many tokens words make. An endpoint that does not count tokens cannot be asked for a number of them in words.
absl::Status Scale(HttpClient& http, Target& target, const LoadLimits& limits) {
  const absl::StatusOr<int> few = CountTokens(http, target, kFewWords, limits);
  if (!few.ok()) return few.status();
  const absl::StatusOr<int> many = CountTokens(http, target, kManyWords, limits);
  if (!many.ok()) return many.status();
  if (*many <= *few) {
    return absl::FailedPreconditionError(absl::StrCat("the answers count ", *few, " and ", *many,
                                                      " tokens for prompts of ", kFewWords, " and ", kManyWords,
                                                      " words"));
  }
  target.scale.tokens_per_word = static_cast<double>(*many - *few) / (kManyWords - kFewWords);
  target.scale.fixed_tokens = *few - target.scale.tokens_per_word * kFewWords;
  return absl::OkStatus();
}

absl::Status Try(HttpClient& http, Target& target, const LoadLimits& limits) {
  if (target.api != Api::kCompletions) return Scale(http, target, limits);
  return CountTokens(http, target, kFewWords, limits).status();
}

}  // namespace

absl::StatusOr<std::string> EndpointUrl(const std::string& text) {
  const size_t scheme = text.find("://") == std::string::npos ? 0 : text.find("://") + 3;
  const bool known = text.starts_with("http://") || text.starts_with("https://");
  if (!known || scheme == text.size() || text[scheme] == '/') {
    return absl::InvalidArgumentError(absl::StrCat(
        "--endpoint: \"", text, "\"; allowed: http://HOST:PORT or https://HOST:PORT, with or without a path"));
  }
  std::string url = text;
  while (url.ends_with("/")) url.pop_back();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  return url;
}

absl::StatusOr<Target> FindTarget(HttpClient& http, const std::string& url, const std::string& model,
                                  std::optional<Api> asked, const LoadLimits& limits) {
  std::vector<Api> ways = {Api::kCompletions, Api::kWords, Api::kChat};
  if (asked.has_value()) ways = {*asked};
  std::vector<std::string> refusals;
  for (const Api api : ways) {
    Target target{.url = url, .model = model, .api = api};
    const absl::Status status = Try(http, target, limits);
    if (status.ok()) return target;
    if (absl::IsCancelled(status)) return status;
    refusals.push_back(absl::StrCat("  ", PathOf(api), " with ", NameOf(api), ": ", status.message()));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(url, ": no streamed completion of \"", model, "\"\n", absl::StrJoin(refusals, "\n")));
}

}  // namespace foretoken::cli

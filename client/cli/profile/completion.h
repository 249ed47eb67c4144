// One streamed completion of the OpenAI API: what is asked, and what each event of the answer says.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_COMPLETION_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_COMPLETION_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"

namespace foretoken::cli {

// How prompts are sent.
enum class Api {
  kCompletions,  // /v1/completions with token ids: their number is exact
  kWords,        // /v1/completions with words: for endpoints that take no token ids
  kChat,         // /v1/chat/completions with words
};

// "/v1/completions".
const char* PathOf(Api api);

// Words for a number of tokens, as the endpoint's tokenizer and template count them.
struct PromptScale {
  double tokens_per_word = 1;
  double fixed_tokens = 0;  // of a template, and of a beginning-of-sequence token
};

struct Ask {
  std::string model;  // as the endpoint names it
  Api api = Api::kCompletions;
  PromptScale scale;      // of words
  int prompt_tokens = 1;  // 1 or more
  int output_tokens = 1;  // 1 or more; the endpoint is told to end neither before nor after
};

// The body of the request, JSON. Prompts are random, so that no two share a prefix that a cache could hold.
std::string BodyOf(const Ask& ask, absl::BitGenRef random);

// What one event says.
struct Event {
  bool done = false;   // "[DONE]": the last
  bool token = false;  // holds output: a role, a usage and a keep-alive do not
  std::optional<int> prompt_tokens;
  std::optional<int> output_tokens;
  std::optional<int> cached_tokens;  // of the prompt, from a prefix cache
};

// Errors: INVALID_ARGUMENT: not JSON, or no chunk of a completion; INTERNAL: the endpoint reports an error, in its
// words.
absl::StatusOr<Event> ReadEvent(std::string_view data);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_COMPLETION_H_

// What a client asks of the fake endpoint: the body of a request for a completion or a chat.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_REQUEST_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::fake {

struct AskedCompletion {
  std::string model;
  std::vector<int64_t> prompt;  // tokens
  int64_t max_tokens = 0;       // 0: not stated
  int64_t min_tokens = 0;
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;  // stream_options
};

// Each word of a text is `word_tokens` tokens. Errors: INVALID_ARGUMENT for what is no JSON, a prompt that is neither a
// text nor one array of tokens, and several choices.
absl::StatusOr<AskedCompletion> ParseCompletion(std::string body, bool chat, int64_t word_tokens);

// Hashes of the whole blocks of a prompt, each of all tokens up to its end.
std::vector<uint64_t> HashBlocks(const std::vector<int64_t>& prompt, int64_t block_tokens);

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_REQUEST_H_

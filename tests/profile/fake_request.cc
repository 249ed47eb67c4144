#include "tests/profile/fake_request.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdlib>
#include <functional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace foretoken::fake {
namespace {

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;

size_t SkipSpace(const std::string& text, size_t at) {
  while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

// Takes an array of tokens out of the body, because the JSON reader below takes microseconds for each number. Leaves
// the body as it is where the prompt is none.
std::vector<int64_t> CutTokens(std::string& body) {
  constexpr std::string_view kKey = "\"prompt\"";
  const size_t key = body.find(kKey);
  if (key == std::string::npos) return {};
  size_t at = SkipSpace(body, key + kKey.size());
  if (at >= body.size() || body[at] != ':') return {};
  const size_t begin = SkipSpace(body, at + 1);
  if (begin >= body.size() || body[begin] != '[') return {};
  std::vector<int64_t> tokens;
  for (at = SkipSpace(body, begin + 1);
       at < body.size() && absl::ascii_isdigit(static_cast<unsigned char>(body[at]));) {
    char* end = nullptr;
    tokens.push_back(std::strtoll(&body[at], &end, 10));
    at = SkipSpace(body, static_cast<size_t>(end - body.data()));
    if (at < body.size() && body[at] == ',') at = SkipSpace(body, at + 1);
  }
  if (at >= body.size() || body[at] != ']') return {};
  body.replace(begin, at + 1 - begin, "0");
  return tokens;
}

void AddWords(const std::string& text, int64_t word_tokens, std::vector<int64_t>& tokens) {
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
    const size_t token = std::hash<std::string_view>()({word.data(), word.size()}) % 100'000;
    tokens.insert(tokens.end(), static_cast<size_t>(word_tokens), static_cast<int64_t>(token));
  }
}

int64_t IntegerOf(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : static_cast<int64_t>(found->second.number_value());
}

bool BoolOf(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->second.bool_value();
}

std::string TextOf(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second.string_value();
}

absl::Status ReadPrompt(const Fields& fields, bool chat, int64_t word_tokens, std::vector<int64_t>& prompt) {
  if (!chat) {
    AddWords(TextOf(fields, "prompt"), word_tokens, prompt);
  } else if (const auto found = fields.find("messages"); found != fields.end()) {
    for (const auto& message : found->second.list_value().values()) {
      AddWords(TextOf(message.struct_value().fields(), "content"), word_tokens, prompt);
    }
  }
  if (!prompt.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(chat ? "messages: no text" : "prompt: neither a text nor one array of tokens");
}

}  // namespace

absl::StatusOr<AskedCompletion> ParseCompletion(std::string body, bool chat, int64_t word_tokens) {
  AskedCompletion asked;
  if (!chat) asked.prompt = CutTokens(body);
  google::protobuf::Struct parsed;
  if (!google::protobuf::util::JsonStringToMessage(body, &parsed).ok()) {
    return absl::InvalidArgumentError("the body is no JSON object");
  }
  const Fields& fields = parsed.fields();
  if (absl::Status read = ReadPrompt(fields, chat, word_tokens, asked.prompt); !read.ok()) return read;
  if (IntegerOf(fields, "n") > 1) return absl::InvalidArgumentError("n: allowed 1");
  asked.model = TextOf(fields, "model");
  asked.max_tokens = IntegerOf(fields, "max_tokens");
  if (chat && fields.contains("max_completion_tokens")) asked.max_tokens = IntegerOf(fields, "max_completion_tokens");
  asked.min_tokens = IntegerOf(fields, "min_tokens");
  asked.ignore_eos = BoolOf(fields, "ignore_eos");
  asked.stream = BoolOf(fields, "stream");
  if (const auto found = fields.find("stream_options"); found != fields.end()) {
    asked.include_usage = BoolOf(found->second.struct_value().fields(), "include_usage");
  }
  return asked;
}

std::vector<uint64_t> HashBlocks(const std::vector<int64_t>& prompt, int64_t block_tokens) {
  std::vector<uint64_t> hashes;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (size_t i = 0; i < prompt.size(); ++i) {
    hash = (hash ^ static_cast<uint64_t>(prompt[i])) * 1099511628211u;
    if (static_cast<int64_t>(i + 1) % block_tokens == 0) hashes.push_back(hash);
  }
  return hashes;
}

}  // namespace foretoken::fake

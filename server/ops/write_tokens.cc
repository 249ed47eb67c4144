#include "server/ops/write_tokens.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/digest.h"
#include "server/ops/log.h"

namespace foretoken::ops {
namespace {

constexpr size_t kShortest = 16;
constexpr size_t kLongest = 512;
constexpr uintmax_t kMostBytes = 1 << 20;
constexpr absl::string_view kBearer = "Bearer ";

struct Writer {
  std::string name;
  std::string digest;  // of the token: comparing digests reveals nothing about a token that is nearly right
};

absl::StatusOr<Writer> ReadLine(absl::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  const bool printable =
      std::all_of(line.begin(), line.end(), [](char c) { return absl::ascii_isprint(c) || c == '\t'; });
  if (printable && words.size() == 2 && words[1].size() >= kShortest && words[1].size() <= kLongest) {
    return Writer{words[0], catalog::Sha256Hex(words[1])};
  }
  return absl::UnavailableError(
      absl::StrCat("allowed: a name and a token of ", kShortest, " to ", kLongest, " printable characters"));
}

absl::StatusOr<std::vector<Writer>> ReadWriters(const std::string& path) {
  // What is no plain file may keep its reader waiting for ever.
  std::error_code error;
  const bool plain = std::filesystem::is_regular_file(path, error) && !error;
  std::ifstream file(plain ? path : std::string());
  if (!file) return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, " cannot be read as a file"));
  if (std::filesystem::file_size(path, error) > kMostBytes) {
    return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, "; allowed up to ", kMostBytes, " bytes"));
  }
  std::vector<Writer> writers;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    absl::StatusOr<Writer> writer = ReadLine(text);
    if (!writer.ok()) {
      return absl::UnavailableError(
          absl::StrCat("write_tokens_file ", path, " line ", number, ": ", writer.status().message()));
    }
    writers.push_back(*std::move(writer));
  }
  if (file.bad()) return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, " cannot be read"));
  return writers;
}

}  // namespace

absl::Status WriteTokens::Check() const { return ReadWriters(file_).status(); }

absl::StatusOr<std::string> WriteTokens::WriterOf(std::string_view authorization) const {
  const absl::string_view given(authorization.data(), authorization.size());
  if (!absl::StartsWithIgnoreCase(given, kBearer)) {
    return Refusal(Reason::kWriteNotAllowed, "",
                   "a write needs a token of this server in the metadata \"authorization\", as \"Bearer TOKEN\"; "
                   "found none");
  }
  const absl::StatusOr<std::vector<Writer>> writers = ReadWriters(file_);
  if (!writers.ok()) {
    // Where the file is and what is in it is not for whoever calls.
    Log(LogLevel::kError, "write_tokens_unavailable", {{"error", std::string(writers.status().message())}});
    return absl::UnavailableError("the server's file of write tokens cannot be used; its log tells why");
  }
  const absl::string_view token = absl::StripAsciiWhitespace(given.substr(kBearer.size()));
  const std::string digest = catalog::Sha256Hex({token.data(), token.size()});
  const Writer* found = nullptr;
  for (const Writer& writer : *writers) {
    if (CRYPTO_memcmp(writer.digest.data(), digest.data(), digest.size()) == 0) found = &writer;
  }
  if (found != nullptr) return found->name;
  return Refusal(Reason::kWriteNotAllowed, "", "the token in the metadata \"authorization\" is none of this server's");
}

}  // namespace foretoken::ops

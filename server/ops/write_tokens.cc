#include "server/ops/write_tokens.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/digest.h"
#include "server/ops/log.h"

namespace foretoken::ops {
namespace {

constexpr size_t kShortest = 16;
constexpr size_t kLongest = 512;
constexpr uintmax_t kMostBytes = 1 << 20;
constexpr absl::string_view kBearer = "Bearer ";
constexpr std::array<std::string_view, 3> kRoles = {"read", "write", "admin"};  // as Role

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// The role that a line states; write where it states none.
std::optional<Role> ReadRole(const std::vector<std::string>& words) {
  if (words.size() == 2) return Role::kWrite;
  const auto found = words.size() == 3 ? std::find(kRoles.begin(), kRoles.end(), words[2]) : kRoles.end();
  if (found == kRoles.end()) return std::nullopt;
  return static_cast<Role>(found - kRoles.begin());
}

// "TOKEN" of "Bearer TOKEN"; nothing where it is not that.
std::optional<std::string_view> TokenOf(std::string_view authorization) {
  const absl::string_view given = View(authorization);
  if (!absl::StartsWithIgnoreCase(given, kBearer)) return std::nullopt;
  const absl::string_view token = absl::StripAsciiWhitespace(given.substr(kBearer.size()));
  return std::string_view(token.data(), token.size());
}

}  // namespace

absl::StatusOr<WriteTokens::Line> WriteTokens::ReadLine(std::string_view line) {
  const std::vector<std::string> words = absl::StrSplit(View(line), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  const bool printable =
      std::all_of(line.begin(), line.end(), [](char c) { return absl::ascii_isprint(c) || c == '\t'; });
  const std::optional<Role> role = ReadRole(words);
  if (printable && role && words[1].size() >= kShortest && words[1].size() <= kLongest) {
    return Line{{words[0], *role}, catalog::Sha256Hex(words[1])};
  }
  return absl::UnavailableError(absl::StrCat("allowed: a name and a token of ", kShortest, " to ", kLongest,
                                             " printable characters, then nothing or a role: read, write, admin"));
}

absl::StatusOr<std::vector<WriteTokens::Line>> WriteTokens::ReadLines(const std::string& path) {
  // What is no plain file may keep its reader waiting for ever.
  std::error_code error;
  const bool plain = std::filesystem::is_regular_file(path, error) && !error;
  std::ifstream file(plain ? path : std::string());
  if (!file) return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, " cannot be read as a file"));
  if (std::filesystem::file_size(path, error) > kMostBytes) {
    return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, "; allowed up to ", kMostBytes, " bytes"));
  }
  std::vector<Line> lines;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text.empty() || text[0] == '#') continue;
    absl::StatusOr<Line> read = ReadLine({text.data(), text.size()});
    if (!read.ok()) {
      return absl::UnavailableError(
          absl::StrCat("write_tokens_file ", path, " line ", number, ": ", read.status().message()));
    }
    lines.push_back(*std::move(read));
  }
  if (file.bad()) return absl::UnavailableError(absl::StrCat("write_tokens_file ", path, " cannot be read"));
  return lines;
}

const WriteTokens::Line* WriteTokens::Find(const std::vector<Line>& lines, std::string_view token) {
  const std::string digest = catalog::Sha256Hex(token);
  const Line* found = nullptr;
  for (const Line& line : lines) {
    if (CRYPTO_memcmp(line.digest.data(), digest.data(), digest.size()) == 0) found = &line;
  }
  return found;
}

absl::Status WriteTokens::Check() const { return ReadLines(file_).status(); }

absl::StatusOr<std::string> WriteTokens::WriterOf(std::string_view authorization) const {
  const std::optional<std::string_view> token = TokenOf(authorization);
  if (!token) {
    return Refusal(Reason::kWriteNotAllowed, "",
                   "a write needs a token of this server in the metadata \"authorization\", as \"Bearer TOKEN\"; "
                   "found none");
  }
  const absl::StatusOr<std::vector<Line>> lines = ReadLines(file_);
  if (!lines.ok()) {
    // Where the file is and what is in it is not for whoever calls.
    Log(LogLevel::kError, "write_tokens_unavailable", {{"error", std::string(lines.status().message())}});
    return absl::UnavailableError("the server's file of write tokens cannot be used; its log tells why");
  }
  const Line* found = Find(*lines, *token);
  if (found == nullptr) {
    return Refusal(Reason::kWriteNotAllowed, "",
                   "the token in the metadata \"authorization\" is none of this server's");
  }
  if (found->owner.role >= Role::kWrite) return found->owner.name;
  return Refusal(Reason::kWriteNotAllowed, "",
                 "the token in the metadata \"authorization\" has the role read; a write needs the role write");
}

std::optional<TokenOwner> WriteTokens::OwnerOf(std::string_view authorization) const {
  const std::optional<std::string_view> token = TokenOf(authorization);
  if (!token) return std::nullopt;
  const absl::Time now = absl::Now();
  int64_t next_look = next_look_ns_.load(std::memory_order_relaxed);
  // One caller looks, the others go on with what is there.
  if (absl::ToUnixNanos(now) >= next_look &&
      next_look_ns_.compare_exchange_strong(next_look, absl::ToUnixNanos(now + kLookAgain))) {
    LookAgain();
  }
  absl::ReaderMutexLock lock(&mutex_);
  const Line* found = Find(lines_, *token);
  return found != nullptr ? std::optional(found->owner) : std::nullopt;
}

WriteTokens::Stamp WriteTokens::StampOfFile() const {
  struct stat found;
  if (stat(file_.c_str(), &found) != 0) return {};
  return {.modified_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec,
          .inode = found.st_ino,
          .bytes = found.st_size};
}

void WriteTokens::LookAgain() const {
  const Stamp stamp = StampOfFile();  // before the reading: a change during it is read the next time
  {
    absl::ReaderMutexLock lock(&mutex_);
    if (stamp == stamp_) return;
  }
  absl::StatusOr<std::vector<Line>> lines = ReadLines(file_);
  absl::MutexLock lock(&mutex_);
  stamp_ = stamp;
  if (lines.ok()) {
    lines_ = *std::move(lines);
  } else {
    Log(LogLevel::kError, "write_tokens_unavailable", {{"error", std::string(lines.status().message())}});
  }
}

}  // namespace foretoken::ops

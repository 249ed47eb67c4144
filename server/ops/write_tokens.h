// The tokens that allow calls: who may read, who may write, who may see what concerns operators alone.
#ifndef FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_
#define FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace foretoken::ops {

// Each may do what those before it may.
enum class Role {
  kRead,   // ask
  kWrite,  // register, delete and roll back; see who wrote what
  kAdmin,  // see where the server keeps its store, and why the store fails
};

// Whose a token is.
struct TokenOwner {
  std::string name;
  Role role = Role::kWrite;
};

// A file of bearer tokens, up to 1 MiB, one caller a line:
//   NAME TOKEN [ROLE]
// TOKEN has 16 to 512 printable characters. ROLE is read, write or admin; absent: write. Spaces separate them. Empty
// lines and lines that begin with '#' are skipped. Thread-safe.
class WriteTokens {
 public:
  explicit WriteTokens(std::string file) : file_(std::move(file)) {}

  // Errors: UNAVAILABLE: the file cannot be read, or a line is malformed.
  absl::Status Check() const;

  // The name of the writer whose token `authorization` bears: "Bearer TOKEN". The file is read each time, so that a
  // change counts at once. Errors: kWriteNotAllowed: no token, none of the file's, or one whose role is to read;
  // UNAVAILABLE: the file cannot be used; the log says why.
  absl::StatusOr<std::string> WriterOf(std::string_view authorization) const;

  // Whose token `authorization` bears; nothing: nobody's. For every call: from memory, which follows the file within
  // kLookAgain. While the file cannot be used, what it held last counts.
  std::optional<TokenOwner> OwnerOf(std::string_view authorization) const;
  static constexpr absl::Duration kLookAgain = absl::Seconds(1);

 private:
  struct Line {
    TokenOwner owner;
    std::string digest;  // of the token: comparing digests reveals nothing about a token that is nearly right
  };
  // Which state of the file was read.
  struct Stamp {
    int64_t modified_ns = 0;
    uint64_t inode = 0;
    int64_t bytes = -1;
    bool operator==(const Stamp&) const = default;
  };

  static absl::StatusOr<Line> ReadLine(std::string_view line);
  static absl::StatusOr<std::vector<Line>> ReadLines(const std::string& path);
  static const Line* Find(const std::vector<Line>& lines, std::string_view token);
  Stamp StampOfFile() const;
  void LookAgain() const;

  const std::string file_;
  mutable absl::Mutex mutex_;
  mutable std::vector<Line> lines_ ABSL_GUARDED_BY(mutex_);
  mutable Stamp stamp_ ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<int64_t> next_look_ns_{0};
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_

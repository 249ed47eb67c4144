// The tokens that allow writes to the catalog.
#ifndef FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_
#define FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace foretoken::ops {

// A file of bearer tokens of up to 1 MiB, one writer a line: a name, spaces, a token of 16 to 512 printable characters.
// Empty lines and lines that begin with '#' are skipped. The file is read at every write, so that a change counts at
// once.
// Thread-safe.
class WriteTokens {
 public:
  explicit WriteTokens(std::string file) : file_(std::move(file)) {}

  // Errors: UNAVAILABLE: the file cannot be read, or a line is malformed.
  absl::Status Check() const;

  // The name of the writer whose token `authorization` bears: "Bearer TOKEN". Errors: kWriteNotAllowed; UNAVAILABLE:
  // the file cannot be used; the log says why.
  absl::StatusOr<std::string> WriterOf(std::string_view authorization) const;

 private:
  std::string file_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_WRITE_TOKENS_H_

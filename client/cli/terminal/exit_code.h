// What the command line answers to its caller. Documented in docs/cli.md and `foretoken --help`.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_

#include "absl/status/status.h"

namespace foretoken::cli {

enum ExitCode {
  kOk = 0,
  kNo = 1,                  // the answer is no: an SLO is missed, nothing could be estimated, rows are malformed
  kUsage = 2,               // wrong flags or INVALID_ARGUMENT
  kNotFound = 3,            // NOT_FOUND
  kFailedPrecondition = 4,  // FAILED_PRECONDITION: it does not fit, a figure is absent, no profile
  kUnavailable = 5,         // UNAVAILABLE, DEADLINE_EXCEEDED
  kConflict = 6,            // ALREADY_EXISTS, ABORTED: the etag or id is taken
  kNotModelled = 7,         // UNIMPLEMENTED
  kDenied = 8,              // PERMISSION_DENIED, UNAUTHENTICATED
  kExhausted = 9,           // RESOURCE_EXHAUSTED, OUT_OF_RANGE
  kInternal = 10,           // everything else
  kNotWritten = 11,         // standard output cannot be written, whatever the answer
  kInterrupted = 130,       // Ctrl-C
};

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_

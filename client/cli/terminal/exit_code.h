// Exit codes of the command line: one table that gives a status its code and prints the codes of `foretoken --help`.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_

#include <string>

#include "absl/status/status.h"

namespace foretoken::cli {

// What each code means stands in the table of exit_code.cc.
enum ExitCode {
  kOk = 0,
  kNo = 1,
  kUsage = 2,
  kNotFound = 3,
  kFailedPrecondition = 4,
  kUnavailable = 5,
  kConflict = 6,
  kNotModelled = 7,
  kDenied = 8,
  kExhausted = 9,
  kInternal = 10,
  kNotWritten = 11,
  kInterrupted = 130,
};

// The code of a failed call; kInternal for a status that the table does not name.
ExitCode ExitCodeOf(const absl::Status& status);

// A line for each code: "  3    NOT_FOUND".
std::string ExitCodeHelp();

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_EXIT_CODE_H_

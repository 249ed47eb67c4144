#include "client/cli/terminal/exit_code.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace foretoken::cli {
namespace {

using Code = absl::StatusCode;

struct Row {
  ExitCode exit_code;
  std::vector<Code> codes;  // of a failed call
  const char* meaning;      // what the names of the codes do not say; may be empty
};

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
      {kOk, {Code::kOk}, "the answer is there"},
      {kNo,
       {},
       "the answer is no: the SLO is missed, nothing could be estimated, nothing is listed, rows cannot be read, the "
       "server does not serve"},
      {kUsage, {Code::kInvalidArgument}, "or flags that cannot be read"},
      {kNotFound, {Code::kNotFound}, ""},
      {kFailedPrecondition, {Code::kFailedPrecondition}, "out of memory, a missing spec or profile, an unstable load"},
      {kUnavailable, {Code::kUnavailable, Code::kDeadlineExceeded}, ""},
      {kConflict, {Code::kAlreadyExists, Code::kAborted}, "the id is taken, or the etag is not the current one"},
      {kNotModelled, {Code::kUnimplemented}, "not modelled"},
      {kDenied, {Code::kPermissionDenied, Code::kUnauthenticated}, ""},
      {kExhausted,
       {Code::kResourceExhausted, Code::kOutOfRange},
       "a limit of the server is exceeded, or the revision is no longer kept"},
      {kInternal, {}, "any other status"},
      {kNotWritten, {}, "standard output cannot be written (disk full, closed), whatever the answer is"},
      {kInterrupted, {Code::kCancelled}, "interrupted by Ctrl-C"},
  };
  return rows;
}

// "ALREADY_EXISTS or ABORTED: the id is taken"; success and Ctrl-C are described by their meaning alone.
std::string Describe(const Row& row) {
  const bool named = !row.codes.empty() && row.exit_code != kOk && row.exit_code != kInterrupted;
  if (!named) return row.meaning;
  const std::string names =
      absl::StrJoin(row.codes, " or ", [](std::string* out, Code code) { *out += absl::StatusCodeToString(code); });
  return *row.meaning == '\0' ? names : names + ": " + row.meaning;
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  for (const Row& row : Rows()) {
    for (const Code code : row.codes) {
      if (code == status.code()) return row.exit_code;
    }
  }
  return kInternal;
}

std::string ExitCodeHelp() {
  std::string help;
  for (const Row& row : Rows()) help += absl::StrFormat("  %-4d %s\n", row.exit_code, Describe(row));
  return help;
}

}  // namespace foretoken::cli

#include "client/cli/terminal/exit_code.h"

namespace foretoken::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kOk;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    case absl::StatusCode::kNotFound:
      return kNotFound;
    case absl::StatusCode::kFailedPrecondition:
      return kFailedPrecondition;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kUnavailable;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return kConflict;
    case absl::StatusCode::kUnimplemented:
      return kNotModelled;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kDenied;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kOutOfRange:
      return kExhausted;
    case absl::StatusCode::kCancelled:
      return kInterrupted;
    default:
      return kInternal;
  }
}

}  // namespace foretoken::cli

// Why a request is refused: one vocabulary from the innermost function to the wire.
//
// A refusal is an absl::Status whose code follows from its reason and whose payload names the field at fault, so that
// the server can attach google.rpc.ErrorInfo and BadRequest without parsing messages. Messages say what was requested,
// what was found and what is allowed: "tensor_parallel 0; allowed 1 to 1024".
#ifndef FORETOKEN_ESTIMATOR_BASE_ERRORS_H_
#define FORETOKEN_ESTIMATOR_BASE_ERRORS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace foretoken {

// Same order and numbers as foretoken.v1.Reason.
enum class Reason {
  kUnspecified,
  kInvalidField,
  kUnknownId,
  kOutOfMemory,
  kMissingFigure,
  kUnsupportedModel,
  kNotModelled,
  kNoProfile,
  kLimitExceeded,
  kAlreadyExists,
  kEtagMismatch,
  kRequestIdReused,
  kBundledEntry,
  kStoreUnavailable,
  kInsufficientSamples,
  kUnstableLoad,
  kPoorFit,
  kRevisionNotKept,
  kWriteNotAllowed,
  kOverloaded,
};

// A field at fault: its path ("workload.batch_size") and what is wrong with it.
struct FieldViolation {
  std::string field;
  std::string description;
};

// The part of a refusal that programs read, beside its code and message.
struct RefusalDetail {
  Reason reason = Reason::kUnspecified;
  std::vector<FieldViolation> violations;
  std::string current_etag;  // kEtagMismatch only
};

// "OUT_OF_MEMORY": the name without prefix, as in ErrorInfo.reason.
std::string_view ReasonName(Reason reason);

// The status code of a reason, as foretoken.v1.Reason documents it.
absl::StatusCode CodeOf(Reason reason);

// A refusal about one field; field may be empty where none is at fault. The message is the description too.
absl::Status Refusal(Reason reason, std::string_view field, std::string_view message);

// INVALID_ARGUMENT with every violation; the message states the first five. OK where there are none.
absl::Status InvalidFields(const std::vector<FieldViolation>& violations);

// A refusal with all its detail.
absl::Status RefusalWithDetail(std::string_view message, const RefusalDetail& detail);

// The detail of a refusal; empty for any other status.
RefusalDetail DetailOf(const absl::Status& status);

// The same refusal with `prefix` put before every field path ("scenario." + "workload.batch_size").
absl::Status WithFieldPrefix(const absl::Status& status, std::string_view prefix);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_ERRORS_H_

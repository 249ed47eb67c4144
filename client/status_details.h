// Details of a refusal: the reason and the fields at fault, beside code and message.
//
// Every error of a Client is an absl::Status that carries the google.rpc.Status of the wire as a payload. Its message
// and the texts of its details are printable (client/printable.h): what may not be shown stands there as its code. The
// payload is as it came.
//
//   absl::Status status = client.Estimate(request).status();
//   ErrorDetails details = DetailsOf(status);
//   if (details.reason == "OUT_OF_MEMORY") ...
#ifndef FORETOKEN_CLIENT_STATUS_DETAILS_H_
#define FORETOKEN_CLIENT_STATUS_DETAILS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace google::rpc {
class Status;
}

namespace foretoken::client {

// A field of the request that is at fault.
struct FieldError {
  std::string path;         // "scenario.workload.batch_size"
  std::string description;  // "batch_size 0; allowed 1 to 1000000"
};

// google.rpc.ErrorInfo and google.rpc.BadRequest of a status; empty if the server sent none.
struct ErrorDetails {
  std::string reason;  // a name of foretoken.v1.Reason without its prefix: "UNKNOWN_ID"
  std::map<std::string, std::string> metadata;
  std::vector<FieldError> fields;
};

// Converts a google.rpc.Status; the whole of it becomes the payload.
absl::Status FromProto(const google::rpc::Status& status);

// The status of a call: `details` is the serialised google.rpc.Status that came with it; empty if none came.
absl::Status FromWire(int code, std::string_view message, std::string_view details);

// The details of a status; empty for a status without a payload.
ErrorDetails DetailsOf(const absl::Status& status);

// "NOT_FOUND"; "code 99" for a code without a name.
std::string CodeName(absl::StatusCode code);

// For people, without a final newline: the message with its code and reason, then one line per field. A field's
// description is left out if it repeats the message.
//
//   unknown model "llama-3.1-70x"; did you mean llama-3.1-70b, llama-3.3-70b, llama-3-70b? (NOT_FOUND, UNKNOWN_ID)
//     field scenario.model_id
std::string Describe(const absl::Status& status);

// The same on one line, for a table cell.
std::string DescribeInLine(const absl::Status& status);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_STATUS_DETAILS_H_

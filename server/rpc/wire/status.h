// Turns a status of ours into what a caller receives: code, message, and google.rpc details. No other place does.
//
// Details: RetryInfo where the refused call may come again, ErrorInfo {reason: a name of foretoken.v1.Reason, domain
// "foretoken.v1"}, with "current_etag" in its metadata where there is one, and BadRequest with every field at fault.
// Both travel in HTTP/2 trailers, which peers limit to 8 KiB. Long texts are therefore cut at the end of a character
// and marked, and a last violation counts those past the limit.
#ifndef FORETOKEN_SERVER_RPC_WIRE_STATUS_H_
#define FORETOKEN_SERVER_RPC_WIRE_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace foretoken::rpc {

inline constexpr size_t kMaxMessageBytes = 1024;  // of a status
inline constexpr size_t kMaxDetailBytes = 2816;   // of a serialised BadRequest

// As a message, for results that carry their own status.
google::rpc::Status ToRpcStatus(const absl::Status& status);

// As the end of a call.
grpc::Status ToGrpcStatus(const absl::Status& status);

// `text`, or its beginning with " ... (cut)" where it is longer than `limit` bytes; never ends inside a character.
std::string Truncate(std::string_view text, size_t limit);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_STATUS_H_

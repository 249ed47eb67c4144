// What every call over gRPC has: headers, and a status that says what its end means to the caller.
#ifndef FORETOKEN_CLIENT_GRPC_CALL_H_
#define FORETOKEN_CLIENT_GRPC_CALL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace foretoken::client {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// The status of a call that this process did not cancel. A server that ends drops the calls that it has not read yet,
// and gRPC reports those as CANCELLED. Such a call was never begun, so it is UNAVAILABLE here: another try may succeed.
absl::Status FromCall(const grpc::Status& status);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_GRPC_CALL_H_

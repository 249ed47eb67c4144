#include "client/grpc_call.h"

#include "client/status_details.h"

namespace foretoken::client {

absl::Status FromCall(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::UnavailableError("the server or a proxy dropped the call; this happens while a server ends");
  }
  return FromWire(status.error_code(), status.error_message(), status.error_details());
}

}  // namespace foretoken::client

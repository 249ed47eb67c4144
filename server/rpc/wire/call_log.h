// What the log tells of a call: faults of the server or its store and every write, and of the others the share that
// --log_calls asks for. A line has the call's request id and its trace, so that it can be found from the caller's side.
#ifndef FORETOKEN_SERVER_RPC_WIRE_CALL_LOG_H_
#define FORETOKEN_SERVER_RPC_WIRE_CALL_LOG_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "server/ops/rpcs.h"

namespace foretoken::rpc {

// The share of calls that is logged from now on, 0 to 1. 0 before the first call.
void SetLoggedShare(double share);

// The trace's and the caller's span's ids of a W3C traceparent, "00-TRACE-SPAN-FLAGS". Empty: it is none.
std::string_view TraceOf(std::string_view traceparent);

// Called once at the end of a call. Costs a comparison where nothing is to be logged.
void LogCall(const grpc::CallbackServerContext& context, const ops::Rpc& rpc, const absl::Status& status,
             std::chrono::nanoseconds time);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_CALL_LOG_H_

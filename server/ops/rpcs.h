// The RPCs of the API as the descriptors of its services state them: names, streaming, and which ones write. A new RPC
// of a .proto file is counted, logged and guarded without a word here.
#ifndef FORETOKEN_SERVER_OPS_RPCS_H_
#define FORETOKEN_SERVER_OPS_RPCS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace foretoken::ops {

struct Rpc {
  size_t index = 0;       // in AllRpcs()
  std::string service;    // "foretoken.v1.EstimatorService"
  std::string method;     // "Estimate"
  std::string_view type;  // "unary", "server_stream": as gRPC dashboards spell it
  bool writes = true;     // unless the method has the option idempotency_level = NO_SIDE_EFFECTS
};

// Every RPC, by service and in order of declaration.
const std::vector<Rpc>& AllRpcs();

// The names of the services, in the order of AllRpcs().
std::vector<std::string> ServiceNames();

// The RPC that takes this message. REQUIRES: there is one. Each RPC has a request message of its own.
const Rpc& RpcOf(const google::protobuf::Descriptor& request);

// The same, looked up once.
template <typename Request>
const Rpc& RpcOf() {
  static const Rpc& rpc = RpcOf(*Request::descriptor());
  return rpc;
}

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_RPCS_H_

#include "server/ops/rpcs.h"

#include <cstdlib>

#include "foretoken/v1/catalog_service.pb.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "google/protobuf/descriptor.pb.h"

namespace foretoken::ops {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::MethodOptions;
using google::protobuf::ServiceDescriptor;

std::vector<const MethodDescriptor*> AllMethods() {
  std::vector<const MethodDescriptor*> methods;
  for (const auto* file :
       {v1::EstimateRequest::descriptor()->file(), v1::RegisterHardwareRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      const ServiceDescriptor& service = *file->service(s);
      for (int m = 0; m < service.method_count(); ++m) methods.push_back(service.method(m));
    }
  }
  return methods;
}

std::string_view TypeOf(const MethodDescriptor& method) {
  if (method.client_streaming()) return method.server_streaming() ? "bidi_stream" : "client_stream";
  return method.server_streaming() ? "server_stream" : "unary";
}

std::vector<Rpc> ReadRpcs() {
  std::vector<Rpc> rpcs;
  for (const MethodDescriptor* method : AllMethods()) {
    rpcs.push_back({.index = rpcs.size(),
                    .service = method->service()->full_name(),
                    .method = method->name(),
                    .type = TypeOf(*method),
                    .writes = method->options().idempotency_level() != MethodOptions::NO_SIDE_EFFECTS});
  }
  return rpcs;
}

}  // namespace

const std::vector<Rpc>& AllRpcs() {
  static const auto& rpcs = *new std::vector<Rpc>(ReadRpcs());
  return rpcs;
}

std::vector<std::string> ServiceNames() {
  std::vector<std::string> names;
  for (const Rpc& rpc : AllRpcs()) {
    if (names.empty() || names.back() != rpc.service) names.push_back(rpc.service);
  }
  return names;
}

const Rpc& RpcOf(const google::protobuf::Descriptor& request) {
  const std::vector<const MethodDescriptor*> methods = AllMethods();
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i]->input_type() == &request) return AllRpcs()[i];
  }
  std::abort();  // a handler of a message that no RPC takes does not compile against the generated services
}

}  // namespace foretoken::ops

#include "server/ops/grpc_server.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/impl/server_builder_plugin.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "server/ops/rpcs.h"

namespace foretoken::ops {
namespace {

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

bool IsSocket(absl::string_view address) { return absl::StartsWith(address, "unix:"); }

// Takes out the plugin of server reflection, which gRPC puts into every server of a program that links it.
class NoReflection : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

// The descriptors of the health service, which gRPC itself serves without them, are in this program then, so that
// reflection finds them.
void DescribeHealth() { grpc::health::v1::HealthCheckRequest::descriptor(); }

void SetConnectionLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(options.min_ping_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  if (options.max_connection_age == absl::ZeroDuration()) return;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(options.max_connection_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(options.max_connection_age_grace));
}

void SetLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  SetConnectionLimits(options, builder);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error, not a rival
  builder.SetResourceQuota(grpc::ResourceQuota("foretokend").Resize(static_cast<size_t>(options.memory_bytes)));
}

// An address and the port that gRPC picked for it; 0: it could not listen there.
struct Listener {
  std::string address;
  int port = 0;
};

// REQUIRES: the listeners stay where they are until the server was built.
std::vector<Listener> AddListeners(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  std::vector<Listener> listeners;
  for (const absl::string_view address : absl::StrSplit(options.listen, ',', absl::SkipEmpty())) {
    listeners.push_back({.address = std::string(address)});
  }
  for (Listener& listener : listeners) {
    const bool plain = options.credentials == nullptr || IsSocket(listener.address);
    builder.AddListeningPort(listener.address, plain ? grpc::InsecureServerCredentials() : options.credentials,
                             &listener.port);
  }
  return listeners;
}

std::string BoundAddress(const Listener& listener) {
  if (IsSocket(listener.address)) return listener.address;
  return absl::StrCat(listener.address.substr(0, listener.address.rfind(':')), ":", listener.port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  DescribeHealth();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (!options.reflection) builder.SetOption(std::make_unique<NoReflection>());
  SetLimits(options, builder);
  const std::vector<Listener> listeners = AddListeners(options, builder);
  for (grpc::Service* service : services) builder.RegisterService(service);
  auto server = std::unique_ptr<GrpcServer>(new GrpcServer(ServiceNames()));
  server->server_ = builder.BuildAndStart();
  for (const Listener& listener : listeners) {
    if (server->server_ != nullptr && listener.port != 0) continue;
    return absl::UnavailableError(absl::StrCat("listen ", options.listen, ": cannot listen on ",
                                               listeners.size() == 1 ? "it" : "all of them", "; is the port taken?"));
  }
  server->address_ =
      absl::StrJoin(listeners, ",", [](std::string* out, const Listener& listener) { *out += BoundAddress(listener); });
  server->SetServing(false);
  return server;
}

void GrpcServer::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const std::string& name : names_) health->SetServingStatus(name, serving);
  health->SetServingStatus("", serving);
}

void GrpcServer::SetServing(const std::string& name, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(name, serving);
}

void GrpcServer::Drain(absl::Duration timeout, absl::Duration grace) {
  absl::call_once(drained_, [this, timeout, grace] {
    SetServing(false);
    absl::SleepFor(grace);
    server_->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
    server_->Wait();
  });
}

std::shared_ptr<grpc::Channel> GrpcServer::InProcessChannel() {
  return server_->InProcessChannel(grpc::ChannelArguments());
}

}  // namespace foretoken::ops

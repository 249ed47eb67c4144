#include "server/ops/grpc_server.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "server/ops/rpcs.h"

namespace foretoken::ops {
namespace {

constexpr int kMinPingIntervalMs = 10'000;  // a client that pings more often is cut off
constexpr int kKeepaliveTimeMs = 60'000;    // an idle connection is pinged, so that a dead peer is noticed
constexpr int kKeepaliveTimeoutMs = 20'000;

void SetLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error, not a rival
  builder.SetResourceQuota(grpc::ResourceQuota("foretokend").Resize(static_cast<size_t>(options.memory_bytes)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(options, builder);
  int port = 0;
  const auto credentials = options.credentials ? options.credentials : grpc::InsecureServerCredentials();
  if (!options.listen.empty()) builder.AddListeningPort(options.listen, credentials, &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  auto server = std::unique_ptr<GrpcServer>(new GrpcServer(ServiceNames()));
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || (!options.listen.empty() && port == 0)) {
    return absl::UnavailableError(absl::StrCat("listen ", options.listen, ": cannot listen there; is the port taken?"));
  }
  const bool has_port = absl::string_view(options.listen).substr(0, 5) != "unix:" && !options.listen.empty();
  server->address_ =
      has_port ? absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", port) : options.listen;
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

void GrpcServer::Drain(absl::Duration timeout) {
  absl::call_once(drained_, [this, timeout] {
    SetServing(false);
    server_->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
    server_->Wait();
  });
}

std::shared_ptr<grpc::Channel> GrpcServer::InProcessChannel() {
  return server_->InProcessChannel(grpc::ChannelArguments());
}

}  // namespace foretoken::ops

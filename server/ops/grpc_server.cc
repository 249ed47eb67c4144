#include "server/ops/grpc_server.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/impl/server_builder_plugin.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "server/ops/call_context.h"
#include "server/ops/descriptors.h"
#include "server/ops/log.h"
#include "server/ops/rpcs.h"

namespace foretoken::ops {
namespace {

constexpr int kMaxPingStrikes = 2;          // pings that come too early, then the connection ends
constexpr int kMaxMetadataBytes = 8 << 10;  // of one frame of headers; gRPC 1.51 has no limit for several

// Shares of the memory limit. What gRPC counts (read buffers, calls, headers) takes about twice as much in fact.
constexpr int64_t kShareOfTransport = 4;
constexpr int64_t kShareOfHeld = 4;

int Milliseconds(absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); }

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

// A compressed message is refused as UNIMPLEMENTED before it is inflated: gRPC 1.51 inflates first and measures after.
void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
}

void SetLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  SetConnectionLimits(options, builder);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  RefuseCompression(builder);
  const int64_t quota = options.memory_limit / kShareOfTransport;
  builder.SetResourceQuota(grpc::ResourceQuota("foretokend").Resize(static_cast<size_t>(quota)));
}

void LogGuard(std::string_view event, const std::string& detail) {
  Log(LogLevel::kWarning, event, {{"detail", detail}});
}

// As an operator would: the process drains, and its supervisor starts it again.
void AskToEnd() { kill(getpid(), SIGTERM); }

}  // namespace

GrpcServer::GrpcServer(std::vector<std::string> names, int64_t memory_limit)
    : names_(std::move(names)), held_(memory_limit / kShareOfHeld) {}

GrpcServer::~GrpcServer() {
  Drain(absl::ZeroDuration());
  watch_.reset();  // it may end calls of the server
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                              const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  DescribeHealth();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto server = std::unique_ptr<GrpcServer>(new GrpcServer(ServiceNames(), options.memory_limit));
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  grpc::ServerBuilder builder;
  if (!options.reflection) builder.SetOption(std::make_unique<NoReflection>());
  SetLimits(options, builder);
  builder.SetContextAllocator(std::make_unique<HoldingContexts>(&server->held_));
  server->AddAcceptors(options, builder);
  for (grpc::Service* service : services) builder.RegisterService(service);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return absl::UnavailableError("gRPC cannot start; its log says why");
  server->SetServing(false);
  server->Accept(options);
  return server;
}

absl::Status GrpcServer::Listen(const GrpcServerOptions& options) {
  if (options.listen.empty()) return absl::OkStatus();
  auto listener =
      guard::Listener::Open({.address = options.listen,
                             .max_connections = std::min(options.max_connections, DescriptorsForConnections()),
                             .max_connections_per_address = options.max_connections_per_address});
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  address_ = listener_->address();
  return absl::OkStatus();
}

void GrpcServer::AddAcceptors(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  if (listener_ == nullptr) return;
  const auto add = [&builder](const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        credentials ? credentials : grpc::InsecureServerCredentials());
  };
  acceptor_ = add(options.credentials);
  socket_acceptor_ = add(nullptr);
}

void GrpcServer::Accept(const GrpcServerOptions& options) {
  if (listener_ == nullptr) return;
  watch_ = std::make_unique<guard::MemoryWatch>(guard::MemoryWatch::Options{.limit_bytes = options.memory_limit,
                                                                            .held = &held_,
                                                                            .listener = listener_.get(),
                                                                            .tell = LogGuard,
                                                                            .give_up = AskToEnd});
  watch_->Start();
  listener_->Start([this](int listener_fd, int fd, bool is_socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_fd;
    connection.fd = fd;
    (is_socket ? socket_acceptor_ : acceptor_)->HandleNewConnection(&connection);
  });
}

GrpcServer::Guards GrpcServer::guards() const {
  Guards guards = {.held_bytes = held_.bytes(), .held_refused = held_.refused(), .held_cancelled = held_.cancelled()};
  if (listener_ == nullptr) return guards;
  guards.memory_limit_bytes = watch_->limit_bytes();
  guards.memory_short = watch_->is_short();
  guards.cut_connections = watch_->cut_connections();
  guards.connections = listener_->connections();
  guards.refused_connections = listener_->refused();
  return guards;
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
    if (server_ == nullptr) return;
    SetServing(false);
    absl::SleepFor(grace);
    if (listener_ != nullptr) listener_->Stop();
    server_->Shutdown(absl::ToChronoTime(absl::Now() + timeout));
    server_->Wait();
  });
}

std::shared_ptr<grpc::Channel> GrpcServer::InProcessChannel() {
  return server_->InProcessChannel(grpc::ChannelArguments());
}

}  // namespace foretoken::ops

#include "client/client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/grpc_call.h"
#include "client/grpc_sweep.h"
#include "client/request_text.h"
#include "client/status_details.h"
#include "foretoken/v1/catalog_service.grpc.pb.h"
#include "foretoken/v1/estimator_service.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace foretoken::client {
namespace {

using HealthService = grpc::health::v1::Health;
using EstimatorStub = v1::EstimatorService::StubInterface;
using CatalogStub = v1::CatalogService::StubInterface;

// A batch of 1,000 estimates with operators exceeds the 4 MiB that gRPC allows by default.
constexpr int kMaxReceiveBytes = 64 << 20;
// By default gRPC waits a second before it reconnects, longer than the client waits before a retry.
constexpr int kReconnectBackoffMs = 50;
constexpr int kConnectTimeoutMs = 5'000;  // of one attempt: with little CPU time the handshake takes long

// For replicas: in turn, and none whose health service does not say SERVING.
constexpr char kInTurn[] = R"({"loadBalancingConfig": [{"round_robin": {}}],
                              "healthCheckConfig": {"serviceName": "foretoken.v1.EstimatorService"}})";

// Whether a server's name may stand for several.
bool IsSeveral(const std::string& server) {
  return server.starts_with("dns:") || server.starts_with("ipv4:") || server.starts_with("ipv6:");
}

// One call: blocks, retries, translates the status.
template <typename Stub, typename Request, typename Response>
absl::StatusOr<Response> Call(Stub& stub, grpc::Status (Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                              const Request& request, const RetryLoop& retry, const Metadata& metadata) {
  Response response;
  const absl::Status status = CallWithRetry(retry, [&] {
    grpc::ClientContext context;
    if (retry.deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(retry.deadline));
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    return FromCall((stub.*rpc)(&context, request, &response));
  });
  if (!status.ok()) return NameUnsendable(status, request);
  return response;
}

// Drops the characters that a header cannot hold, because gRPC ends a process that sends them.
ClientOptions Sendable(ClientOptions options) {
  for (std::string* text : {&options.author, &options.write_token}) {
    std::erase_if(*text, [](char c) { return c < ' ' || c >= 0x7f; });
  }
  return options;
}

Metadata CallerOf(const ClientOptions& options) {
  Metadata metadata;
  if (!options.write_token.empty())
    metadata.emplace_back("authorization", absl::StrCat("Bearer ", options.write_token));
  return metadata;
}

Metadata WriterOf(const ClientOptions& options) {
  Metadata metadata = CallerOf(options);
  if (!options.author.empty()) metadata.emplace_back("foretoken-author", options.author);
  return metadata;
}

RetryLoop Loop(const ClientOptions& options, absl::Duration timeout, bool repeatable) {
  return {.policy = options.retry, .repeatable = repeatable, .deadline = absl::Now() + timeout, .sleep = options.sleep};
}

RetryLoop Read(const ClientOptions& options) { return Loop(options, options.timeout, true); }

template <typename Request>
RetryLoop Write(const ClientOptions& options, const Request& request) {
  return Loop(options, options.timeout, !request.request_id().empty());
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file && !contents.str().empty()) return contents.str();
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
}

std::shared_ptr<grpc::ChannelInterface> DialWith(const std::string& server,
                                                 const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                                 bool encrypted) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceiveBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectBackoffMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);  // gRPC's name for the connect timeout
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, encrypted ? 1 : 0);         // a proxy could read plain text
  if (IsSeveral(server)) arguments.SetServiceConfigJSON(kInTurn);
  return grpc::CreateCustomChannel(server, credentials, arguments);
}

}  // namespace

std::shared_ptr<grpc::ChannelInterface> Dial(const std::string& server) {
  return DialWith(server, grpc::InsecureChannelCredentials(), /*encrypted=*/false);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Dial(const std::string& server, const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty() || (files.ca.empty() && !files.key.empty())) {
    return absl::InvalidArgumentError("a client's certificate goes with its key and the server's authorities");
  }
  if (files.ca.empty()) return Dial(server);
  const absl::StatusOr<std::string> ca = ReadPem(files.ca), certificate = ReadPem(files.certificate);
  const absl::StatusOr<std::string> key = ReadPem(files.key);
  for (const auto* pem : {&ca, &certificate, &key}) {
    if (!pem->ok()) return pem->status();
  }
  return DialWith(
      server, grpc::SslCredentials({.pem_root_certs = *ca, .pem_private_key = *key, .pem_cert_chain = *certificate}),
      /*encrypted=*/true);
}

struct Client::Stubs {
  std::unique_ptr<EstimatorStub> estimator;
  std::unique_ptr<CatalogStub> catalog;
  std::unique_ptr<HealthService::StubInterface> health;
};

Client::Client(std::shared_ptr<grpc::ChannelInterface> channel, ClientOptions options)
    : stubs_(new Stubs{v1::EstimatorService::NewStub(channel), v1::CatalogService::NewStub(channel),
                       HealthService::NewStub(channel)}),
      options_(Sendable(std::move(options))) {}

Client::~Client() = default;

absl::StatusOr<v1::EstimateResponse> Client::Estimate(const v1::EstimateRequest& request) const {
  return Call(*stubs_->estimator, &EstimatorStub::Estimate, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::SolveResponse> Client::Solve(const v1::SolveRequest& request) const {
  return Call(*stubs_->estimator, &EstimatorStub::Solve, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::SimulateResponse> Client::Simulate(const v1::SimulateRequest& request) const {
  return Call(*stubs_->estimator, &EstimatorStub::Simulate, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::BatchEstimateResponse> Client::BatchEstimate(const v1::BatchEstimateRequest& request) const {
  return Call(*stubs_->estimator, &EstimatorStub::BatchEstimate, request, Read(options_), CallerOf(options_));
}

std::unique_ptr<SweepStream> Client::Sweep(const v1::SweepRequest& request) const {
  return std::make_unique<GrpcSweep>(*stubs_->estimator, request, Loop(options_, options_.sweep_timeout, true),
                                     CallerOf(options_));
}

absl::StatusOr<v1::RegisterHardwareResponse> Client::RegisterHardware(
    const v1::RegisterHardwareRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::RegisterHardware, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::RegisterModelResponse> Client::RegisterModel(const v1::RegisterModelRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::RegisterModel, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::GetHardwareResponse> Client::GetHardware(const v1::GetHardwareRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::GetHardware, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::GetModelResponse> Client::GetModel(const v1::GetModelRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::GetModel, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::ListHardwareResponse> Client::ListHardware(const v1::ListHardwareRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::ListHardware, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels(const v1::ListModelsRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::ListModels, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::GetCalibrationResponse> Client::GetCalibration(const v1::GetCalibrationRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::GetCalibration, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::ListCalibrationsResponse> Client::ListCalibrations(
    const v1::ListCalibrationsRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::ListCalibrations, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::DeleteHardwareResponse> Client::DeleteHardware(const v1::DeleteHardwareRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::DeleteHardware, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::DeleteModelResponse> Client::DeleteModel(const v1::DeleteModelRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::DeleteModel, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::ListRevisionsResponse> Client::ListRevisions(const v1::ListRevisionsRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::ListRevisions, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<v1::RollbackHardwareResponse> Client::RollbackHardware(
    const v1::RollbackHardwareRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::RollbackHardware, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::RollbackModelResponse> Client::RollbackModel(const v1::RollbackModelRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::RollbackModel, request, Write(options_, request), WriterOf(options_));
}

absl::StatusOr<v1::GetCatalogStatusResponse> Client::GetCatalogStatus(
    const v1::GetCatalogStatusRequest& request) const {
  return Call(*stubs_->catalog, &CatalogStub::GetCatalogStatus, request, Read(options_), CallerOf(options_));
}

absl::StatusOr<std::string> Client::Health(const std::string& service) const {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  const auto response = Call(*stubs_->health, &HealthService::StubInterface::Check, request, Read(options_), {});
  if (!response.ok()) return response.status();
  return grpc::health::v1::HealthCheckResponse::ServingStatus_Name(response->status());
}

}  // namespace foretoken::client

#include "server/rpc/catalog_service.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/rpc/catalog/catalog_api.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/hold_reply.h"

namespace foretoken::rpc {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

constexpr size_t kMaxAuthorBytes = 256;

std::string_view MetadataOf(const Context& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// The name that goes with the token, else with the certificate, else the one that the caller gives.
absl::StatusOr<std::string> AuthorOf(const Context& context, const ServiceDeps& deps) {
  if (deps.write_tokens != nullptr) return deps.write_tokens->WriterOf(MetadataOf(context, "authorization"));
  const std::vector<grpc::string_ref> identity = context.auth_context()->GetPeerIdentity();
  if (!identity.empty()) return std::string(identity[0].data(), std::min(identity[0].size(), kMaxAuthorBytes));
  return std::string(MetadataOf(context, "foretoken-author").substr(0, kMaxAuthorBytes));
}

// Errors: WRITE_NOT_ALLOWED.
absl::StatusOr<Caller> WriterOf(const Context& context, const ServiceDeps& deps) {
  absl::StatusOr<std::string> author = AuthorOf(context, deps);
  if (!author.ok()) return author.status();
  return Caller{.author = *std::move(author), .peer = context.peer(), .deadline = absl::FromChrono(context.deadline())};
}

// A reply of `answer`, counted until its caller has it.
template <typename Response, typename Answer>
absl::Status Held(Context* context, Response* response, const Answer& answer) {
  absl::Status status = CheckRoomForReply(*context);
  if (status.ok()) status = answer();
  return status.ok() ? HoldReply(*context, *response) : status;
}

// Answers from the snapshot, at once.
template <typename Request, typename Response>
Reactor* Read(const ServiceDeps& deps, Context* context, const Request* request, Response* response,
              absl::Status (*answer)(const Request&, const catalog::Snapshot&, Response&)) {
  return Serve(context, request, *deps.metrics, nullptr, [=, &deps](const Call&) {
    return Held(context, response, [&] { return answer(*request, *deps.catalog->snapshot(), *response); });
  });
}

// Answers from the history, once the store has answered.
template <typename Request, typename Response>
Reactor* ReadStore(const ServiceDeps& deps, Context* context, const Request* request, Response* response,
                   absl::Status (*answer)(const Request&, catalog::Catalog&, Response&)) {
  return Serve(context, request, *deps.metrics, deps.writes, [=, &deps](const Call&) {
    return Held(context, response, [&] { return answer(*request, *deps.catalog, *response); });
  });
}

template <typename Request, typename Response>
Reactor* Write(const ServiceDeps& deps, Context* context, const Request* request, Response* response,
               absl::Status (*answer)(const Request&, const Caller&, catalog::Catalog&, Response&)) {
  return Serve(context, request, *deps.metrics, deps.writes, [=, &deps](const Call&) {
    const absl::StatusOr<Caller> writer = WriterOf(*context, deps);
    return writer.ok() ? answer(*request, *writer, *deps.catalog, *response) : writer.status();
  });
}

}  // namespace

Reactor* CatalogService::RegisterHardware(Context* context, const v1::RegisterHardwareRequest* request,
                                          v1::RegisterHardwareResponse* response) {
  return Serve(context, request, *deps_.metrics, deps_.writes, [=, this](const Call& call) {
    const auto cancelled = [&call] { return call.Cancelled(); };
    const absl::StatusOr<Caller> writer = WriterOf(*context, deps_);
    if (!writer.ok()) return writer.status();
    return Register(*request, *writer, deps_.clock(), cancelled, *deps_.catalog, *response);
  });
}

Reactor* CatalogService::RegisterModel(Context* context, const v1::RegisterModelRequest* request,
                                       v1::RegisterModelResponse* response) {
  return Write(deps_, context, request, response, Register);
}

Reactor* CatalogService::GetHardware(Context* context, const v1::GetHardwareRequest* request,
                                     v1::GetHardwareResponse* response) {
  if (!request->has_store_revision()) return Read(deps_, context, request, response, Get);
  return ReadStore(deps_, context, request, response, GetAtRevision);
}

Reactor* CatalogService::GetModel(Context* context, const v1::GetModelRequest* request,
                                  v1::GetModelResponse* response) {
  if (!request->has_store_revision()) return Read(deps_, context, request, response, Get);
  return ReadStore(deps_, context, request, response, GetAtRevision);
}

Reactor* CatalogService::ListHardware(Context* context, const v1::ListHardwareRequest* request,
                                      v1::ListHardwareResponse* response) {
  return Read(deps_, context, request, response, List);
}

Reactor* CatalogService::ListModels(Context* context, const v1::ListModelsRequest* request,
                                    v1::ListModelsResponse* response) {
  return Read(deps_, context, request, response, List);
}

Reactor* CatalogService::GetCalibration(Context* context, const v1::GetCalibrationRequest* request,
                                        v1::GetCalibrationResponse* response) {
  return Read(deps_, context, request, response, Get);
}

Reactor* CatalogService::ListCalibrations(Context* context, const v1::ListCalibrationsRequest* request,
                                          v1::ListCalibrationsResponse* response) {
  return Read(deps_, context, request, response, List);
}

Reactor* CatalogService::DeleteHardware(Context* context, const v1::DeleteHardwareRequest* request,
                                        v1::DeleteHardwareResponse* response) {
  return Write(deps_, context, request, response, Delete);
}

Reactor* CatalogService::DeleteModel(Context* context, const v1::DeleteModelRequest* request,
                                     v1::DeleteModelResponse* response) {
  return Write(deps_, context, request, response, Delete);
}

Reactor* CatalogService::ListRevisions(Context* context, const v1::ListRevisionsRequest* request,
                                       v1::ListRevisionsResponse* response) {
  return ReadStore(deps_, context, request, response, rpc::ListRevisions);
}

Reactor* CatalogService::RollbackHardware(Context* context, const v1::RollbackHardwareRequest* request,
                                          v1::RollbackHardwareResponse* response) {
  return Write(deps_, context, request, response, Rollback);
}

Reactor* CatalogService::RollbackModel(Context* context, const v1::RollbackModelRequest* request,
                                       v1::RollbackModelResponse* response) {
  return Write(deps_, context, request, response, Rollback);
}

Reactor* CatalogService::GetCatalogStatus(Context* context, const v1::GetCatalogStatusRequest* request,
                                          v1::GetCatalogStatusResponse* response) {
  return Serve(context, request, *deps_.metrics, nullptr,
               [this, response](const Call&) { return GetStatus(*deps_.catalog, deps_.clock(), *response); });
}

}  // namespace foretoken::rpc

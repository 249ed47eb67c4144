#include "server/rpc/catalog_service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/rpc/catalog/catalog_api.h"
#include "server/rpc/wire/access.h"
#include "server/rpc/wire/call.h"
#include "server/rpc/wire/hold_reply.h"
#include "server/rpc/wire/large_call.h"

namespace foretoken::rpc {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

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
  if (Reactor* refused = RefusedReader(context, request, deps)) return refused;
  return Serve(context, request, *deps.metrics, [=, &deps](const Call&) {
    return Held(context, response, [&] { return answer(*request, *deps.catalog->snapshot(), *response); });
  });
}

CallStage AtStore(const ServiceDeps& deps, std::function<absl::Status(const Call&)> body) {
  return {deps.writes, work::JobKind::kStore, 1, std::move(body)};
}

// Answers from the history, once the store has answered.
template <typename Request, typename Response>
Reactor* ReadStore(const ServiceDeps& deps, Context* context, const Request* request, Response* response,
                   absl::Status (*answer)(const Request&, catalog::Catalog&, Response&)) {
  if (Reactor* refused = RefusedReader(context, request, deps)) return refused;
  return ServeLarge(context, request, deps, AtStore(deps, [=, &deps](const Call&) {
                      return Held(context, response, [&] { return answer(*request, *deps.catalog, *response); });
                    }));
}

template <typename Request, typename Response>
Reactor* Write(const ServiceDeps& deps, Context* context, const Request* request, Response* response,
               absl::Status (*answer)(const Request&, const Caller&, catalog::Catalog&, Response&)) {
  return ServeLarge(context, request, deps, AtStore(deps, [=, &deps](const Call&) {
                      const absl::StatusOr<Caller> writer = WriterOf(*context, deps);
                      return writer.ok() ? answer(*request, *writer, *deps.catalog, *response) : writer.status();
                    }));
}

// Who wrote, and from where, is for those who write.
void HideWriters(v1::ListRevisionsResponse& response) {
  for (v1::EntryRevision& revision : *response.mutable_revisions()) {
    revision.clear_author();
    revision.clear_peer();
  }
}

// The store's error names files and addresses of the server.
void HideServer(v1::GetCatalogStatusResponse& response) {
  if (response.last_error().empty()) return;
  response.set_last_error(
      "the store did not answer; the server's log tells more, and so does this call with the token "
      "of an admin");
}

}  // namespace

// Without samples and kernels there is nothing to compute, and Write follows Prepare at once.
Reactor* CatalogService::RegisterHardware(Context* context, const v1::RegisterHardwareRequest* request,
                                          v1::RegisterHardwareResponse* response) {
  const auto registration = std::make_shared<HardwareRegistration>(*request, *deps_.catalog, *response);
  const auto prepare = [=, this](const Call& call) -> absl::Status {
    const absl::StatusOr<Caller> writer = WriterOf(*context, deps_);
    if (!writer.ok()) return writer.status();
    return registration->Prepare(*writer, [&call] { return call.Cancelled(); });
  };
  const auto learn = [=, this](const Call& call) {
    return registration->Learn(deps_.clock(), [&call] { return call.Cancelled(); });
  };
  const auto write = [=](const Call& call) { return registration->Write([&call] { return call.Cancelled(); }); };
  std::vector<CallStage> stages = {AtStore(deps_, prepare), AtStore(deps_, write)};
  const double samples = static_cast<double>(request->samples_size()) + static_cast<double>(request->kernels_size());
  if (samples > 0) stages.insert(stages.begin() + 1, CallStage{deps_.work, work::JobKind::kFit, samples, learn});
  return ServeInStages(context, request, deps_, std::move(stages));
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
  if (Reactor* refused = RefusedReader(context, request, deps_)) return refused;
  const auto answer = [=, this] {
    absl::Status status = rpc::ListRevisions(*request, *deps_.catalog, *response);
    if (RoleOf(*context, deps_) < ops::Role::kWrite) HideWriters(*response);
    return status;
  };
  return ServeLarge(context, request, deps_,
                    AtStore(deps_, [=](const Call&) { return Held(context, response, answer); }));
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
  if (Reactor* refused = RefusedReader(context, request, deps_)) return refused;
  return Serve(context, request, *deps_.metrics, [=, this](const Call&) {
    absl::Status status = GetStatus(*deps_.catalog, deps_.clock(), *response);
    if (RoleOf(*context, deps_) < ops::Role::kAdmin) HideServer(*response);
    return status;
  });
}

}  // namespace foretoken::rpc

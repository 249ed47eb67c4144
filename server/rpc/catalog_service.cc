#include "server/rpc/catalog_service.h"

#include <algorithm>

#include "server/rpc/call.h"
#include "server/rpc/catalog_api.h"

namespace foretoken::rpc {
namespace {

constexpr size_t kMaxAuthorBytes = 256;

Caller CallerOf(const grpc::CallbackServerContext& context) {
  Caller caller{.author = "", .peer = context.peer(), .deadline = absl::FromChrono(context.deadline())};
  const auto author = context.client_metadata().find("foretoken-author");
  if (author != context.client_metadata().end()) {
    caller.author = std::string(author->second.data(), std::min(author->second.size(), kMaxAuthorBytes));
  }
  return caller;
}

}  // namespace

grpc::ServerUnaryReactor* CatalogService::RegisterHardware(grpc::CallbackServerContext* context,
                                                           const v1::RegisterHardwareRequest* request,
                                                           v1::RegisterHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRegisterHardware, deps_.writes,
               [this, context, request, response](const Call& call) {
                 const auto abandoned = [&call] { return call.Abandoned(); };
                 return Register(*request, CallerOf(*context), deps_.clock(), abandoned, *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::RegisterModel(grpc::CallbackServerContext* context,
                                                        const v1::RegisterModelRequest* request,
                                                        v1::RegisterModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRegisterModel, deps_.writes,
               [this, context, request, response](const Call&) {
                 return Register(*request, CallerOf(*context), *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::GetHardware(grpc::CallbackServerContext* context,
                                                      const v1::GetHardwareRequest* request,
                                                      v1::GetHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetHardware, request->has_store_revision() ? deps_.writes : nullptr,
               [this, request, response](const Call&) {
                 return request->has_store_revision() ? GetAtRevision(*request, *deps_.catalog, *response)
                                                      : Get(*request, *deps_.catalog->snapshot(), *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::GetModel(grpc::CallbackServerContext* context,
                                                   const v1::GetModelRequest* request, v1::GetModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetModel, request->has_store_revision() ? deps_.writes : nullptr,
               [this, request, response](const Call&) {
                 return request->has_store_revision() ? GetAtRevision(*request, *deps_.catalog, *response)
                                                      : Get(*request, *deps_.catalog->snapshot(), *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::ListHardware(grpc::CallbackServerContext* context,
                                                       const v1::ListHardwareRequest* request,
                                                       v1::ListHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kListHardware, nullptr, [this, request, response](const Call&) {
    return List(*request, *deps_.catalog->snapshot(), *response);
  });
}

grpc::ServerUnaryReactor* CatalogService::ListModels(grpc::CallbackServerContext* context,
                                                     const v1::ListModelsRequest* request,
                                                     v1::ListModelsResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kListModels, nullptr, [this, request, response](const Call&) {
    return List(*request, *deps_.catalog->snapshot(), *response);
  });
}

grpc::ServerUnaryReactor* CatalogService::GetCalibration(grpc::CallbackServerContext* context,
                                                         const v1::GetCalibrationRequest* request,
                                                         v1::GetCalibrationResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetCalibration, nullptr,
               [this, request, response](const Call&) { return Get(*request, *deps_.catalog->snapshot(), *response); });
}

grpc::ServerUnaryReactor* CatalogService::ListCalibrations(grpc::CallbackServerContext* context,
                                                           const v1::ListCalibrationsRequest* request,
                                                           v1::ListCalibrationsResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kListCalibrations, nullptr, [this, request, response](const Call&) {
    return List(*request, *deps_.catalog->snapshot(), *response);
  });
}

grpc::ServerUnaryReactor* CatalogService::DeleteHardware(grpc::CallbackServerContext* context,
                                                         const v1::DeleteHardwareRequest* request,
                                                         v1::DeleteHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kDeleteHardware, deps_.writes,
               [this, context, request, response](const Call&) {
                 return Delete(*request, CallerOf(*context), *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::DeleteModel(grpc::CallbackServerContext* context,
                                                      const v1::DeleteModelRequest* request,
                                                      v1::DeleteModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kDeleteModel, deps_.writes,
               [this, context, request, response](const Call&) {
                 return Delete(*request, CallerOf(*context), *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::ListRevisions(grpc::CallbackServerContext* context,
                                                        const v1::ListRevisionsRequest* request,
                                                        v1::ListRevisionsResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kListRevisions, deps_.writes, [this, request, response](const Call&) {
    return rpc::ListRevisions(*request, *deps_.catalog, *response);
  });
}

grpc::ServerUnaryReactor* CatalogService::RollbackHardware(grpc::CallbackServerContext* context,
                                                           const v1::RollbackHardwareRequest* request,
                                                           v1::RollbackHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRollbackHardware, deps_.writes,
               [this, context, request, response](const Call&) {
                 return Rollback(*request, CallerOf(*context), *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::RollbackModel(grpc::CallbackServerContext* context,
                                                        const v1::RollbackModelRequest* request,
                                                        v1::RollbackModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRollbackModel, deps_.writes,
               [this, context, request, response](const Call&) {
                 return Rollback(*request, CallerOf(*context), *deps_.catalog, *response);
               });
}

grpc::ServerUnaryReactor* CatalogService::GetCatalogStatus(grpc::CallbackServerContext* context,
                                                           const v1::GetCatalogStatusRequest*,
                                                           v1::GetCatalogStatusResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetCatalogStatus, nullptr,
               [this, response](const Call&) { return GetStatus(*deps_.catalog, deps_.clock(), *response); });
}

}  // namespace foretoken::rpc

#include "server/rpc/catalog_service.h"

#include "server/rpc/call.h"
#include "server/rpc/catalog_api.h"

namespace foretoken::rpc {

grpc::ServerUnaryReactor* CatalogService::RegisterHardware(grpc::CallbackServerContext* context,
                                                           const v1::RegisterHardwareRequest* request,
                                                           v1::RegisterHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRegisterHardware, deps_.writes,
               [this, request, response](const Call&) { return Register(*request, *deps_.catalog, deps_.clock(), *response); });
}

grpc::ServerUnaryReactor* CatalogService::RegisterModel(grpc::CallbackServerContext* context,
                                                        const v1::RegisterModelRequest* request,
                                                        v1::RegisterModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kRegisterModel, deps_.writes,
               [this, request, response](const Call&) { return Register(*request, *deps_.catalog, *response); });
}

grpc::ServerUnaryReactor* CatalogService::GetHardware(grpc::CallbackServerContext* context,
                                                      const v1::GetHardwareRequest* request,
                                                      v1::GetHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetHardware, nullptr,
               [this, request, response](const Call&) { return Get(*request, *deps_.catalog->snapshot(), *response); });
}

grpc::ServerUnaryReactor* CatalogService::GetModel(grpc::CallbackServerContext* context,
                                                   const v1::GetModelRequest* request, v1::GetModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kGetModel, nullptr,
               [this, request, response](const Call&) { return Get(*request, *deps_.catalog->snapshot(), *response); });
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
  return Serve(context, *deps_.metrics, ops::Rpc::kListCalibrations, nullptr,
               [this, request, response](const Call&) { return List(*request, *deps_.catalog->snapshot(), *response); });
}

grpc::ServerUnaryReactor* CatalogService::DeleteHardware(grpc::CallbackServerContext* context,
                                                         const v1::DeleteHardwareRequest* request,
                                                         v1::DeleteHardwareResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kDeleteHardware, deps_.writes,
               [this, request, response](const Call&) { return Delete(*request, *deps_.catalog, *response); });
}

grpc::ServerUnaryReactor* CatalogService::DeleteModel(grpc::CallbackServerContext* context,
                                                      const v1::DeleteModelRequest* request,
                                                      v1::DeleteModelResponse* response) {
  return Serve(context, *deps_.metrics, ops::Rpc::kDeleteModel, deps_.writes,
               [this, request, response](const Call&) { return Delete(*request, *deps_.catalog, *response); });
}

}  // namespace foretoken::rpc

// foretoken.v1.CatalogService over gRPC's callback API: catalog_api.h does the work. Reads answer at once; writes,
// and reads of what was, wait for the store on threads of their own, so a slow store holds up no estimate.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_SERVICE_H_
#define FORETOKEN_SERVER_RPC_CATALOG_SERVICE_H_

#include "foretoken/v1/catalog_service.grpc.pb.h"
#include "server/rpc/wire/service_deps.h"

namespace foretoken::rpc {

// Thread-safe.
class CatalogService : public v1::CatalogService::CallbackService {
 public:
  explicit CatalogService(const ServiceDeps& deps) : deps_(deps) {}

  grpc::ServerUnaryReactor* RegisterHardware(grpc::CallbackServerContext* context,
                                             const v1::RegisterHardwareRequest* request,
                                             v1::RegisterHardwareResponse* response) override;
  grpc::ServerUnaryReactor* RegisterModel(grpc::CallbackServerContext* context, const v1::RegisterModelRequest* request,
                                          v1::RegisterModelResponse* response) override;
  grpc::ServerUnaryReactor* GetHardware(grpc::CallbackServerContext* context, const v1::GetHardwareRequest* request,
                                        v1::GetHardwareResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context, const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerUnaryReactor* ListHardware(grpc::CallbackServerContext* context, const v1::ListHardwareRequest* request,
                                         v1::ListHardwareResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context, const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* GetCalibration(grpc::CallbackServerContext* context,
                                           const v1::GetCalibrationRequest* request,
                                           v1::GetCalibrationResponse* response) override;
  grpc::ServerUnaryReactor* ListCalibrations(grpc::CallbackServerContext* context,
                                             const v1::ListCalibrationsRequest* request,
                                             v1::ListCalibrationsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteHardware(grpc::CallbackServerContext* context,
                                           const v1::DeleteHardwareRequest* request,
                                           v1::DeleteHardwareResponse* response) override;
  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context, const v1::DeleteModelRequest* request,
                                        v1::DeleteModelResponse* response) override;
  grpc::ServerUnaryReactor* ListRevisions(grpc::CallbackServerContext* context, const v1::ListRevisionsRequest* request,
                                          v1::ListRevisionsResponse* response) override;
  grpc::ServerUnaryReactor* RollbackHardware(grpc::CallbackServerContext* context,
                                             const v1::RollbackHardwareRequest* request,
                                             v1::RollbackHardwareResponse* response) override;
  grpc::ServerUnaryReactor* RollbackModel(grpc::CallbackServerContext* context, const v1::RollbackModelRequest* request,
                                          v1::RollbackModelResponse* response) override;
  grpc::ServerUnaryReactor* GetCatalogStatus(grpc::CallbackServerContext* context,
                                             const v1::GetCatalogStatusRequest* request,
                                             v1::GetCatalogStatusResponse* response) override;

 private:
  ServiceDeps deps_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_CATALOG_SERVICE_H_

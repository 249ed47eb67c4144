// What CatalogService does, without a socket: request in, reply or refusal out.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_API_H_
#define FORETOKEN_SERVER_RPC_CATALOG_API_H_

#include "absl/status/status.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/catalog.h"

namespace foretoken::rpc {

// Reads: from one snapshot, without waiting. Errors: as CatalogService documents.
absl::Status Get(const v1::GetHardwareRequest& request, const catalog::Snapshot& snapshot,
                 v1::GetHardwareResponse& response);
absl::Status Get(const v1::GetModelRequest& request, const catalog::Snapshot& snapshot, v1::GetModelResponse& response);
absl::Status List(const v1::ListHardwareRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListHardwareResponse& response);
absl::Status List(const v1::ListModelsRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListModelsResponse& response);
absl::Status Get(const v1::GetCalibrationRequest& request, const catalog::Snapshot& snapshot,
                 v1::GetCalibrationResponse& response);
absl::Status List(const v1::ListCalibrationsRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListCalibrationsResponse& response);

// Writes: they wait for the store. Errors: as CatalogService documents.
absl::Status Register(const v1::RegisterHardwareRequest& request, catalog::Catalog& catalog, absl::Time now,
                      v1::RegisterHardwareResponse& response);
absl::Status Register(const v1::RegisterModelRequest& request, catalog::Catalog& catalog,
                      v1::RegisterModelResponse& response);
absl::Status Delete(const v1::DeleteHardwareRequest& request, catalog::Catalog& catalog,
                    v1::DeleteHardwareResponse& response);
absl::Status Delete(const v1::DeleteModelRequest& request, catalog::Catalog& catalog,
                    v1::DeleteModelResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_CATALOG_API_H_

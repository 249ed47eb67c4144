// What CatalogService does, without a socket: request in, reply or refusal out.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_CATALOG_API_H_
#define FORETOKEN_SERVER_RPC_CATALOG_CATALOG_API_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/cancelled.h"
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

// Who calls, and how long it waits.
struct Caller {
  std::string author;  // by its token; else as its certificate, else as it calls itself
  std::string peer;    // its address
  absl::Time deadline = absl::InfiniteFuture();
};

// Writes, and reads of the history. They wait for the store, for kWriteTimeout at most, and leave some of the caller's
// time for the answer. A caller who gives up before the store is asked gets CANCELLED, and nothing is written. Errors:
// as CatalogService documents.
absl::Status Register(const v1::RegisterHardwareRequest& request, const Caller& caller, absl::Time now,
                      Cancelled cancelled, catalog::Catalog& catalog, v1::RegisterHardwareResponse& response);
absl::Status Register(const v1::RegisterModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RegisterModelResponse& response);
absl::Status Delete(const v1::DeleteHardwareRequest& request, const Caller& caller, catalog::Catalog& catalog,
                    v1::DeleteHardwareResponse& response);
absl::Status Delete(const v1::DeleteModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                    v1::DeleteModelResponse& response);
absl::Status Rollback(const v1::RollbackHardwareRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RollbackHardwareResponse& response);
absl::Status Rollback(const v1::RollbackModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RollbackModelResponse& response);
absl::Status GetAtRevision(const v1::GetHardwareRequest& request, catalog::Catalog& catalog,
                           v1::GetHardwareResponse& response);
absl::Status GetAtRevision(const v1::GetModelRequest& request, catalog::Catalog& catalog,
                           v1::GetModelResponse& response);
absl::Status ListRevisions(const v1::ListRevisionsRequest& request, catalog::Catalog& catalog,
                           v1::ListRevisionsResponse& response);

// How the catalog stands with its store; waits for nothing.
absl::Status GetStatus(const catalog::Catalog& catalog, absl::Time now, v1::GetCatalogStatusResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_CATALOG_CATALOG_API_H_

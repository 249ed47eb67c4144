// What CatalogService does, without a socket: request in, reply or refusal out.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_CATALOG_API_H_
#define FORETOKEN_SERVER_RPC_CATALOG_CATALOG_API_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/cancelled.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/hardware_draft.h"

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

// The registration of hardware in steps, so that a fit of seconds runs elsewhere than what waits for the store: Prepare
// and Write wait for the store, Learn computes. One after the other, each once; the first error ends it.
class HardwareRegistration {
 public:
  // The arguments outlive it.
  HardwareRegistration(const v1::RegisterHardwareRequest& request, catalog::Catalog& catalog,
                       v1::RegisterHardwareResponse& response)
      : request_(request), catalog_(catalog), response_(response) {}

  absl::Status Prepare(Caller caller, Cancelled cancelled);
  absl::Status Learn(absl::Time now, Cancelled cancelled);
  absl::Status Write(Cancelled cancelled);

 private:
  const v1::RegisterHardwareRequest& request_;
  catalog::Catalog& catalog_;
  v1::RegisterHardwareResponse& response_;
  Caller caller_;
  std::optional<catalog::HardwareDraft> draft_;
};

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

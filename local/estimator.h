// Estimates in the caller's own process, with the catalog that ships: no server, no socket, the same numbers. For
// schedulers that ask before every request, and for searches over many scenarios.
//
//   const absl::StatusOr<LocalEstimator> estimator = LocalEstimator::Open();
//   v1::EstimateRequest request;  // as for a server
//   v1::EstimateResponse reply;   // may be used again for the next call
//   if (absl::Status status = estimator->Estimate(request, reply); !status.ok()) ...
//
// Stable: this header and the messages of foretoken.v1, as the API is. What lies under it may change at any release:
// the other headers are not installed. What is registered at a server is not seen here: state its specs in the request.
#ifndef FORETOKEN_LOCAL_ESTIMATOR_H_
#define FORETOKEN_LOCAL_ESTIMATOR_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "foretoken/v1/estimator_service.pb.h"

namespace foretoken {

namespace catalog {
class Snapshot;
}

// Thread-safe. Cheap to copy: copies share the catalog.
class LocalEstimator {
 public:
  // With the catalog that was compiled in. Takes about as long as the start of a server.
  static absl::StatusOr<LocalEstimator> Open();
  // With the files of a folder, as foretokend --catalog_dir. Errors: INVALID_ARGUMENT listing every fault; NOT_FOUND:
  // no such folder.
  static absl::StatusOr<LocalEstimator> Open(const std::string& catalog_dir);

  // Errors: those of the RPCs of the same name, with the same messages and field paths; client/status_details.h reads
  // their details.
  absl::Status Estimate(const v1::EstimateRequest& request, v1::EstimateResponse& response) const;
  absl::Status BatchEstimate(const v1::BatchEstimateRequest& request, v1::BatchEstimateResponse& response) const;

 private:
  explicit LocalEstimator(std::shared_ptr<const catalog::Snapshot> snapshot);

  std::shared_ptr<const catalog::Snapshot> snapshot_;
};

}  // namespace foretoken

#endif  // FORETOKEN_LOCAL_ESTIMATOR_H_

#include "local/estimator.h"

#include <utility>

#include "absl/time/clock.h"
#include "client/status_details.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/wire/status.h"

namespace foretoken {
namespace {

absl::StatusOr<std::shared_ptr<const catalog::Snapshot>> SnapshotOf(absl::StatusOr<catalog::Bundle> bundle) {
  if (!bundle.ok()) return bundle.status();
  auto catalog = catalog::Catalog::Open(*std::move(bundle), std::make_unique<catalog::MemoryStore>(), absl::Now);
  if (!catalog.ok()) return catalog.status();
  return (*catalog)->snapshot();
}

rpc::Moment Now(const catalog::Snapshot& snapshot) { return {.snapshot = snapshot, .now = absl::Now()}; }

// A refusal as a client gets it.
absl::Status AsReceived(const absl::Status& status) {
  return status.ok() ? status : client::FromProto(rpc::ToRpcStatus(status));
}

}  // namespace

LocalEstimator::LocalEstimator(std::shared_ptr<const catalog::Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}

absl::StatusOr<LocalEstimator> LocalEstimator::Open() {
  auto snapshot = SnapshotOf(catalog::LoadEmbeddedBundle());
  if (!snapshot.ok()) return snapshot.status();
  return LocalEstimator(*std::move(snapshot));
}

absl::StatusOr<LocalEstimator> LocalEstimator::Open(const std::string& catalog_dir) {
  auto snapshot = SnapshotOf(catalog::LoadBundle(catalog_dir));
  if (!snapshot.ok()) return snapshot.status();
  return LocalEstimator(*std::move(snapshot));
}

absl::Status LocalEstimator::Estimate(const v1::EstimateRequest& request, v1::EstimateResponse& response) const {
  response.Clear();
  return AsReceived(rpc::AnswerEstimate(request, Now(*snapshot_), response));
}

absl::Status LocalEstimator::BatchEstimate(const v1::BatchEstimateRequest& request,
                                           v1::BatchEstimateResponse& response) const {
  response.Clear();
  return AsReceived(rpc::AnswerBatch(request, Now(*snapshot_), NeverCancelled, response));
}

}  // namespace foretoken
